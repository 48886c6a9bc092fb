# SPDX-License-Identifier: Apache-2.0
"""The guard when the card is too hot or faulty, and the signs of a game: GameMode, Steam."""
import re
import shutil
import subprocess
import threading

import pytest
from conftest import ROOT
from guard_machine import FAST, PATIENCE, Server, ask, attach, free_port, machine, needs_fakes, throughout, wait_for  # noqa: F401

pytestmark = needs_fakes

HEALTH = "[worker]\nhealth_check_interval_secs = 0.2\ntemperature_threshold_celsius = 85\n"


def heat(m, celsius):
    m.temperature = celsius
    m.show()


# ---- heat ----

def together(m, server, port, expected, requests=4):
    """So many of some requests at once reach the server; the others wait at the gate until these are answered."""
    server.put(peak=0, stuck="/api/ps")
    clients = [threading.Thread(target=lambda: ask(port)) for _ in range(requests)]
    for client in clients:
        client.start()
    wait_for(lambda: server.get()["peak"] == expected and m.status()["gate"]["waiting"] == requests - expected, lambda: f"{server.get()} {m.status()}\n{m.log()}")
    server.put(stuck=None)
    for client in clients:
        client.join()
    return server.get()["peak"] == expected


def test_heat_lets_one_request_at_a_time_through_the_gate_until_it_has_cooled(machine):
    m = machine
    m.config.write_text(HEALTH)
    server, port = Server(m, "ollama"), free_port()
    m.guard("attach", "--method", "ollama", "--gate", f"127.0.0.1:{port}", server.url)
    m.until("running")
    assert together(m, server, port, 4)
    heat(m, 86)
    wait_for(lambda: m.status()["throttled"], m.log)
    wait_for(lambda: re.search(r"is throttled: its GPU is at 86 °C worker=\S+ state=running gpu=0 temperature=86 threshold=85 other_processes=0", m.log()), m.log)
    assert together(m, server, port, 1) and m.status()["state"] == "running"
    heat(m, 82)  # below the threshold, not yet below the five degrees of hysteresis
    throughout(0.8, lambda: m.status()["throttled"], m.log)
    assert together(m, server, port, 1)
    heat(m, 79)
    wait_for(lambda: m.status()["throttled"] is False, m.log)
    wait_for(lambda: re.search(r"is no longer throttled: its GPU is at 79 °C, below 80 °C worker=\S+ state=running gpu=0 temperature=79", m.log()), m.log)
    assert together(m, server, port, 4) and server.get()["loaded"]


def test_heat_pauses_a_worker_without_a_gate_until_it_has_cooled(machine):
    m = machine
    m.config.write_text(HEALTH)
    worker = m.process(8000)
    attach(m, worker)
    m.until("running")
    heat(m, 84)
    throughout(0.6, lambda: m.status()["state"] == "running", m.log)
    heat(m, 85)
    assert m.until("paused")["hot"] is True
    assert m.status()["reason"] == "its GPU is too hot", "and not that nothing else needs it"
    heat(m, 82)
    throughout(0.8, lambda: m.status()["state"] == "paused", m.log)
    heat(m, 70)
    m.until("running")
    assert "its GPU is at 85 °C, the threshold is 85 °C" in m.log()


def test_heat_that_is_to_be_ignored_is(machine):
    m = machine
    m.config.write_text(HEALTH + 'overheat = "none"\n')
    attach(m, m.process(8000))
    m.until("running")
    heat(m, 99)
    throughout(1, lambda: m.status()["state"] == "running" and not m.status()["hot"], m.log)


# ---- faults ----

FAULTS = {"xid": "event xid 79\n", "ecc": "ecc 1\necc_corrected 0\necc_uncorrected 3\n"}


def cause(m, fault):
    m.more = FAULTS[fault]
    m.show()


@pytest.mark.parametrize("fault, words", [("xid", "XID 79"), ("ecc", "memory errors that could not be corrected")])
def test_a_fault_is_told_and_pauses_where_that_is_configured(machine, fault, words):
    m = machine
    m.config.write_text(HEALTH + "pause_on_errors = true\n")
    m.more = "ecc 1\necc_corrected 0\necc_uncorrected 0\n"
    worker = m.process(8000)
    attach(m, worker)
    m.until("running")
    wait_for(lambda: m.status()["memory_mb"] == 8000, m.log)  # it has looked at the card before
    cause(m, fault)
    status = m.until("paused")
    assert status["fault"] is True and words in status["problem"] and words in m.log()
    throughout(1, lambda: m.status()["state"] == "paused", m.log)  # not by itself
    assert m.whirr("guard", "resume", "w").returncode == 0
    m.until("running")


def test_a_fault_is_told_but_does_not_pause_unless_it_is_to(machine):
    m = machine
    m.config.write_text(HEALTH)
    attach(m, m.process(8000))
    m.until("running")
    cause(m, "xid")
    wait_for(lambda: "XID 79" in (m.status()["problem"] or ""), m.log)
    throughout(0.5, lambda: m.status()["state"] == "running" and m.calls() == [], m.log)


def test_an_error_of_a_program_is_no_fault_of_the_card(machine):
    m = machine
    m.config.write_text(HEALTH + "pause_on_errors = true\n")
    attach(m, m.process(8000))
    m.until("running")
    m.more = "event xid 13\n"  # a program's illegal access
    m.show()
    throughout(1, lambda: m.status()["state"] == "running" and not m.status()["fault"], m.log)


