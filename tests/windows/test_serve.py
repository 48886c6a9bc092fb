# SPDX-License-Identifier: Apache-2.0
"""The daemon on Windows, under Wine: it answers over HTTP and to commands of its owner, keeps a history through a sudden end, and stops by Ctrl+C.

WHIRR_BIN=tests/windows/whirr pytest tests/windows
"""
import os
import random
import signal
import socket
import sqlite3

import pytest
from isolation import ON_WINDOWS, run_whirr
from waiting import any_moment, eventually

pytestmark = pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr")
KILLS = int(os.environ.get("WHIRR_KILLS", "5"))


@pytest.fixture
def daemon(start, tmp_path):
    return start("--interval", "0.2", "--store", f"sqlite:{tmp_path}/gpu.db")


def test_commands_of_the_owner_ask_the_daemon_and_may_act(daemon):
    shown = daemon.whirr("status")
    assert shown.returncode == 0 and "H100" in shown.stdout, shown
    silenced = daemon.whirr("alert", "silence", "hot", "--for", "2h")
    assert silenced.returncode == 0 and "Silenced by the daemon" in silenced.stdout + silenced.stderr, silenced
    daemon.wait_log(r"acted over the API .*silence")


def test_who_does_not_know_the_key_may_read_and_not_act(daemon):
    key = daemon.sock + ".key"
    assert oct(os.stat(key).st_mode & 0o007) == "0o0", "others can read the key"
    port, answer = open(daemon.sock).read().split()
    for said, status in (("whirr -", "403"), ("whirr " + "0" * 32, "403")):
        body = b'{"alert": "hot", "duration_seconds": 60}'
        head = f"{said}\nPOST /api/alerts/silence HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        heard = raw(int(port), head.encode() + body)
        assert heard.startswith(answer + "\nHTTP/1.1 ") and heard.split()[2] in ("401", status), heard
    assert raw(int(port), b"GET / HTTP/1.1\r\n\r\n") == ""


def raw(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        s.sendall(data)
        heard = b""
        try:
            while piece := s.recv(65536):
                heard += piece
        except ConnectionResetError:
            pass
    return heard.decode()


def test_history_is_read_back(daemon):
    daemon.wait_stored(20)
    moment = daemon.json("/api/system/gpu-stats/history")["rows"][0]["recorded_at"]
    for words, expected in ((("history",), "utilization"), (("report",), "KWH"), (("why", "--at", moment), "GPU")):
        done = daemon.whirr(*words)
        assert done.returncode == 0 and expected in done.stdout, (words, done)


def test_ctrl_c_ends_it_and_takes_its_place_away(daemon):
    code, took = daemon.stop()
    assert code == 0 and took < 5, (code, took)
    assert "stopped" in daemon.log() and not os.path.exists(daemon.sock) and not os.path.exists(daemon.sock + ".key")


def test_a_sudden_end_loses_nothing_that_was_stored(start, tmp_path):
    file, seed = tmp_path / "gpu.db", random.randrange(1 << 30)
    moments, daemon = random.Random(seed), start("--interval", "0.1", "--store", f"sqlite:{file}")
    for _ in range(KILLS):
        daemon.wait_stored(4)
        any_moment(moments, 0.5)
        seen = daemon.json("/api/system/gpu-stats/history?limit=10000")["rows"]
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait(20)
        start.running.remove(daemon)  # the rest of Wine keeps its end of the pipe: nothing to wait for
        eventually(lambda: not os.path.exists(daemon.sock), explain="the place of a daemon that is gone")
        with sqlite3.connect(file) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], seed
        daemon = start.again(daemon)
        daemon.wait_sampled()
        kept = {(r["gpu_index"], r["recorded_at"]) for r in daemon.json("/api/system/gpu-stats/history?limit=10000")["rows"]}
        lost = [r["recorded_at"] for r in seen if (r["gpu_index"], r["recorded_at"]) not in kept]
        assert not lost, (seed, lost[:5])


def test_a_history_is_kept_by_a_path_of_windows_and_locked(start, tmp_path):
    place = "sqlite:Z:" + f"{tmp_path}/gpu.db".replace("/", "\\")
    daemon = start("--interval", "0.2", "--store", place)
    daemon.wait_stored(2)
    assert (tmp_path / "gpu.db-lock").exists() and "without a lock" not in daemon.log(), daemon.log()
    asked = run_whirr("db", "status", "--store", place)
    assert asked.returncode == 0 and "gpu.db" in asked.stdout, asked


def test_a_history_that_cannot_be_opened_is_told_in_words(start, tmp_path):
    """Errors behind those of SQLite are the system's own numbers."""
    daemon = start("--store", f"sqlite:{tmp_path}/not-there/gpu.db")
    daemon.wait_log(r"store: cannot open '.*gpu.db': No such file or directory")
