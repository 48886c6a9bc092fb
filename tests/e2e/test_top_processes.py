# SPDX-License-Identifier: Apache-2.0
"""The processes in whirr top: real ones, on a fake driver that says what they hold, in a real terminal."""
import getpass
import os
import re
import subprocess
import time

import pytest
from guard_machine import Machine, needs_fakes
from terminals import needs_tmux, terminal  # noqa: F401
from waiting import PATIENCE, eventually

pytestmark = [needs_tmux, needs_fakes]


@pytest.fixture
def machine(tmp_path):
    folder = tmp_path / "machine"
    folder.mkdir()
    m = Machine(folder)
    yield m
    m.close()


def top(machine, terminal, *args, **more):  # noqa: F811
    names = ("WHIRR_NVML_LIBRARY", "WHIRR_FAKE_NVML")
    return terminal(" ".join(("--source nvml", "top --interval 0.3", *args)), **{n: machine.env[n] for n in names}, **more)


def children(parent):
    """Those that have become what they are to be."""
    with open(f"/proc/{parent.pid}/task/{parent.pid}/children", encoding="ascii") as f:
        return [int(pid) for pid in f.read().split() if open(f"/proc/{pid}/comm", encoding="ascii").read() == "sleep\n"]


def test_details_show_what_the_person_may_see(machine, terminal):  # noqa: F811
    argv = ["python3", "-c", "import signal; signal.pause()", "--note", "x" * 600, "--api-key", "swordfish7", "last-word"]
    worker = subprocess.Popen(argv, env={"PATH": "/usr/bin:/bin", "MODEL_DIR": "/models", "HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz"}, cwd="/usr")
    machine.children.append(worker)
    machine.hold(worker.pid, 3000)
    t = top(machine, terminal, width=120, height=50)
    t.wait(f" {worker.pid} ")
    t.keys("d")
    screen = t.wait_all("MODEL_DIR=/models", rf"Started by .*\(PID {os.getpid()}\)", "last-word", "Directory    /usr", "GPU files    none is open", r"HF_TOKEN=\*\*\*",
                        "2.9 GiB VRAM", getpass.getuser())
    assert "swordfish" not in screen and "hf_abc" not in screen
    t.keys("Escape", "q")
    assert t.ended() == 0


def test_details_say_in_which_line_a_program_is(machine, terminal, tmp_path):  # noqa: F811
    program = tmp_path / "train.py"
    program.write_text("def augment():\n    n = 0\n    while True:\n        n += 1\n\naugment()\n")
    worker = subprocess.Popen(["/usr/bin/python3", program])
    machine.children.append(worker)
    machine.hold(worker.pid, 3000)
    t = top(machine, terminal, width=120, height=50)
    t.wait(f" {worker.pid} ")
    t.keys("d")
    t.wait_all(r"Where +augment\(\) in train\.py:[34](-4)?, \d+% of that thread", "looks")
    t.keys("Escape", "q")
    assert t.ended() == 0


def test_details_scroll_where_they_do_not_fit(machine, terminal):  # noqa: F811
    env = {f"VARIABLE_{i:02}": str(i) for i in range(40)}
    worker = subprocess.Popen(["sleep", "600"], env=env)
    machine.children.append(worker)
    machine.hold(worker.pid, 3000)
    t = top(machine, terminal)
    t.wait("sleep 600")
    t.keys("d")
    t.wait_all("Environment", gone=["VARIABLE_39"])
    t.keys("G")
    t.wait_all("VARIABLE_39=39", gone=["User "])
    t.keys("Home")
    t.wait("User ")
    t.keys("d")
    t.wait_all(r"\? help", gone=["VARIABLE"])
    t.keys("q")
    assert t.ended() == 0