def test_an_xid_that_the_daemons_own_sample_found_reaches_the_guard(machine):
    m = machine
    worker = m.process(8000)
    m.config.write_text(f"[worker]\n{FAST}health_check_interval_secs = 0.2\npause_on_errors = true\n"
                        f'[guard.worker.w]\nmethods = ["checkpoint"]\nmatch = {{ pid = {worker.pid} }}\nprocess_check_interval_secs = 3600\n')
    m.serve("--interval", "0.3")
    m.until("running")
    cause(m, "xid")
    assert m.until("paused")["fault"] is True


def test_a_lost_gpu_is_told_and_nothing_is_done_to_the_worker(machine):
    m = machine
    m.config.write_text(HEALTH + "pause_on_errors = true\n")
    attach(m, m.process(8000))
    m.until("running")
    m.more = "gone 1\n"
    m.show()
    wait_for(lambda: "GPU 0: the GPU is lost" in m.log(), m.log)
    wait_for(lambda: (s := m.status())["claim"] == "unknown" and s["fault"] is True, m.log)
    assert m.calls() == []
    wait_for(lambda: m.status()["memory_mb"] is None, m.status)
    said = m.whirr("guard", "status").stdout
    assert "what it holds can't be read" in said and "0 MiB" not in said, said


# ---- games ----

@pytest.fixture
def bus(tmp_path):
    if not shutil.which("dbus-daemon") or not shutil.which("gdbus"):
        pytest.skip("no dbus-daemon or gdbus (tools/deps test)")
    if subprocess.run(["/usr/bin/python3", "-c", "from gi.repository import Gio"], capture_output=True).returncode:
        pytest.skip("no python3-gi (tools/deps test)")
    daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE, text=True)
    yield daemon.stdout.readline().strip()
    daemon.terminate()
    daemon.wait()


def tell_gamemode(m, method, pid):
    done = subprocess.run(["gdbus", "call", "--session", "--dest", "com.feralinteractive.GameMode", "--object-path", "/com/feralinteractive/GameMode",
                           "--method", f"com.feralinteractive.GameMode.{method}", str(pid)], env=m.env, capture_output=True, text=True, timeout=PATIENCE)
    return done.stdout.strip()


def test_a_game_that_registers_with_gamemode_gets_the_gpu_at_once(machine, bus):
    m = machine
    m.env["DBUS_SESSION_BUS_ADDRESS"] = bus
    attach(m, m.process(8000))
    m.until("running")
    throughout(0.6, lambda: m.status()["state"] == "running", m.log)  # no process has the name, and none was started for it
    m.start([ROOT / "tests" / "fakes" / "gamemode"])
    wait_for(lambda: tell_gamemode(m, "RegisterGame", 4242) == "(0,)", "GameMode")
    status = m.until("paused")
    assert "GameMode reports a running game" in status["reason"] and status["claim"] == "sure"
    assert tell_gamemode(m, "UnregisterGame", 4242) == "(0,)"
    m.until("running")


def test_gamemode_can_be_left_out(machine, bus):
    m = machine
    m.env["DBUS_SESSION_BUS_ADDRESS"] = bus
    m.config.write_text("[worker]\ngamemode = false\n")
    attach(m, m.process(8000))
    m.until("running")
    m.start([ROOT / "tests" / "fakes" / "gamemode"])
    wait_for(lambda: tell_gamemode(m, "RegisterGame", 4242) == "(0,)", "GameMode")
    throughout(1, lambda: m.status()["state"] == "running", m.log)


def steam(m):
    """Steam's tree: its reaper, a wrapper, and the game, which draws with little memory."""
    reaper = m.dir / "reaper"
    reaper.write_text('#!/bin/sh\nshift 3\n"$@" &\nwait\n')
    reaper.chmod(0o755)
    launched = m.start([reaper, "SteamLaunch", "AppId=570", "--", "sh", "-c", f"sleep 600 & echo $! > {m.dir}/game.pid; wait"])
    pid = wait_for(lambda: (m.dir / "game.pid").exists() and (t := (m.dir / "game.pid").read_text().strip()) and "sleep" in comm(t) and int(t), "the game")
    m.hold(pid, 90)
    return launched, pid


def comm(pid):
    try:
        return open(f"/proc/{pid}/comm").read()
    except OSError:
        return ""


def test_a_game_of_steam_gets_the_gpu_at_its_first_sight_however_small(machine):
    m = machine
    attach(m, m.process(8000))
    m.until("running")
    launched, pid = steam(m)
    status = m.until("paused")
    assert f"(pid {pid})" in status["reason"] and "the game" in status["reason"] and status["claim"] == "sure"
    m.forget(pid)
    subprocess.run(["kill", str(pid)], check=True)
    m.until("running")
    launched.wait(PATIENCE)


def test_games_of_steam_can_be_left_out(machine):
    m = machine
    m.config.write_text("[worker]\nsteam = false\n")
    attach(m, m.process(8000))
    m.until("running")
    _, pid = steam(m)
    throughout(1.2, lambda: m.status()["state"] == "running", m.log)
    subprocess.run(["kill", str(pid)], check=True)
