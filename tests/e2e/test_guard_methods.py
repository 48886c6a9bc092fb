# SPDX-License-Identifier: Apache-2.0
"""The guard's plain methods (command, signal, process), driver calls that hang, and the end of the guard in the middle of something."""
import json
import pathlib
import signal
import subprocess
import threading
import uuid

import pytest
from conftest import WHIRR
from guard_machine import FAST, PATIENCE, Server, attach, machine, needs_fakes, throughout, wait_for  # noqa: F401

pytestmark = needs_fakes

# A worker that gives its memory back when it is told to, and says so in a file.
OBEDIENT = """
import pathlib, signal, sys
path = pathlib.Path(sys.argv[1])
path.write_text("held")
signal.signal(signal.SIGUSR1, lambda *_: path.write_text("freed"))
signal.signal(signal.SIGUSR2, lambda *_: path.write_text("held"))
while True:
    signal.pause()
"""


class Told:
    """A worker whose memory is what a file says: "held" or "freed"."""

    def __init__(self, m, argv=None):
        self.m, self.path = m, m.dir / "told"
        script = m.dir / "obedient.py"
        script.write_text(OBEDIENT)
        self.process = m.start(argv or ["/usr/bin/python3", script, self.path])
        if argv:
            self.path.write_text("held")
        wait_for(self.path.exists, "the worker")
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        m.servers.append(self)
        self.shown = None
        self.thread.start()
        wait_for(lambda: self.shown == "held", "held")

    def state(self):
        return self.path.read_text()

    def follow(self):
        while not self.ended.wait(0.02):
            now = self.state()
            if now and now != self.shown and self.process.poll() is None:
                self.m.hold(self.process.pid, 8000 if now == "held" else 200)
                self.shown = now

    def close(self):
        self.ended.set()
        self.thread.join()


def commands(m, told, method_lines=""):
    """A worker of the configuration with the method `command`."""
    write = ["sh", "-c", f"echo $0 >> {m.dir}/commands; while [ -e {m.dir}/$0.slow ]; do sleep 0.05; done; printf $0 > {told.path}"]
    m.config.write_text(f"[guard.worker.w]\nmethods = [\"command\"]\nmatch = {{ pid = {told.process.pid} }}\n{FAST}"
                        f"evict_command = {json.dumps(write + ['freed'])}\nresume_command = {json.dumps(write + ['held'])}\n{method_lines}")


def ran(m):
    path = m.dir / "commands"
    return path.read_text().split() if path.exists() else []


def under_method(m):
    """Whether a hook is still running, also one whose whirr is gone."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(f"{m.dir}/commands".encode() in path.read_bytes())
        except OSError:
            pass  # it has just ended
    return any(found)


def in_group(leader):
    """The processes of a process group that still run; some of the dead may wait for whoever counts them."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = path.read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue  # it has just ended
        found += [path.parent.name] if int(group) == leader and state != "Z" else []
    return found


# ---- command ----

def test_commands_free_the_memory_and_bring_the_worker_back(machine):
    m = machine
    told = Told(m, ["sleep", "600"])
    busy = m.dir / "busy"
    busy.touch()
    commands(m, told, f'status_command = ["sh", "-c", "! test -e {busy}"]\ndrain_timeout = "10m"\n')
    m.guard("attach", "w")
    m.until("running")
    other = m.process(3000)
    m.until("draining")
    assert ran(m) == []
    busy.unlink()
    assert m.until("paused")["method"] == "command"
    m.end(other)
    m.until("running")
    assert ran(m) == ["freed", "held"] and told.state() == "held"


def test_a_command_that_fails_is_quoted_and_the_worker_goes_on(machine):
    m = machine
    told = Told(m, ["sleep", "600"])
    m.config.write_text(f'[guard.worker.w]\nmethods = ["command"]\nmatch = {{ pid = {told.process.pid} }}\n{FAST}'
                        'evict_command = ["sh", "-c", "echo no such model >&2; exit 3"]\n')
    m.guard("attach", "w")
    m.until("running")
    m.process(3000)
    wait_for(lambda: m.status()["gave_up"], m.log)
    assert "ended with 3: no such model" in m.log() and m.status()["state"] == "running"