def test_a_signal_names_whom_it_hits_and_hits_only_them(machine, terminal):  # noqa: F811
    first, second, third = (machine.process(mib) for mib in (3000, 2000, 1000))
    t = top(machine, terminal, "--allow-signals", "--sort memory", width=100, height=30)
    t.wait(f"{third.pid} ")
    t.keys("j", "x")
    t.wait_all("Send a signal", rf"sleep \(pid {second.pid}, {getpass.getuser()}\), running for (\d+m )?\d+s, 2.0 GiB on GPU 0",
               "2.0 GiB of VRAM is freed when it ends")
    machine.hold(second.pid, 9000)  # it moves up in the list while the dialog is open
    t.wait(rf"pid {second.pid}, .*, 8.8 GiB")
    t.keys("y")
    t.wait(rf"Signaled sleep \(PID {second.pid}\)")
    assert second.wait(PATIENCE) == -15 and first.poll() is None and third.poll() is None
    machine.forget(second.pid)
    eventually(lambda: f" {second.pid} " not in t.screen())
    t.keys("Home", "Space", "Space")  # both of the rest
    t.wait(r"●.*\n●")
    t.keys("x")
    t.wait("are freed when they end")
    t.keys("Escape")
    assert first.poll() is None
    t.keys("x", "j", "j", "j", "y")
    assert first.wait(PATIENCE) == -9 and third.wait(PATIENCE) == -9
    t.keys("q")
    assert t.ended() == 0


def test_a_dialog_does_not_outlive_its_process(machine, terminal):  # noqa: F811
    first, second = machine.process(3000), machine.process(2000)
    t = top(machine, terminal, "--allow-signals", "--sort memory")
    t.wait(f"{second.pid} ")
    t.keys("x")
    t.wait("Send a signal")
    machine.end(first)
    t.wait("That process has ended")
    t.keys("y")
    assert second.poll() is None
    t.keys("q")
    assert t.ended() == 0


def test_read_only_nothing_can_be_signaled(machine, terminal):  # noqa: F811
    worker = machine.process(3000)
    t = top(machine, terminal, "--read-only")
    t.wait("sleep 600")
    t.keys("x", "y")
    t.keys("d")
    t.wait("PID")
    t.keys("x")
    t.wait("Read-only: top was started with --read-only")
    t.keys("q")
    assert t.ended() == 0 and worker.poll() is None


def test_whether_to_signal_at_all_is_asked_once(machine, terminal, tmp_path):  # noqa: F811
    config = tmp_path / "config"
    first, second = machine.process(3000), machine.process(2000)
    t = top(machine, terminal, "--sort memory", XDG_CONFIG_HOME=str(config))
    t.wait(f"{second.pid} ")
    t.keys("x")
    t.wait("Let top signal processes")
    t.keys("Enter")  # only y agrees
    t.wait_all(r"\? help", gone=["Let top signal"])
    t.keys("x", "y")
    t.wait("Send a signal")
    t.keys("y")
    assert first.wait(PATIENCE) == -15 and second.poll() is None
    t.keys("W")  # until then the consent is for this session
    t.wait("Saved in")
    t.keys("q")
    assert t.ended() == 0 and "act = true" in (config / "whirr/top.toml").read_text()
    machine.forget(first.pid)
    t = top(machine, terminal, XDG_CONFIG_HOME=str(config))
    t.wait(f"{second.pid} ")
    t.keys("x")
    t.wait("Send a signal")
    t.keys("Escape", "q")
    assert t.ended() == 0


def test_the_nice_value_is_changed(machine, terminal):  # noqa: F811
    worker = machine.process(3000)
    before = os.getpriority(os.PRIO_PROCESS, worker.pid)
    t = top(machine, terminal)
    t.wait("sleep 600")
    t.keys("F8", "F8", "F8")
    t.wait(r"by \+3: other programs get the CPU first")
    t.keys("y")
    t.wait(rf"Nice of sleep \(PID {worker.pid}\): {before + 3}, before {before}")
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == before + 3
    t.keys("F10")
    assert t.ended() == 0


