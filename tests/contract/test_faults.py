# SPDX-License-Identifier: Apache-2.0
"""What a host may run out of while the daemon runs: it goes on sampling or says why not, and is as before when there is enough again."""
import contextlib
import re
import resource
import signal
import socket
import sqlite3

import pytest
from conftest import PATIENCE, eventually
from world import FULL, OK, READ_ONLY, World, needs_world


def store(d):
    return d.json("/api/health")["store"]


def samples(d):
    return d.json("/api/health")["gpu_monitoring"]["samples_total"]


def moments(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)) as db:
        return [row[0] for row in db.execute("SELECT id >> 14 FROM host_samples ORDER BY id")]


@pytest.mark.slow
@needs_world
@pytest.mark.parametrize("state", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_a_disk_that_takes_nothing_is_waited_for(start, tmp_path, state):
    world = World(tmp_path / "world")
    d = start("--interval", "0.1", "--store", f"sqlite:{tmp_path}/h.db", **world.environment)
    eventually(lambda: store(d)["written_total"] >= 3, explain=d.log)
    world.disk(state)
    failing = eventually(lambda: (s := store(d))["state"] != "ok" and s["queued_rows"] >= 3 and s, explain=d.log)
    assert failing["message"]
    before = samples(d)
    eventually(lambda: samples(d) >= before + 3, explain=d.log)  # it goes on sampling
    world.disk(OK)
    well = eventually(lambda: (s := store(d))["state"] == "ok" and s["written_total"] >= before and s, explain=d.log)
    assert well["lost_total"] == 0
    assert int(re.search(r"writing again, (\d+) samples waited", d.wait_log("writing again")).group(1)) >= failing["queued_rows"]
    assert d.stop()[0] == 0
    kept = moments(tmp_path / "h.db")
    assert len(kept) == len(set(kept)) >= before
    assert max(b - a for a, b in zip(kept, kept[1:])) < 20000  # also what was taken meanwhile


def test_without_descriptors_it_goes_on_and_answers_again_later(start, tmp_path):
    d = start("--interval", "0.1")
    d.wait_log("source started")
    before = resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (4, before[1]))
    with socket.create_connection(("127.0.0.1", d.port)) as s:  # waits in the kernel: it cannot be accepted
        s.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        d.wait_log("Too many open files|descriptors")
        resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, before)
        s.settimeout(PATIENCE)
        assert s.recv(100).startswith(b"HTTP/1.1 200"), d.log()
    count = samples(d)
    eventually(lambda: samples(d) > count, explain=d.log)


def test_a_storm_of_reloads_changes_nothing(start, tmp_path):
    d = start("--interval", "0.1")
    d.wait_log("source started")
    for _ in range(300):
        d.process.send_signal(signal.SIGHUP)
    d.wait_log("reloaded")
    count = samples(d)
    eventually(lambda: samples(d) > count + 2, explain=d.log)
    assert d.stop()[0] == 0, d.log()


def test_a_thousand_slow_clients_delay_no_other_client(start):
    """Half of them send their request byte by byte, half never read what they are sent."""
    d = start("--interval", "0.2", WHIRR_SERVER_MAX_CLIENTS="4096")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for n in range(1000):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", d.port), PATIENCE, (f"127.0.0.{1 + n % 100}", 0)))
            s.sendall(b"GET /api/snaps" if n % 2 else b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        # Those without a whole request may be dropped by now, if this machine is slow.
        eventually(lambda: d.json("/api/health")["server"]["connections"] >= 500, explain=d.log)
        count = samples(d)
        eventually(lambda: samples(d) >= count + 3, explain=d.log)
        assert d.get("/metrics").status == 200


# ---- a GPU that fails ----

def test_a_gpu_of_which_nothing_can_be_read_is_listed_and_has_no_rows(start, tmp_path):
    d = start("--interval", "0.1", "--store", f"sqlite:{tmp_path}/h.db", source="sim:gpus=2,scenario=idle,fault=lost@0")
    d.wait_stored(3)
    assert {row["gpu_index"] for row in d.json("/api/system/gpu-stats/history")["rows"]} == {1}
    stats = d.json("/api/system/gpu-stats")
    assert stats["count"] == 1 and [row["gpu_index"] for row in stats["gpus"]] == [1]
    assert [g["is_available"] for g in d.json("/api/gpu/devices")["devices"]] == [False, True]
    assert [g["state"] for g in d.json("/api/gpu/summary")["gpus"]] == ["lost", "ok"]


def test_the_only_gpu_stays_lost_while_its_source_is_set_aside(nvml):
    """Its state, its reason and the advice: also in the pauses in which the driver is not asked, and at each of the tries between them."""
    d = nvml("gpu NVIDIA H200\n  profile h200\nagain 0\n  fail * 15\n", "--interval", "0.1")
    source = lambda: next(s for s in d.json("/api/health")["gpu_monitoring"]["sources"] if s["name"] == "nvml")  # noqa: E731
    eventually(lambda: source()["consecutive_errors"] > 10, explain=d.log)
    before = samples(d)
    seen = set()
    while samples(d) < before + 15:
        gpu = d.json("/api/gpu/metrics")["gpus"][0]
        seen.add((gpu["state"], gpu["error_message"]))
    assert len(seen) == 1 and seen.pop()[0] == "lost"
    assert "Reboot" in str(d.json("/api/why")["gpus"][0]["suggestions"])
    assert d.log().count("alert fires") == 1 and d.log().count("error   GPU is lost gpu=0") == 1, d.log()
