# SPDX-License-Identifier: Apache-2.0
"""whirr watch: like time, for GPUs. The program tells a fake driver of itself, as a real one would see it."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
from daemons import Starter
from isolation import BUILD, WHIRR, environment
from waiting import PATIENCE, eventually

LIBRARY = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
IDLE = "gpu NVIDIA GeForce RTX 4090\n  gpu_util 0\n  power 30000\n  power_limit 450000\n  used 500\n  throttle 0\n"
BUSY = "gpu NVIDIA GeForce RTX 4090\n  gpu_util 98\n  power 449000\n  power_limit 450000\n  used 18000\n  throttle 4\n"

# What a program does to be seen: "busy" and its number, or that of another. It works until it was seen in so many samples, and for most of its life.
PROGRAM = """
import os, sys, time
SCRIPT, SAMPLES = os.environ["WHIRR_FAKE_NVML"], os.environ["WHIRR_FAKE_NVML_SAMPLES"]
begun = float(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)
def samples():
    return open(SAMPLES).read().count(chr(10)) if os.path.exists(SAMPLES) else 0
def seen(pid):
    with open(SCRIPT + ".new", "w") as f:
        f.write({busy!r} + f"  process {{pid}} compute 17000 95 40\\n")
    os.rename(SCRIPT + ".new", SCRIPT)
def until(look, often=time.sleep):
    while not look():
        often(0.02)
def work(count):
    until(lambda: "gpu_util 98" in open(SCRIPT).read())
    at, before = now(), samples()
    until(lambda: samples() - before >= count and now() - at >= 4 * (at - begun))
"""


@pytest.fixture
def machine(tmp_path):
    if not LIBRARY.exists():
        pytest.skip("the fake NVML library was not built")

    class Machine:
        script = tmp_path / "script"
        folder = tmp_path

        def environment(self, **more):
            return environment(tmp_path, **dict(dict(WHIRR_NVML_LIBRARY=str(LIBRARY), WHIRR_FAKE_NVML=str(self.script), WHIRR_FAKE_NVML_SAMPLES=str(tmp_path / "samples")), **more))

        def program(self, code, name="program.py"):
            path = tmp_path / name
            path.write_text(PROGRAM.format(busy=BUSY) + code)
            return [sys.executable, str(path)]

        def watch(self, *command, options=("--source", "nvml", "--interval", "0.2"), stdin=None, **env):
            return subprocess.run([WHIRR, "watch", *options, "--", *command], env=self.environment(**env), input=stdin, capture_output=True,
                                  text=True, timeout=PATIENCE)

    Machine.script.write_text(IDLE)
    return Machine()


def test_what_a_program_used_and_what_limited_it(machine):
    done = machine.watch(*machine.program("seen(os.getpid())\nwork(6)\nsys.exit(7)"), WHIRR_ENERGY_PRICE_PER_KWH="0.4")
    assert done.returncode == 7 and done.stdout == "", done
    lines = done.stderr.splitlines()
    assert lines[0].startswith("program.py ran for ") and lines[0].endswith("on GPU 0 (NVIDIA GeForce RTX 4090), mostly limited by power."), lines
    rows = {line[2:15].strip(): line[15:] for line in lines[1:]}
    assert rows["VRAM"].startswith("peak 16.6 GiB, mean ") and rows["Utilization"].startswith("peak 95%, mean "), rows
    assert re.search(r"EUR \(mean [\d.]+ W, peak 449 W\)", rows["Energy"]) and "power cap for" in rows["Throttling"], rows
    assert re.search(r"computing \S+ at 9\d%", rows["Phases"]) and rows["Limited by"].startswith("power "), rows


LATE = "gpu NVIDIA GeForce RTX 4090\n  gpu_util 15\n  power 90000\n  power_limit 450000\n  used 18000\n  throttle 0\n  process {pid} compute 17000 14 3\n"


def test_where_the_cpu_time_goes_while_its_own_side_limits_it(machine):
    """One Python thread keeps the GPU waiting; without permission for samples the report says what would permit them."""
    code = f"""
with open(SCRIPT + ".new", "w") as f:
    f.write({LATE!r}.format(pid=os.getpid()))
os.rename(SCRIPT + ".new", SCRIPT)
before = samples()
while samples() - before < 40:
    sum(range(20000))
