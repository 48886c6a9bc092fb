# SPDX-License-Identifier: Apache-2.0
"""whirr top over several hosts: daemons that are asked over HTTP, one of them dead."""
import pytest
from daemons import Daemon
from ports import free_port
from terminals import needs_tmux, terminal  # noqa: F401

pytestmark = needs_tmux


@pytest.fixture
def hosts(tmp_path):
    started = []
    for name, source in (("a", "sim:gpus=2,scenario=training"), ("b", "sim:gpus=3,scenario=idle")):
        folder = tmp_path / name
        folder.mkdir()
        started.append(Daemon(folder, ["--source", source, "--interval", "0.3", "--listen", f"127.0.0.1:{free_port()}"], {}))
    yield started
    for daemon in started:
        daemon.stop()


def test_several_hosts_are_rows_and_each_can_be_looked_at(hosts, terminal):  # noqa: F811
    first, second = (f"127.0.0.1:{h.port}" for h in hosts)
    dead = "127.0.0.1:1"
    t = terminal(f"--host {first} --host {second} --host {dead} top --interval 0.3", width=120, height=30)
    t.wait_all(rf"{first} +2/2 +\d+ W[^\n]*Simulated GPU 0[^\n]*\n {second} +0/3[^\n]*\n {dead} [^\n]*\w", r"\A[^\n]*Hosts")
    t.wait(rf"{dead} .*connect")
    t.keys("Enter")
    t.wait_all(f"● {first}: ", r"train\.py")
    t.keys(">")
    t.wait(rf"● {second}: .*idle")
    t.keys("4")
    t.wait("healthy|degraded|VERDICT|unknown")
    t.keys("<")
    t.wait(rf"{first}:")
    t.keys("1", "d")
    t.wait("not on this host")
    t.keys("Escape", "8", "Down", "Down", "Enter")
    t.wait("connect")
    t.keys(">")  # around
    t.wait(rf"● {first}:")
    t.keys("q")
    assert t.ended() == 0


def test_a_process_of_another_host_is_not_signaled(hosts, terminal):  # noqa: F811
    t = terminal(f"--host 127.0.0.1:{hosts[0].port} top --allow-signals")
    t.wait("PROCESS")
    assert "Hosts" not in t.screen()
    t.keys("x")
    t.wait("can't be changed from here")
    t.keys("q")
    assert t.ended() == 0


def test_a_host_that_goes_away_and_comes_back(hosts, terminal, tmp_path):  # noqa: F811
    port = hosts[1].port
    t = terminal(f"--host 127.0.0.1:{hosts[0].port} --host 127.0.0.1:{port} top --interval 0.3", width=120, height=30)
    t.wait(rf"127.0.0.1:{port} +0/3")
    hosts[1].stop()
    t.wait(rf"127.0.0.1:{port} +[A-Za-z].*(connect|closed|answer)")
    t.wait("2/2")
    again = tmp_path / "again"
    again.mkdir()
    daemon = Daemon(again, ["--source", "sim:gpus=3,scenario=idle", "--interval", "0.3", "--listen", f"127.0.0.1:{port}"], {})
    try:
        t.wait(rf"127.0.0.1:{port} +0/3")
    finally:
        daemon.stop()
    t.keys("q")
    assert t.ended() == 0


def test_one_frame_and_recordings_are_of_one_host(whirr):
    for args in (("--once",), ("--record", "/tmp/never")):
        assert whirr("--host", "a", "--host", "b", "top", *args).code == 2