@pytest.mark.parametrize("step", ["evict command", "resume command"])
def test_killed_in_the_middle_of_a_command_the_next_start_brings_the_worker_back(machine, step):
    m = machine
    told = Told(m, ["sleep", "600"])
    commands(m, told)
    guard = m.guard("attach", "w")
    m.until("running")
    slow = m.dir / ("freed.slow" if step == "evict command" else "held.slow")
    slow.touch()
    other = m.process(3000)
    if step == "resume command":
        m.until("paused")
        m.end(other)
    wait_for(lambda: ran(m)[-1:] == [slow.stem], m.log)
    assert m.journal()["step"] == step
    guard.kill()
    guard.wait()
    # A command that is under way outlives whirr; it is over before whirr is started again.
    slow.unlink()
    wait_for(lambda: not under_method(m), lambda: f"{ran(m)}")
    m.guard("attach", "w")
    if other.poll() is None:
        m.end(other)
    wait_for(lambda: m.status()["state"] == "running" and told.state() == "held" and ran(m)[-1] == "held", lambda: f"{m.status()} {ran(m)}\n{m.log()}")


# ---- signal ----

def test_signals_free_the_memory_and_bring_the_worker_back(machine):
    m = machine
    told = Told(m)
    m.guard("attach", "--method", "signal", told.process.pid)
    m.until("running")
    other = m.process(3000)
    assert m.until("paused")["method"] == "signal" and told.state() == "freed"
    m.end(other)
    m.until("running")
    wait_for(lambda: told.state() == "held", m.log)


def test_killed_while_a_worker_waits_for_its_signal_the_next_start_sends_it(machine):
    m = machine
    told = Told(m)
    guard = m.guard("attach", "--method", "signal", told.process.pid)
    m.until("running")
    other = m.process(3000)
    m.until("paused")
    guard.kill()
    guard.wait()
    m.end(other)
    m.guard("attach", "--method", "signal", told.process.pid)
    m.until("running")
    wait_for(lambda: told.state() == "held", m.log)


def test_a_signal_that_keeps_the_memory_on_the_card_is_refused(machine):
    m = machine
    m.config.write_text('[guard.worker.w]\nmethods = ["signal"]\nmatch = { pid = 1 }\nevict_signal = "SIGSTOP"\n')
    assert m.guard("attach", "w").wait(PATIENCE) == 2 and "is not a usable signal" in m.log()


# ---- process ----

def test_a_child_that_ignores_a_polite_end_is_killed_with_its_group(machine):
    m = machine
    m.config.write_text('[worker]\nevict_timeout = "1s"\n')
    guard = m.guard("run", "--method", "process", "--", "sh", "-c", "trap '' TERM; sleep 600 & sleep 600; wait")
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    m.hold(pid, 16000)
    wait_for(lambda: m.status()["memory_mb"] == 16000, "memory")
    m.process(3000)
    wait_for(lambda: m.journal()["step"] == "stop", m.log)
    m.forget(pid)
    m.until("paused")
    wait_for(lambda: not in_group(pid), lambda: f"{in_group(pid)}\n{m.log()}")
    guard.terminate()
    guard.wait(PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["stop", "started"])
def test_killed_while_a_child_is_stopped_or_started_there_is_one_child_in_the_end(machine, step):
    m = machine
    mark = f"mark-{uuid.uuid4()}"  # other tests run beside this one
    script = f": {mark}; trap 'sleep 1; exit 0' TERM; while :; do sleep 0.05; done"
    run = ("run", "--method", "process", "--", "sh", "-c", script)
    guard = m.guard(*run)
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    m.hold(pid, 16000)
    wait_for(lambda: m.status()["memory_mb"] == 16000, "memory")
    other = m.process(3000)
    wait_for(lambda: m.journal()["step"] == "stop", m.log)
    m.forget(pid)
    if step == "started":
        m.until("paused")
        m.end(other)
        m.until("running")
        pid = wait_for(lambda: (p := m.status()["pid"]) != pid and p, "the new child")
        wait_for(lambda: m.journal()["leader"][0] == pid, m.journal)
    guard.kill()
    guard.wait()
    guard = m.guard(*run)
    if step == "stop":
        m.until("paused")
        throughout(1.5, lambda: guard.poll() is None and m.status()["state"] == "paused", m.log)
        m.end(other)
    m.until("running")
    wait_for(lambda: len(subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True).stdout.split()) == 2, m.log)  # the guard and the child
    wait_for(lambda: (now := m.status()["pid"]) and (now == pid) == (step == "started"), m.log)
    guard.terminate()
    assert guard.wait(PATIENCE) == 0


