# SPDX-License-Identifier: Apache-2.0
"""The guard in whirr top: a daemon that guards a real process on a fake driver, and a person at a terminal."""
import re

import pytest
from guard_machine import Machine, needs_fakes, wait_for
from terminals import needs_tmux, terminal  # noqa: F401

pytestmark = [needs_tmux, needs_fakes]

LOOK = 'process_check_interval_secs = 0.2\nminimum_pause = "0s"\n'


@pytest.fixture
def machine(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    m = Machine(folder)
    yield m
    m.close()


def guarded(m, settings):
    worker = m.process(8000)
    m.config.write_text(f'[worker]\n{LOOK}{settings}[guard.worker.llama]\nmethods = ["checkpoint"]\nmatch = {{ pid = {worker.pid} }}\n')
    m.serve("--interval", "0.3")
    m.until("running")
    wait_for(lambda: m.status()["memory_mb"] == 8000, m.log)
    return worker


def top(m, terminal):  # noqa: F811
    return terminal("top --interval 0.3", width=110, height=30, WHIRR_SERVER_SOCKET=str(m.dir / "whirr.sock"))


def test_evict_hold_release_and_resume_after_a_confirmation(machine, terminal):  # noqa: F811
    m = machine
    worker = guarded(m, 'clear_for = "300ms"\n')
    t = top(m, terminal)
    t.wait("PROCESS")
    t.keys("7")
    t.wait_all("llama +running +7.8 GiB +GPU 0", "Available +Reclaimable +Free +Total")  # and what would fit where
    t.keys("e")
    t.wait_all(r"evict llama\?", "7.8 GiB on GPU 0")
    t.keys("Escape")
    t.wait("e evict")
    assert m.calls() == []
    t.keys("H")
    t.wait("stays off until the hold is released")
    t.keys("y")
    t.wait(r"llama +paused .*held")
    assert m.state(worker.pid) == 2
    t.keys("R", "y")
    t.wait(r"llama +running")
    assert m.state(worker.pid) == 0
    t.keys("q")
    assert t.ended() == 0


def test_the_time_until_a_worker_comes_back_is_shown(machine, terminal):  # noqa: F811
    m = machine
    guarded(m, 'clear_for = "10m"\n')
    other = m.process(3000)
    m.until("paused")
    assert m.status()["resumes_at"] is None
    t = top(m, terminal)
    t.wait("PROCESS")
    t.keys("7")
    assert "resumes in" not in t.wait(rf"llama +paused .*pid {other.pid}")
    m.end(other)
    t.wait(r"llama +paused .*resumes in (10m|\dm \d+s)")
    assert m.status()["resumes_at"] and re.search(r"resumes in (10m|\dm)", m.whirr("guard", "status").stdout)
    t.keys("R", "y")
    t.wait(r"llama +running")
    t.keys("q")
    assert t.ended() == 0


def test_where_a_size_fits(machine, terminal):  # noqa: F811
    m = machine
    guarded(m, "")
    t = top(m, terminal)
    t.wait("PROCESS")
    for size, answer in (("10GiB", r"It fits|fits on GPU 0"), ("38GiB", r"llama"), ("100GiB", r"does not fit"), ("24", r"not a size with its unit")):
        t.keys("f")
        t.wait("Fit:")
        t.type(size)
        t.keys("Enter")
        t.wait(answer)
        t.keys("Escape")
        t.wait(r"\? help")
    t.keys("q")
    assert t.ended() == 0


def test_fit_needs_no_daemon(terminal):  # noqa: F811
    t = terminal("--source sim:scenario=mixed top")
    t.wait("PROCESS")
    t.keys("f")
    t.type("12GiB")
    t.keys("Enter")
    t.wait("fits on GPU|It fits")
    t.keys("Escape", "q")
    assert t.ended() == 0
