# SPDX-License-Identifier: Apache-2.0
"""Nothing can be opened or read for a while: a guard that cannot look at its worker does not take it for dead, does not act on it, and sets it right
as soon as it can look again. One that ends before that says so and does not end with 0."""
import errno
import mmap
import os
import re
import resource
import signal
import struct

import pytest
from guard_machine import PATIENCE, attach, machine, needs_fakes, throughout, wait_for  # noqa: F401
from isolation import BUILD

PROGRAM = BUILD / "tests" / "fakes" / "faults" / "whirr-failing"
pytestmark = [needs_fakes, pytest.mark.skipif(not PROGRAM.exists(), reason="whirr-failing was not built")]
ERRORS = ["EMFILE", "ENOMEM", "EIO", "EACCES"]


class Reads:
    """What every opening and reading of the guard fails with from now on."""

    def __init__(self, m):
        path = m.dir / "reads"
        path.write_bytes(bytes(mmap.PAGESIZE))
        self.at = mmap.mmap(os.open(path, os.O_RDWR), mmap.PAGESIZE)
        m.env["WHIRR_FAILING_READS"], m.program = str(path), PROGRAM

    def fail(self, name):
        self.at[:4] = struct.pack("i", getattr(errno, name) if name else 0)


def has_ended(pid):
    """Nobody may wait for an orphan here: then it stays in the list, dead."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(") ")[2][0] == "Z"
    except OSError:
        return True


def said(m, words):
    return wait_for(lambda: re.search(words, m.log()), m.log)


@pytest.mark.slow
@pytest.mark.parametrize("name", ERRORS)
def test_a_guard_that_cannot_look_waits_until_it_can(machine, name):
    m = machine
    reads = Reads(m)
    worker = m.process(8000)
    guard = attach(m, worker)
    m.until("running")
    reads.fail(name)
    other = m.process(3000)
    said(m, "cannot determine who is using the GPU")
    throughout(0.6, lambda: guard.poll() is None and m.state(worker.pid) == 0, m.log)
    reads.fail(None)
    m.until("paused")
    assert m.state(worker.pid) == 2
    reads.fail(name)
    m.end(other)
    throughout(0.8, lambda: guard.poll() is None and m.state(worker.pid) == 2, m.log)
    reads.fail(None)
    m.until("running")
    assert m.state(worker.pid) == 0
    guard.terminate()
    assert guard.wait(PATIENCE) == 0
    assert "is not there" not in m.log() and "is gone" not in m.log()


@pytest.mark.parametrize("name", ERRORS)
def test_told_to_end_while_nothing_can_be_read_it_does_not_end_with_0(machine, name):
    """And leaves its journal, from which the next one brings the worker back."""
    m = machine
    reads = Reads(m)
    worker = m.process(8000)
    guard = attach(m, worker)
    m.until("running")
    other = m.process(3000)
    m.until("paused")
    reads.fail(name)
    m.end(other)
    guard.terminate()
    assert guard.wait(PATIENCE) == 1
    assert m.state(worker.pid) == 2 and "the guard ends and could not bring the worker back" in m.log()
    reads.fail(None)
    attach(m, worker)
    m.until("running")
    assert m.state(worker.pid) == 0


@pytest.mark.parametrize("name", ERRORS)
def test_a_guard_that_cannot_look_at_the_start_says_so(machine, name):
    m = machine
    worker = m.process(8000)
    reads = Reads(m)
    reads.fail(name)
    guard = attach(m, worker)
    assert guard.wait(PATIENCE) in (1, 2)  # 2: its configuration cannot be read either
    assert "is gone" not in m.log() and re.search(f"{os.strerror(getattr(errno, name))}|out of memory", m.log())


def test_out_of_descriptors_a_living_worker_is_not_called_dead(machine):
    """As a flood at the gate does it: the limit is reached while the guard runs."""
    m = machine
    worker = m.process(8000)
    guard = attach(m, worker)
    m.until("running")
    other = m.process(3000)
    m.until("paused")
    soft, hard = resource.prlimit(guard.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(guard.pid, resource.RLIMIT_NOFILE, (3, hard))
    m.end(other)
    throughout(0.8, lambda: guard.poll() is None and m.state(worker.pid) == 2, m.log)
    said(m, "out of file descriptors")
    resource.prlimit(guard.pid, resource.RLIMIT_NOFILE, (soft, hard))
    m.until("running")
    assert m.state(worker.pid) == 0 and "is not there" not in m.log()


@pytest.mark.parametrize("way", ["attach", "run"])
def test_a_guard_raises_its_limit_of_descriptors_and_leaves_its_worker_the_old_one(machine, way):
    m = machine
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = min(256, before[1])
    limits = m.start(["sh", "-c", "sleep 600"]) if way == "attach" else None
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, before[1]))
    try:
        guard = attach(m, limits) if way == "attach" else m.guard("run", "--", "sleep", "600")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    status = wait_for(lambda: (s := m.status())["pid"] and s, m.log)
    assert resource.prlimit(guard.pid, resource.RLIMIT_NOFILE)[0] == min(8448, before[1])
    if way == "run":
        wait_for(lambda: resource.prlimit(status["pid"], resource.RLIMIT_NOFILE)[0] == low, "the limit of the worker")


def test_a_child_is_not_left_behind_by_a_guard_that_cannot_look_at_it(machine):
    """It was adopted from an earlier guard: its number could be that of another process, so it is signalled only when it is known."""
    m = machine
    first = m.guard("run", "--", "sleep", "600")
    pid = wait_for(lambda: m.status().get("pid"), m.log)
    first.send_signal(signal.SIGKILL)
    first.wait()
    reads = Reads(m)
    second = m.guard("run", "--", "sleep", "600")
    said(m, "still runs and is guarded again")
    wait_for(lambda: m.status().get("pid") == pid, m.log)
    reads.fail("EMFILE")
    second.terminate()
    throughout(0.5, lambda: second.poll() is None, m.log)
    reads.fail(None)
    assert second.wait(PATIENCE) == 0
    wait_for(lambda: has_ended(pid), m.log)