def test_killed_before_a_child_was_told_to_stop_the_next_start_tells_it(machine):
    m = machine
    run = ("run", "--method", "process", "--", "sleep", "600")
    guard = m.guard(*run)
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    m.hold(pid, 16000)
    wait_for(lambda: m.status()["memory_mb"] == 16000, "memory")
    wait_for(lambda: m.journal().get("leader", [0])[0] == pid, m.journal)
    guard.kill()
    guard.wait()
    path = m.dir / "state" / "guard" / "w.journal"  # as if it had been killed right after it noted what it was about to do
    path.write_text(json.dumps(dict(m.journal(), state="evicting", step="stop", acted=["process"])))
    m.guard(*run)
    now = wait_for(lambda: (p := m.status().get("pid")) != pid and p, m.log)
    m.forget(pid)
    assert pathlib.Path(f"/proc/{now}/cmdline").read_text() == "sleep\0" "600\0"
    before = pathlib.Path(f"/proc/{pid}/stat")  # ended, whether or not it has been reaped
    assert not before.exists() or ") Z" in before.read_text()


# ---- driver calls that hang ----

def test_workers_on_several_gpus_are_taken_off_and_brought_back_side_by_side(machine):
    m = machine
    m.gpus = 3
    workers = [m.process(200, gpu) for gpu in range(3)]  # all of them fit into the host's memory
    m.config.write_text(f"[worker]\n{FAST}" + "".join(f'[guard.worker.w{i}]\nmethods = ["checkpoint"]\nmatch = {{ pid = {w.pid} }}\n' for i, w in enumerate(workers)))
    m.hang("checkpoint")
    m.serve()
    m.until_all("running")
    claimants = [m.process(30000, gpu) for gpu in range(3)]
    # Each of them is inside the driver's checkpoint, and none comes out of it before all are.
    wait_for(lambda: m.calls().count("checkpoint") == 3, lambda: f"{m.calls()}\n{m.log()}")
    assert [m.state(w.pid) for w in workers] == [1, 1, 1] and {w["state"] for w in m.workers().values()} == {"evicting"}
    m.go_on()
    m.until_all("paused")
    m.hang("restore")
    for claimant in claimants:
        m.end(claimant)
    wait_for(lambda: m.calls().count("restore") == 3, lambda: f"{m.calls()}\n{m.log()}")
    assert {w["state"] for w in m.workers().values()} == {"resuming"}
    m.go_on()
    m.until_all("running")
    assert [m.state(w.pid) for w in workers] == [0, 0, 0]


@pytest.mark.slow
def test_a_driver_call_of_seconds_does_not_keep_the_guard_from_answering(machine):
    m = machine
    worker = m.process(16000)
    m.hang("checkpoint")
    attach(m, worker)
    m.until("running")
    m.process(3000)
    wait_for(lambda: "checkpoint" in m.calls(), m.log)
    assert m.status()["state"] == "evicting"
    hold = m.start([WHIRR, "guard", "hold", "w"])
    throughout(1, lambda: hold.poll() is None and m.status()["state"] == "evicting", m.log)  # it waits, and others get their answers
    m.go_on()
    assert hold.wait(PATIENCE) == 0
    assert m.until("paused")["held"] is True


def test_a_lock_that_hangs_is_given_up_in_time_and_the_worker_goes_on(machine):
    m = machine
    m.config.write_text('[worker]\nevict_timeout = "1s"\n')
    worker = m.process(16000)
    m.script("hang lock 60\n")
    attach(m, worker)
    m.until("running")
    m.process(3000)
    wait_for(lambda: m.status()["gave_up"], m.log)
    assert "lock of pid" in m.log() and "did not end within 1000 ms" in m.log() and m.state(worker.pid) == 0


@pytest.mark.slow
def test_a_state_query_that_hangs_at_the_start_does_not_keep_the_guard_from_starting(machine):
    m = machine
    worker = m.process(16000)
    m.script("hang state 60\n")
    attach(m, worker)
    m.until("running")


# ---- the guard is told to end ----

@pytest.mark.slow
def test_told_to_end_in_a_checkpoint_it_lets_the_driver_finish_and_the_next_guard_goes_on(machine):
    m = machine
    worker = m.process(16000)
    m.hang("checkpoint")
    guard = attach(m, worker)
    m.until("running")
    other = m.process(3000)
    wait_for(lambda: "checkpoint" in m.calls(), m.log)
    guard.terminate()
    wait_for(lambda: "waiting for the current step to end" in m.log(), m.log)
    m.go_on()
    assert guard.wait(PATIENCE) == 0 and m.state(worker.pid) == 2 and m.journal()["acted"] == ["checkpoint"]
    m.script("")
    attach(m, worker)
    m.until("paused")
    m.end(other)
    m.until("running")
    assert m.state(worker.pid) == 0


def test_told_to_end_after_the_lock_it_unlocks(machine):
    m = machine
    worker = m.process(16000)
    m.hang("lock", "late")
    guard = attach(m, worker)
    m.until("running")
    m.process(3000)
    wait_for(lambda: m.state(worker.pid) == 1, m.log)
    guard.terminate()
    wait_for(lambda: "waiting for the current step to end" in m.log(), m.log)
    m.go_on()
    assert guard.wait(PATIENCE) == 0 and m.state(worker.pid) == 0
    assert m.calls() == ["lock", "unlock"] and m.journal()["acted"] == []


