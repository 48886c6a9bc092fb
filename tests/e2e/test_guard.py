# SPDX-License-Identifier: Apache-2.0
"""The guard on fakes: a worker on a fake NVIDIA driver and a fake libcuda, and somebody who needs the GPU."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import threading

import pytest
from conftest import ROOT, WHIRR
from guard_machine import PATIENCE, Server, ask, attach, free_port, machine, needs_fakes, throughout, wait_for  # noqa: F401

pytestmark = needs_fakes


# ---- the story ----

def test_a_claimant_gets_the_gpu_and_the_worker_comes_back(machine):
    m = machine
    guard = m.guard("run", "--method", "checkpoint", "--", "sleep", "600")
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    m.hold(pid, 16000)
    wait_for(lambda: m.status()["memory_mb"] == 16000, lambda: f"{m.status()} {(m.dir / 'nvml').read_text()}\n{m.log()}")
    other = m.process(3000)
    status = m.until("paused")
    assert status["method"] == "checkpoint" and status["evictions_total"] == 1 and status["memory_mb"] == 16000
    assert f"pid {other.pid}" in status["reason"] and status["claim"] == "seen"
    assert re.search(r"warning gives its GPU up: .* worker=w state=draining gpu=0 temperature=50 threshold=85 other_processes=1", m.log()), m.log()
    assert m.state(pid) == 2 and m.calls() == ["lock", "checkpoint"]
    m.end(other)
    m.until("running")
    assert m.state(pid) == 0 and m.calls() == ["lock", "checkpoint", "restore", "unlock"]
    guard.terminate()
    assert guard.wait(PATIENCE) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_exit_status_of_the_worker_is_passed_on(machine):
    guard = machine.guard("run", "--", "sh", "-c", "exit 7")
    assert guard.wait(PATIENCE) == 7


def test_a_small_process_is_no_claim_unless_any_counts(machine):
    m = machine
    worker = m.process(8000)
    attach(m, worker)
    m.until("running")
    m.process(100)
    wait_for(lambda: m.status()["other_processes"] == 1, m.log)
    throughout(1, lambda: m.status()["state"] == "running" and m.status()["other_processes"] == 1, m.log)


def test_claim_any_counts_every_process(machine):
    m = machine
    worker = m.process(8000)
    attach(m, worker, "--claim", "any")
    m.until("running")
    m.process(10)
    m.until("paused")


def test_a_person_holds_and_releases(machine):
    m = machine
    worker = m.process(8000)
    attach(m, worker)
    m.until("running")
    for word in ("hold", "evict"):
        done = m.whirr("guard", word, "--dry-run")
        assert done.returncode == 0 and f"Would {word} w (running).\nNothing was changed (dry run)." in done.stdout, done
    assert m.status()["state"] == "running" and m.state(worker.pid) == 0 and not m.status()["held"]
    assert m.whirr("guard", "hold", "w").returncode == 0
    assert m.status()["state"] == "paused" and m.status()["held"] is True
    throughout(1, lambda: m.status()["state"] == "paused", m.log)
    assert m.whirr("guard", "release").returncode == 0
    m.until("running")
    assert m.whirr("guard", "evict", "nobody").returncode == 1


@pytest.mark.slow
def test_resume_into_a_claim_waits_for_memory_and_destroys_nothing(machine):
    m = machine
    worker = m.process(16000)
    attach(m, worker)
    m.until("running")
    other = m.process(30000)
    m.until("paused")
    m.whirr("guard", "resume", "w")
    m.until("reserving")
    throughout(1.2, lambda: m.status()["state"] == "reserving" and "restore" not in m.calls(), m.log)
    m.end(other)
    m.until("running")
    assert m.state(worker.pid) == 0


def test_whirr_run_announces_waits_and_releases(machine):
    m = machine
    worker = m.process(16000)
    attach(m, worker)
    m.until("running")
    done = m.whirr("run", "--", "sh", "-c", f"cat {m.cuda}/{worker.pid}.state; exit 3")
    assert done.stdout.strip() == "2" and done.returncode == 3
    m.until("running")


def test_whirr_run_passes_a_polite_end_on_to_the_program(machine):
    m = machine
    marker = m.dir / "ended"
    game = m.start([WHIRR, "run", "--", "sh", "-c", f"trap 'touch {marker}; exit 5' TERM; touch {m.dir}/begun; while :; do sleep 0.05; done"])
    wait_for((m.dir / "begun").exists, "the game")
    game.terminate()
    assert game.wait(PATIENCE) == 5 and marker.exists()


def test_whirr_run_without_a_guard_simply_runs(machine):
    assert machine.whirr("run", "--", "echo", "game").stdout == "game\n"
    assert machine.whirr("run", "--", "/nonexistent/game").returncode == 127


@pytest.mark.slow
def test_a_guard_that_does_not_answer_in_time_is_not_taken_for_none(machine):
    m = machine
    worker = m.process(16000)
    guard = attach(m, worker)
    m.until("running")
    guard.send_signal(signal.SIGSTOP)
    said = m.dir / "said"
    game = m.start([WHIRR, "run", "--", "sh", "-c", f"cat {m.cuda}/{worker.pid}.state > {m.dir}/begun"], stderr=open(said, "w"))
    status = m.whirr("guard", "status")
    assert status.returncode == 1 and "did not answer" in status.stderr and status.stdout == "", status
    wait_for(lambda: "did not answer" in said.read_text(), said.read_text)
    assert not (m.dir / "begun").exists()
    guard.send_signal(signal.SIGCONT)
    assert game.wait(PATIENCE) == 0 and (m.dir / "begun").read_text().strip() == "2"


@pytest.mark.slow
def test_evict_goes_on_waiting_for_a_guard_that_is_slow(machine):
    m = machine
    worker = m.process(16000)
    m.hang("checkpoint")
    guard = attach(m, worker)
    m.until("running")
    evict = m.start([WHIRR, "guard", "evict"], stdout=subprocess.DEVNULL)
    wait_for(lambda: "checkpoint" in m.calls(), m.log)
    guard.send_signal(signal.SIGSTOP)
    throughout(5, lambda: evict.poll() is None, m.log)  # longer than one question waits for its answer
    guard.send_signal(signal.SIGCONT)
    m.go_on()
    assert evict.wait(PATIENCE) == 0 and m.state(worker.pid) == 2


def test_a_killed_announcer_takes_its_need_along(machine):
    m = machine
    worker = m.process(16000)
    attach(m, worker)
    m.until("running")
    game = m.start([WHIRR, "run", "--", "sleep", "600"])
    m.until("paused")
    game.kill()
    m.until("running")


def test_dry_run_only_says_what_it_would_do(machine):
    m = machine
    worker = m.process(16000)
    attach(m, worker, "--dry-run")
    m.until("running")
    m.process(3000)
    m.until("paused")
    assert m.calls() == [] and "would evict" in m.log()


def test_a_worker_that_dies_while_paused_is_noticed(machine):
    m = machine
    worker = m.process(16000)
    guard = attach(m, worker)
    m.until("running")
    m.process(3000)
    m.until("paused")
    m.end(worker)
    assert guard.wait(PATIENCE) == 0  # a number does not come back: nothing is left to guard
    assert "ended while it was paused" in m.log()


def test_a_process_that_does_not_run_cannot_be_guarded(machine):
    done = machine.whirr("--source", "nvml", "guard", "attach", "999999")
    assert done.returncode == 1 and "process 999999 is gone" in done.stderr


def test_evict_waits_until_the_memory_is_free_and_says_when_it_is_not(machine):
    m = machine
    worker = m.process(8000)
    m.script("hang checkpoint 1\n")
    attach(m, worker)
    m.until("running")
    done = m.whirr("guard", "evict")
    assert done.returncode == 0 and "paused" in done.stdout and m.state(worker.pid) == 2
    done = m.whirr("guard", "resume", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["workers"][0]["state"] == "running"
    m.script("fail lock 801\n")
    done = m.whirr("guard", "evict", "w")
    assert done.returncode == 1 and "the memory is not free" in done.stderr and "not supported" in done.stdout
    assert m.whirr("guard", "evict", "--no-wait").returncode == 0


def test_the_same_name_twice_is_refused(machine):
    m = machine
    worker = m.process(1000)
    attach(m, worker)
    m.until("running")
    assert attach(m, worker).wait(PATIENCE) == 1
    assert "is already running" in m.log()


# ---- what goes wrong ----

def test_a_refused_lock_leaves_the_worker_alone(machine):
    m = machine
    worker = m.process(16000)
    m.script("fail lock 304\n")
    attach(m, worker)
    m.until("running")
    m.process(3000)
    status = wait_for(lambda: (lambda s: s if s["gave_up"] else None)(m.status()), "giving up")
    assert m.state(worker.pid) == 0 and "CAP_SYS_PTRACE" in m.log() and status["failures_total"] >= 1


def test_a_checkpoint_that_fails_is_unlocked(machine):
    m = machine
    worker = m.process(16000)
    m.script("fail checkpoint 801\n")
    attach(m, worker)
    m.until("running")
    m.process(3000)
    wait_for(lambda: m.status()["gave_up"], "giving up")
    assert m.state(worker.pid) == 0 and "unlock" in m.calls()


def test_the_next_method_is_tried_when_one_fails(machine):
    m = machine
    m.script("fail lock 801\n")
    guard = m.guard("run", "--method", "checkpoint", "--method", "process", "--", "sleep", "600")
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    m.hold(pid, 16000)
    wait_for(lambda: m.status()["memory_mb"] == 16000, "memory")
    other = m.process(3000)
    wait_for(lambda: m.status()["method"] == "process", m.log)
    m.forget(pid)
    m.until("paused")
    m.end(other)
    m.until("running")
    wait_for(lambda: m.status()["pid"] not in (None, pid), "a new process")
    guard.terminate()
    guard.wait(PATIENCE)


def test_a_restore_that_fails_is_tried_again_and_said(machine):
    m = machine
    worker = m.process(16000)
    attach(m, worker)
    m.until("running")
    other = m.process(3000)
    m.until("paused")
    m.script("fail restore 2\n")
    m.end(other)
    wait_for(lambda: "bringing it back through checkpoint failed" in m.log(), m.log)
    m.script("")
    m.whirr("guard", "resume", "w")
    m.until("running")
    assert m.state(worker.pid) == 0


@pytest.mark.slow
def test_an_unreadable_driver_neither_evicts_nor_resumes(machine):
    m = machine
    worker = m.process(16000)
    attach(m, worker)
    m.until("running")
    other = m.process(3000)
    m.until("paused")
    head = (m.dir / "nvml").read_text()
    broken = m.dir / "nvml.new"
    broken.write_text("fail * 999\n" + head)
    broken.rename(m.dir / "nvml")
    wait_for(lambda: m.status()["claim"] == "unknown", m.log)
    other.kill()
    other.wait()
    del m.held[other.pid]
    throughout(1.5, lambda: m.status()["state"] == "paused", m.log)
    m.show()
    m.until("running")


# ---- kill -9 at every step ----

@pytest.mark.parametrize("step", ["lock", "checkpoint", "paused", "restore", "unlock"])
def test_killed_in_the_middle_the_next_start_brings_the_worker_back(machine, step):
    m = machine
    worker = m.process(16000)
    guard = attach(m, worker)
    m.until("running")
    if step in ("restore", "unlock"):
        other = m.process(3000)
        m.until("paused")
    if step != "paused":
        m.hang(step)
    if step in ("restore", "unlock"):
        m.end(other)
    else:
        other = m.process(3000)
    if step == "paused":
        m.until("paused")
    else:
        wait_for(lambda: m.journal()["step"] == step and (step != "lock" or "lock" in m.calls()), lambda: f"{m.journal()}\n{m.log()}")
    guard.kill()
    guard.wait()
    if step == "lock":
        m.end(other)
    else:
        m.script("")
    attach(m, worker)
    wait_for(lambda: m.status()["state"] != "none", m.log)
    if step == "lock":  # no program needs the GPU; but the process, not locked yet, is about to be
        throughout(1, lambda: m.status()["state"] != "running", m.log)
    if step != "paused":
        m.go_on()  # a call under way outlives its guard, and ends when the next one is there already
    if step in ("paused", "checkpoint"):
        wait_for(lambda: m.status()["state"] in ("paused", "running"), m.log)
    if other.poll() is None:
        m.end(other)
    wait_for(lambda: m.status()["state"] == "running" and m.state(worker.pid) == 0, lambda: f"{m.status()} {m.calls()}\n{m.log()}")


def test_a_gpu_that_has_another_index_after_a_restart_is_found_again(machine):
    """A driver that lists another GPU first: the worker comes back to its own, whatever happens on that one."""
    m = machine
    m.more = "  uuid GPU-of-the-worker\n  pci 0000:09:00.0\n"
    worker = m.process(8000)
    guard = attach(m, worker)
    m.until("running")
    other = m.process(3000)
    m.until("paused")
    guard.kill()
    guard.wait()
    m.front = "gpu NVIDIA H100\n  uuid GPU-first\n  pci 0000:01:00.0\n  total 40000\n  used 39000\n  process 1 compute 39000\n"
    m.end(other)
    attach(m, worker)
    m.until("running")
    wait_for(lambda: m.state(worker.pid) == 0, m.log)


def test_killed_while_draining_the_next_start_goes_on(machine):
    """The claimant is there when the next guard starts, but it was not there before."""
    m = machine
    server, port = Server(m, "ollama"), free_port()

    def start():
        return m.guard("attach", "--method", "ollama", "--gate", f"127.0.0.1:{port}", server.url)

    guard = start()
    m.until("running")
    server.put(slow=60)  # a request that takes its time
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"GET /api/ps HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_for(lambda: m.status()["gate"]["in_flight"] == 1, m.status)
    other = m.process(3000)
    wait_for(lambda: m.journal()["state"] == "draining", m.journal)
    guard.kill()
    guard.wait()
    client.close()
    server.put(slow=0)
    start()
    wait_for(server.unloaded, lambda: f"{m.status()} {m.journal()}\n{m.log()}")
    m.until("paused")
    assert m.journal()["claimant"][0] == other.pid
    assert "given back worker=w" in m.log() and "after the decision" not in m.log(), "when an earlier guard decided is not known"
    m.end(other)
    m.until("running")
    wait_for(lambda: m.journal()["claimant"][0] == 0, m.journal)


def test_killed_while_draining_for_a_claim_that_ended_it_runs(machine):
    m = machine
    worker = m.process(16000)
    guard = attach(m, worker)
    m.until("running")
    journal = m.dir / "state" / "guard" / "w.journal"
    guard.kill()
    guard.wait()
    journal.write_text(json.dumps({"state": "draining", "step": "", "acted": [], "claimant": [2 ** 22 + 1, 5]}))
    attach(m, worker)
    m.until("running")
    throughout(1, lambda: m.status()["state"] == "running", m.log)
    assert m.calls() == []


def test_killed_while_a_stopped_child_waits_it_is_started_by_the_next(machine):
    m = machine
    guard = m.guard("run", "--method", "process", "--", "sleep", "600")
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    m.hold(pid, 16000)
    wait_for(lambda: m.status()["memory_mb"] == 16000, "memory")
    other = m.process(3000)
    wait_for(lambda: m.status()["method"] == "process", m.log)
    m.forget(pid)
    m.until("paused")
    guard.kill()
    guard.wait()
    guard = m.guard("run", "--method", "process", "--", "sleep", "600")
    m.until("paused")
    m.end(other)
    m.until("running")
    wait_for(lambda: m.status()["pid"] not in (None, pid), "a new process")
    guard.terminate()
    guard.wait(PATIENCE)


def test_a_child_that_survived_its_guard_is_guarded_again_not_started_twice(machine):
    m = machine
    guard = m.guard("run", "--method", "checkpoint", "--", "sleep", "600")
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    wait_for(lambda: m.journal().get("leader", [0])[0] == pid, "the journal")
    guard.kill()
    guard.wait()
    guard = m.guard("run", "--method", "checkpoint", "--", "sleep", "600")
    m.until("running")
    assert m.status()["pid"] == pid
    guard.terminate()
    assert guard.wait(PATIENCE) == 0


# ---- the gate ----

def test_requests_wait_at_the_gate_while_the_worker_is_paused(machine):
    m = machine
    server, port = Server(m, "ollama"), free_port()
    m.guard("attach", "--method", "ollama", "--gate", f"127.0.0.1:{port}", server.url)
    m.until("running")
    assert ask(port)[0] == 200
    other = m.process(3000)
    wait_for(server.unloaded, m.log)
    m.until("paused")
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(ask(port)))
    waiter.start()
    wait_for(lambda: (m.status()["gate"] or {}).get("waiting") == 1, m.log)
    throughout(0.5, lambda: answers == [], m.log)
    m.end(other)
    waiter.join(PATIENCE)
    assert answers and answers[0][0] == 200


def test_a_gate_that_refuses_says_when_to_come_again(machine):
    m = machine
    port = free_port()
    server = Server(m, "ollama")
    m.config.write_text(f'[guard.worker.w]\nmethods = ["ollama"]\nurl = "{server.url}"\ngate = "127.0.0.1:{port}"\ngate_mode = "refuse"\n'
                        'process_check_interval_secs = 0.2\nclear_for = "300ms"\nminimum_pause = "0s"\n')
    m.guard("attach", "w")
    m.until("running")
    m.process(3000)
    wait_for(server.unloaded, m.log)
    m.until("paused")
    status, _, again = ask(port)
    assert status == 503 and int(again) > 0


def test_a_stream_in_flight_passes_untouched_and_is_waited_for(machine):
    m = machine
    m.config.write_text('[worker]\ndrain_timeout = "10m"\n')
    server, port = Server(m, "ollama", stuck="/api/ps"), free_port()
    m.guard("attach", "--method", "ollama", "--gate", f"127.0.0.1:{port}", server.url)
    m.until("running")
    answers = []
    client = threading.Thread(target=lambda: answers.append(ask(port)))
    client.start()
    wait_for(lambda: m.status()["gate"]["in_flight"] == 1, m.log)
    m.process(3000)
    m.until("draining")
    assert not answers and server.get()["loaded"]
    server.put(stuck=None)
    client.join(PATIENCE)
    assert answers[0][0] == 200 and b"models" in answers[0][1]
    wait_for(server.unloaded, m.log)


def test_the_gate_keeps_old_connections_open(machine):
    """HTTP/1.0 with keep-alive, as ab -k and older proxies speak it."""
    m = machine
    server, port = Server(m, "ollama"), free_port()
    m.guard("attach", "--method", "ollama", "--gate", f"127.0.0.1:{port}", server.url)
    m.until("running")
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        stream = s.makefile("rb")
        for _ in range(3):
            s.sendall(b"GET /api/ps HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
            assert b" 200 " in stream.readline()
            fields = dict(line.decode().lower().strip().split(": ", 1) for line in iter(stream.readline, b"\r\n"))
            assert stream.read(int(fields["content-length"]))
        s.sendall(b"GET /api/ps HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert stream.read().startswith(b"HTTP/1.")  # and then it ends


def test_a_dead_worker_behind_the_gate_is_a_502(machine):
    m = machine
    worker, port, nobody = m.process(1000), free_port(), free_port()
    m.guard("attach", "--method", "checkpoint", "--url", f"http://127.0.0.1:{nobody}", "--gate", f"127.0.0.1:{port}", worker.pid)
    m.until("running")
    assert ask(port)[0] == 502


def test_probe_reports_a_round_trip(machine):
    m = machine
    worker = m.process(16000)
    done = m.whirr("--source", "nvml", "guard", "probe", worker.pid, "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and result["freed"] and result["resumed"] and result["bytes"] == 16000 << 20
    assert m.calls() == ["lock", "checkpoint", "restore", "unlock"] and m.state(worker.pid) == 0


def test_probe_waits_for_the_memory_that_another_process_took_meanwhile(machine):
    m = machine
    worker = m.process(16000)
    m.hang("checkpoint")
    probe = m.start([WHIRR, "--source", "nvml", "guard", "probe", worker.pid], stdout=subprocess.PIPE, text=True)
    wait_for(lambda: "checkpoint" in m.calls(), "the checkpoint")
    other = m.process(30000)
    m.go_on()
    wait_for(lambda: m.state(worker.pid) == 2, "checkpointed")
    probe.terminate()  # it gets the worker back first
    throughout(0.7, lambda: probe.poll() is None and "restore" not in m.calls(), m.log)
    m.end(other)
    wait_for(lambda: m.state(worker.pid) == 0, "restored")
    probe.communicate(timeout=PATIENCE)
    assert m.calls() == ["lock", "checkpoint", "restore", "unlock"]


def test_a_worker_on_a_failing_gpu_is_not_probed(machine):
    m = machine
    m.more = "  remapped 0\n  remap_failed 1\n"
    worker = m.process(8000)
    done = m.whirr("--source", "nvml", "guard", "probe", worker.pid)
    assert done.returncode == 1 and "failing memory" in done.stderr and "is not brought back" in done.stderr, done.stderr
    assert m.calls() == []


def test_a_process_under_guard_is_not_probed(machine):
    m = machine
    worker = m.process(8000)
    attach(m, worker)
    m.until("running")
    done = m.whirr("--source", "nvml", "guard", "probe", worker.pid)
    assert done.returncode == 1 and "under guard as 'w'" in done.stderr and m.calls() == []


# ---- the daemon ----

def test_the_daemon_guards_the_workers_of_its_configuration(machine):
    m = machine
    worker, port = m.process(8000), free_port()
    m.config.write_text(f'[worker]\nprocess_check_interval_secs = 0.2\nclear_for = "300ms"\nminimum_pause = "0s"\n'
                        f'[guard.worker.w]\nmethods = ["checkpoint"]\nmatch = {{ pid = {worker.pid} }}\n'
                        '[guard.worker.wrong]\nmethods = ["magic"]\n')
    m.start([WHIRR, "--config", m.config, "--source", "nvml", "serve", "--listen", f"127.0.0.1:{port}", "--socket", m.dir / "whirr.sock",
             "--interval", "0.3", "--store", f"sqlite:{m.dir}/h.db"], stderr=open(m.dir / "log", "a"))
    m.until("running")
    listener = socket.create_connection(("127.0.0.1", port))
    listener.settimeout(PATIENCE)
    listener.sendall(b"GET /ws?events=guard HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                     b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
    wait_for(lambda: b"gpu_status" in listener.recv(65536), "the greeting")
    # One that cannot be guarded is no reason not to guard the others; but it is for `config check`.
    assert any("warning" in line and "unknown method 'magic'" in line and "is not guarded" in line for line in m.log().splitlines()), m.log()
    checked = m.whirr("--config", m.config, "config", "check")
    assert checked.returncode != 0 and "unknown method 'magic'" in checked.stderr + checked.stdout
    other = m.process(3000)
    m.until("paused")
    wait_for(lambda: re.search(rb"^gpu_evictions_total\{.*\} 1$", ask(port, "/metrics")[1], re.M), lambda: ask(port, "/metrics")[1].decode())
    assert b'gpu_other_processes_count' in ask(port, "/metrics")[1]
    assert json.loads(ask(port, "/api/health")[1])["guard"]["state"] == "paused"
    assert json.loads(ask(port, "/api/guard")[1])["workers"][0]["name"] == "w"
    heard = b""
    while b'"state":"paused"' not in heard.replace(b": ", b":"):
        heard += listener.recv(65536)
    listener.close()
    m.end(other)
    m.until("running")
    assert m.whirr("guard", "evict", "w").returncode == 0
    m.until("paused")
    assert m.whirr("guard", "release", "w").returncode == 0
    m.until("running")
    m.whirr("run", "--", "true")

    def kept():
        with contextlib.closing(sqlite3.connect(f"file:{m.dir}/h.db?mode=ro", uri=True)) as history:
            return [row[0] for row in history.execute("select text from events where kind = 'guard'")]
    wait_for(lambda: any(text.startswith("paused") for text in kept()), kept)


def test_the_old_name_of_methods_is_understood(machine):
    m = machine
    worker = m.process(8000)
    m.config.write_text('[guard.way.mine]\nunload = "POST /unload"\n')
    m.guard("attach", "--way", "mine", "--way", "checkpoint", "--url", f"http://127.0.0.1:{free_port()}", worker.pid)
    m.until("running")
    m.process(3000)
    status = m.until("paused")
    assert status["method"] == status["way"] == "checkpoint" and "mine" in m.log()
    assert "--method" in m.whirr("guard", "--help").stdout and "--way" not in m.whirr("guard", "--help").stdout


def test_usage_mistakes_are_told(machine):
    m = machine
    assert m.whirr("guard", "run").returncode == 2
    assert m.whirr("guard", "attach").returncode == 2
    assert "expected checkpoint" in m.whirr("guard", "attach", "1", "--method", "nonsense").stderr
    assert "did you mean 'status'" in m.whirr("guard", "statu").stderr
    assert m.whirr("guard", "hold").returncode == 1
    assert m.whirr("guard", "status").stdout.startswith("No worker is under guard.\nTo guard a program that is running: whirr guard attach")


# ---- the bench ----

def bench(m, *argv):
    return subprocess.run([ROOT / "bench" / "guard", WHIRR, "--worker", ROOT / "tests" / "fakes" / "cuda" / "guard_worker", *map(str, argv)],
                          env=dict(m.env, PATH=os.environ["PATH"]), capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)


def test_the_bench_prints_the_speed_of_a_round_trip(machine):
    done = bench(machine, "--only", "probe", "--gib", "4,8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("GiB/s), back in") == 2 and "checkpoint of 4.5 GiB" in done.stdout


@pytest.mark.slow
def test_a_driver_that_hangs_does_not_hang_the_bench(machine):
    machine.script("hang checkpoint 300\n")  # longer than it is waited for here
    done = bench(machine, "--only", "probe", "--gib", "4", "--limit", "4")
    assert done.returncode == 1 and "given up" in done.stdout
    wait_for(lambda: not [p for p in pathlib.Path("/proc").glob("[0-9]*/environ") if str(machine.dir).encode() in read(p)], "somebody is left behind")


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""