"""
    done = machine.watch(*machine.program(code), options=("--source", "nvml", "--interval", "0.2", "--json"))
    told = json.loads(done.stderr)
    assert told["limited_by"] == "host_cpu", told["limits"]
    assert "of its CPU time" in told["cpu_time"] or "perf_event" in told["cpu_time"] or "CAP_PERFMON" in told["cpu_time"], told["cpu_time"]
    plain = json.loads(machine.watch(*machine.program("seen(os.getpid())\nwork(4)"), options=("--source", "nvml", "--interval", "0.2", "--json")).stderr)
    assert plain["limited_by"] == "power" and plain["cpu_time"] is None, plain


def test_as_data_into_a_file(machine):
    out = machine.folder / "run.json"
    begin = time.monotonic()
    done = machine.watch(*machine.program("seen(os.getpid())\nwork(6)"), options=("--source", "nvml", "--interval", "0.2", "--json", "-o", str(out)))
    assert done.returncode == 0 and done.stdout == "" and done.stderr == "", done
    told = json.loads(out.read_text())
    assert told["exit_status"] == 0 and told["signal"] is None and told["used_gpu"] and told["limited_by"] == "power"
    assert told["memory_peak_bytes"] == 17000 << 20 and told["utilization_peak_percent"] == 95 and told["cost"] is None
    assert 0 < told["elapsed_seconds"] <= time.monotonic() - begin and told["samples"] >= 3 and told["cpu_seconds"] > 0
    assert [g["gpu_index"] for g in told["gpus"]] == [0] and told["gpus"][0]["energy_joules"] > 100
    ends = [p["start_seconds"] + p["seconds"] for p in told["phases"]]
    assert [p["start_seconds"] for p in told["phases"]] == pytest.approx([0, *ends[:-1]], abs=0.01) and ends[-1] <= time.monotonic() - begin, told["phases"]


@pytest.mark.parametrize("leaves", [False, True])
def test_children_are_counted_also_those_that_leave(machine, leaves):
    """A child's child works on the GPU; with `leaves` its parent is gone, as with a daemon."""
    code = """
first = os.getpid()
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        seen(os.getpid())
        until(lambda: not os.path.exists(f"/proc/{first}"))
        os._exit(0)
    %s
    os._exit(0)
work(6)
""" % ("" if leaves else "os.wait()")
    done = machine.watch(*machine.program(code), options=("--source", "nvml", "--interval", "0.2", "--json"))
    assert done.returncode == 0 and json.loads(done.stderr)["memory_peak_bytes"] == 17000 << 20, done


def test_others_are_not_counted(machine):
    other = subprocess.Popen(["sleep", "60"])
    try:
        done = machine.watch(*machine.program(f"seen({other.pid})\nwork(4)"))
        assert done.returncode == 0 and done.stderr.splitlines() == [done.stderr.splitlines()[0]] and "no GPU use was seen" in done.stderr, done
        whole = machine.watch(*machine.program("work(4)"), options=("--source", "nvml", "--gpu", "0", "--interval", "0.2", "--json"))
        assert json.loads(whole.stderr)["basis"] == "gpu" and json.loads(whole.stderr)["utilization_peak_percent"] == 98, whole
    finally:
        other.kill()
        other.wait()


def test_a_signal_that_ends_the_program_ends_watch(machine):
    done = machine.watch("sh", "-c", "kill -USR1 $$")
    assert done.returncode == -signal.SIGUSR1 and "ran for" in done.stderr, done
    told = json.loads(machine.watch("sh", "-c", "kill -KILL $$", options=("--source", "nvml", "--json")).stderr)
    assert told["signal"] == signal.SIGKILL and told["exit_status"] is None