def test_told_to_end_while_a_server_takes_its_time_it_does_not_wait(machine):
    m = machine
    server = Server(m, "vllm", busy=True, load_tracking=False)
    guard = m.guard("attach", "--method", "vllm", server.url)
    m.until("running")
    other = m.process(3000)
    wait_for(lambda: any("/sleep" in line for line in server.log()), m.log)  # it was asked, not only about to be
    guard.terminate()
    assert guard.wait(PATIENCE) == 0 and "is left alone" not in m.log()  # it did not wait until its patience ended
    server.put(busy=False)
    wait_for(server.unloaded, "it went to sleep after all")
    m.end(other)
    m.guard("attach", "--method", "vllm", server.url)
    wait_for(lambda: m.status()["state"] == "running" and server.get()["loaded"], lambda: f"{m.status()}\n{m.log()}")


def test_told_to_end_while_the_gpu_is_free_again_it_brings_the_worker_back_first(machine):
    m = machine
    worker = m.process(16000)
    guard = attach(m, worker, "--clear-for", "60s")
    m.until("running")
    other = m.process(3000)
    m.until("paused")
    m.end(other)
    guard.terminate()
    assert guard.wait(PATIENCE) == 0 and m.state(worker.pid) == 0 and m.journal()["acted"] == []


def test_a_child_gets_its_memory_back_before_it_is_told_to_end(machine):
    m = machine
    saved = m.dir / "saved"
    guard = m.guard("run", "--method", "checkpoint", "--clear-for", "60s", "--", "sh", "-c",
                    f"trap 'cat {m.cuda}/$$.state > {saved}; exit 0' TERM; while :; do sleep 0.05; done")
    pid = wait_for(lambda: m.status().get("pid"), "the worker's pid")
    m.hold(pid, 16000)
    wait_for(lambda: m.status()["memory_mb"] == 16000, "memory")
    other = m.process(3000)
    m.until("paused")
    m.end(other)
    guard.terminate()
    assert guard.wait(PATIENCE) == 0 and saved.read_text().strip() == "0"


# ---- settings change while the daemon runs ----

def test_settings_and_workers_change_at_a_reload(machine):
    m = machine
    worker, second = m.process(8000), m.process(200)

    def configure(more="", second_too=False):
        text = f'[worker]\n{FAST}{more}[guard.worker.w]\nmethods = ["checkpoint"]\nmatch = {{ pid = {worker.pid} }}\n'
        m.config.write_text(text + (f'[guard.worker.x]\nmethods = ["checkpoint"]\nmatch = {{ pid = {second.pid} }}\n' if second_too else ""))
    configure()
    daemon = m.serve()
    m.until_all("running")
    m.process(100)
    throughout(1, lambda: m.status()["state"] == "running", m.log)  # too small to count
    configure('claim_compute_memory = "50MiB"\n')
    daemon.send_signal(signal.SIGHUP)
    m.until("paused")
    configure('claim_compute_memory = "1GiB"\n', second_too=True)
    daemon.send_signal(signal.SIGHUP)
    wait_for(lambda: {n: w["state"] for n, w in m.workers().items()} == {"w": "running", "x": "running"}, lambda: f"{m.workers()}\n{m.log()}")
    assert m.whirr("guard", "hold", "w").returncode == 0
    wait_for(lambda: m.workers()["w"]["state"] == "paused", m.log)
    m.config.write_text(f"[worker]\n{FAST}")
    daemon.send_signal(signal.SIGHUP)
    wait_for(lambda: m.state(worker.pid) == 0 and m.workers() == {}, lambda: f"{m.workers()}\n{m.log()}")
    assert "no longer guarded" in m.log()


def test_a_worker_with_a_mistake_at_a_reload_stays_as_it_was(machine):
    m = machine
    worker = m.process(8000)
    m.config.write_text(f'[worker]\n{FAST}[guard.worker.w]\nmethods = ["checkpoint"]\nmatch = {{ pid = {worker.pid} }}\n')
    daemon = m.serve()
    m.until_all("running")
    m.config.write_text(f'[worker]\n{FAST}[guard.worker.w]\nmethods = ["magic"]\nmatch = {{ pid = {worker.pid} }}\n')
    daemon.send_signal(signal.SIGHUP)
    wait_for(lambda: "unknown method 'magic'" in m.log(), m.log)
    m.process(3000)
    m.until("paused")


