# SPDX-License-Identifier: Apache-2.0
"""What a host may run out of while the daemon runs: it goes on sampling or says why not, and is as before when there is enough again."""
import contextlib
import mmap
import resource
import signal
import socket
import sqlite3
import struct
import time

import pytest
from conftest import BUILD, eventually

CLOCK = BUILD / "tests" / "fakes" / "faults" / "libfake-clock.so"
OK, FULL, READ_ONLY = 0, 1, 2


class Disk:
    """The disk of a daemon: struct world of tests/fakes/faults/clock.c, with a time that runs as everywhere."""

    def __init__(self, path):
        path.write_bytes(struct.pack("7q", 1, time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.time_ns(), 0, 0, 0))
        with open(path, "r+b") as file:
            self.at = mmap.mmap(file.fileno(), 56)

    def be(self, state):
        self.at[48:56] = struct.pack("q", state)


def store(d):
    return d.json("/api/health")["store"]


def samples(d):
    return d.json("/api/health")["gpu_monitoring"]["samples_total"]


def moments(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
        return [row[0] for row in db.execute("SELECT id >> 14 FROM host_samples ORDER BY id")]


@pytest.mark.slow
@pytest.mark.skipif(not CLOCK.exists(), reason="the fake clock was not built")
@pytest.mark.parametrize("state", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_a_disk_that_takes_nothing_is_waited_for(start, tmp_path, state):
    disk = Disk(tmp_path / "world")
    d = start("--interval", "0.1", "--store", f"sqlite:{tmp_path}/h.db", LD_PRELOAD=str(CLOCK), WHIRR_FAKE_CLOCK=str(tmp_path / "world"),
              ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
    eventually(lambda: store(d)["written_total"] >= 3, explain=d.log)
    disk.be(state)
    failing = eventually(lambda: (s := store(d))["state"] != "ok" and s["queued_rows"] >= 3 and s, explain=d.log)
    assert failing["message"]
    before = samples(d)
    eventually(lambda: samples(d) >= before + 3, explain=d.log)  # it goes on sampling
    disk.be(OK)
    well = eventually(lambda: (s := store(d))["state"] == "ok" and s["written_total"] >= before and s, explain=d.log)
    assert well["lost_total"] == 0
    d.wait_log("writing again")
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
        s.settimeout(60)
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


def test_a_thousand_slow_clients_keep_nobody_waiting(start):
    """Half of them send their request byte by byte, half never read what they are sent."""
    d = start("--interval", "0.2", WHIRR_SERVER_MAX_CLIENTS="4096")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for n in range(1000):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", d.port), 60, (f"127.0.0.{1 + n % 100}", 0)))
            s.sendall(b"GET /api/snaps" if n % 2 else b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        # Those without a whole request may be dropped by now, if this machine is slow.
        eventually(lambda: d.json("/api/health")["server"]["connections"] >= 500, explain=d.log)
        count = samples(d)
        eventually(lambda: samples(d) >= count + 3, explain=d.log)
        assert d.get("/metrics").status == 200