def test_the_tree_joins_processes_to_the_one_that_started_them(machine, terminal):  # noqa: F811
    launcher = machine.start(["sh", "-c", "sleep 601 & sleep 602 & wait"])
    alone = machine.process(500)
    first, second = eventually(lambda: len(found := children(launcher)) == 2 and found)
    for pid in (first, second):
        machine.hold(pid, 2000)
    t = top(machine, terminal, "--sort pid", width=100, height=30)
    t.wait("sleep 602")
    t.keys("t")
    t.wait_all("Tree", rf"{launcher.pid} +3\.9 .*sh: 2 processes\n.*{first} .*├─ sleep 601 *\n.*{second} .*└─ sleep 602", rf"{alone.pid} .*(?<!─ )sleep 600")
    machine.hold(launcher.pid, 100)  # and where the parent is on the GPU itself
    t.wait(rf"{launcher.pid} .* sh -c sleep.*\n.*{first} .*├─ sleep 601")
    t.keys("q")
    assert t.ended() == 0


def test_columns_are_chosen_and_kept(machine, terminal, tmp_path):  # noqa: F811
    machine.process(3000)
    config = str(tmp_path / "config")
    t = top(machine, terminal, width=280, height=30, XDG_CONFIG_HOME=config)
    heading = next(line for line in t.wait("AGE .*PROCESS").splitlines() if "PROCESS" in line).split()
    heading = [name for name in heading if name not in ("LIMIT", "IDLE")]  # only once they are known
    assert heading == "GPU▼ PID USER VRAM GiB UTIL BW ENC DEC WATTS CPU RAM GiB AGE PROCESS".split()
    t.keys("o", "j", "j", "Space", "W", "Escape")  # without USER
    eventually(lambda: "USER" not in t.screen())
    t.keys("q")
    assert t.ended() == 0
    t = top(machine, terminal, width=280, height=30, XDG_CONFIG_HOME=config)
    assert "USER" not in t.wait("AGE .*PROCESS")
    t.keys("q")
    assert t.ended() == 0


def test_follow_stays_with_a_process_and_compute_only_hides_the_rest(machine, terminal):  # noqa: F811
    first, second = machine.process(3000), machine.process(2000)
    screen = machine.start(["sleep", "600"])
    machine.more = f"  process {screen.pid} graphics 100\n"
    machine.show()
    t = top(machine, terminal, "--sort memory", width=100, height=30)
    t.wait(f" {screen.pid} ")
    t.keys("C")
    t.wait_all("compute only", f" {first.pid} ", gone=[f" {screen.pid} "])
    t.keys("C")
    t.wait(f" {screen.pid} ")
    t.wait(f"{second.pid} ")
    t.keys("j", "F")
    t.wait("Following")
    machine.hold(second.pid, 9000)
    eventually(lambda: re.search(rf"\033\[[0-9;]*7m[^\n]*{second.pid}", t.screen("-e")), explain=lambda: t.screen("-e"))
    t.keys("q")
    assert t.ended() == 0


def test_the_driver_is_asked_for_what_never_changes_only_once(machine, terminal, tmp_path):  # noqa: F811
    calls = tmp_path / "calls"
    begin = time.monotonic()
    t = top(machine, terminal, WHIRR_FAKE_NVML_CALLS=str(calls))
    for celsius in (50, 61, 72):  # each of them is another sample
        machine.temperature = celsius
        machine.show()
        t.wait(f"{celsius} °C")
    t.keys("q")
    assert t.ended() == 0
    asked = dict(line.split() for line in calls.read_text().splitlines())
    slow = int((time.monotonic() - begin) / 30)  # what is asked every 30 s
    assert asked["nvmlDeviceGetVbiosVersion"] == "1" and int(asked["nvmlDeviceGetTotalEnergyConsumption"]) <= 1 + slow, asked
    assert int(asked["nvmlDeviceGetTemperature"]) >= 3, asked