def test_termination_is_passed_on(machine):
    ready = machine.folder / "ready"
    process = subprocess.Popen([WHIRR, "watch", "--source", "nvml", "--", "sh", "-c", f"trap 'echo got it; exit 5' TERM; touch {ready}; while :; do sleep 0.05; done"],
                               env=machine.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    eventually(ready.exists)
    process.terminate()
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5 and out == "got it\n" and "ran for" in err, (process.returncode, out, err)


def test_the_program_keeps_its_input_and_output(machine):
    done = machine.watch("sh", "-c", "cat; echo to stderr >&2", stdin="typed\n")
    assert done.stdout == "typed\n" and done.stderr.startswith("to stderr\n") and done.returncode == 0, done
    missing = machine.watch("/nonexistent/program")
    assert missing.returncode == 127 and "cannot start" in missing.stderr and "ran for" not in missing.stderr, missing
    assert machine.watch(str(machine.script)).returncode == 126  # not executable


def test_the_program_has_the_terminal(machine):
    """It is in the foreground, ^C reaches it, and watch lives to report."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(WHIRR, [WHIRR, "watch", "--source", "nvml", "--", "sh", "-c", "trap 'echo interrupted; exit 3' INT; test -t 0 && echo on a terminal; while :; do sleep 0.05; done"],
                  machine.environment(TERM="xterm"))
    said = b""
    while b"on a terminal" not in said:
        said += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    try:
        while True:
            said += os.read(terminal, 1024)
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 3 and b"interrupted" in said and b"ran for" in said, said


def test_with_a_daemon(machine):
    starter = Starter(machine.folder)
    try:
        d = starter(source="nvml", WHIRR_NVML_LIBRARY=str(LIBRARY), WHIRR_FAKE_NVML=str(machine.script), WHIRR_FAKE_NVML_SAMPLES=str(machine.folder / "samples"))
        d.wait_sampled()
        done = machine.watch(*machine.program("seen(os.getpid())\nwork(6)"), options=("--interval", "0.2", "--json", "--socket", d.sock),
                             WHIRR_NVML_LIBRARY="libnvidia-ml-not-here.so")
        told = json.loads(done.stderr)
        assert done.returncode == 0 and told["memory_peak_bytes"] == 17000 << 20 and told["limited_by"] == "power", told
    finally:
        starter.stop()


def test_without_a_gpu_the_program_runs_all_the_same(whirr, bare_machine):
    done = whirr("--sysroot", str(bare_machine), "watch", "--", "sh", "-c", "echo fine; exit 4")
    assert done.code == 4 and done.out == "fine\n" and "there is no GPU on this host" in done.err, done.err
    assert whirr("watch").code == 2
    told = json.loads(whirr("--sysroot", str(bare_machine), "watch", "--json", "--", "true").err)
    assert told["used_gpu"] is False and told["gpus"] == [] and told["memory_peak_bytes"] == 0 and told["power_peak_watts"] is None, told
    assert not {"used_gpu", "gpus", "power_peak_watts", "cost"} & told["absent"].keys(), told["absent"]
    lost = whirr("watch", "--gpu", "7", "--source", "sim", "--", "touch", str(pathlib.Path(bare_machine) / "ran"))
    assert lost.code == 2 and not (pathlib.Path(bare_machine) / "ran").exists(), lost.err


def test_what_was_not_seen_is_unknown(whirr):
    """The GPUs could not be sampled at all, or not while a short program ran."""
    for source, why in (("replay:/nonexistent", "failed"), ("sim", "unread")):
        told = json.loads(whirr("--source", source, "watch", "--json", "--", "sh", "-c", "exit 0").err)
        unknown = {key for key, value in told.items() if value is None} & told["absent"].keys()
        assert {"used_gpu", "memory_peak_bytes", "energy_joules", "limited_by", "phases", "limits", "gpus"} <= unknown, told
        assert {told["absent"][key] for key in unknown} == {why} and (told["error"] is None) == (source == "sim"), told


TRACE = """  miner-700  [001] .....  100.000000: drm_sched_job_queue: dev=0000:03:00.0, fence=9:1, ring=gfx_0.0.0, job count:1, hw job count:0, client_id:7
  kworker/u9:2-71  [001] .....  100.000100: drm_sched_job_run: dev=0000:03:00.0, fence=9:1, ring=gfx_0.0.0, job count:0, hw job count:1, client_id:7
  game:cs0-4242  [003] .....  100.001000: drm_sched_job_queue: dev=0000:03:00.0, fence=12:5, ring=gfx_0.0.0, job count:1, hw job count:1, client_id:9
  kworker/u9:2-71  [001] .....  100.001100: drm_sched_job_run: dev=0000:03:00.0, fence=12:5, ring=gfx_0.0.0, job count:0, hw job count:2, client_id:9
  <idle>-0  [001] d.h..  100.021000: drm_sched_job_done: fence=9:1 signaled
  <idle>-0  [001] d.h..  100.023000: drm_sched_job_done: fence=12:5 signaled
"""


def test_who_waits_for_whom_in_the_queues(whirr, bare_machine):
    queues = ("--sysroot", str(bare_machine), "watch", "--queues", "--for", "1s")
    none = whirr(*queues)
    assert none.code == 1 and "no events of gpu_scheduler" in none.err, none.err
    tracing = pathlib.Path(bare_machine) / "sys/kernel/tracing"
    for place in (tracing, tracing / "instances/whirr"):
        (place / "events/gpu_scheduler").mkdir(parents=True)
        (place / "events/gpu_scheduler/enable").write_text("0")
    (tracing / "instances/whirr/trace").write_text(TRACE)
    done = whirr(*queues)
    assert done.code == 0 and done.out == "game:cs0 (4242) waited 20.0 ms for miner (700): 1 jobs on gfx_0.0.0 of 0000:03:00.0\n", done
    told = json.loads(whirr(*queues, "--json").out)
    assert told["jobs"] == 2 and told["waits"][0]["waits_for_thread"] == 700 and told["waits"][0]["waited_seconds"] == 0.02, told
    (tracing / "instances/whirr/trace").write_text("")
    assert whirr(*queues).out == "No job went through drm's GPU scheduler in 1s.\n"
    assert whirr("watch", "--queues", "--", "true").code == 2 and whirr("watch", "--queues", "--for", "2h").code == 2
