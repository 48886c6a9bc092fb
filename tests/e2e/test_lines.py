# SPDX-License-Identifier: Apache-2.0
"""In which lines a Python program spends its time, read from outside: programs whose slow line is known (tests/frames/programs, marked
`# here: FUNCTION`), under every interpreter that is found, and programs that can't be looked into."""
import concurrent.futures
import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from isolation import ROOT, WHIRR, environment
from waiting import PATIENCE, eventually

PROGRAMS = sorted((ROOT / "tests" / "frames" / "programs").glob("*.py"))
DEBIAN = "/usr/bin/python3"
# All programs under all of them take minutes; usually each of the others gets some.
EVERY_PYTHON = bool(os.environ.get("WHIRR_EVERY_PYTHON"))
SOME = 4


def version_of(python):
    return tuple(map(int, re.search(r"3\.(\d+)\.\d+", os.path.realpath(python)).group(0).split(".")[:2]))


def other_pythons():
    found = {}
    for python in glob.glob("/root/.pyenv/versions/3.*/bin/python3") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")) + glob.glob("/usr/local/bin/python3.[0-9]*"):
        if os.access(python, os.X_OK) and re.search(r"3\.(\d+)\.\d+", python) and version_of(python) >= (3, 8):
            found[os.path.realpath(python)] = python
    return sorted(found.values())


@contextlib.contextmanager
def running(*command, wait="ready", **more):
    """Ends with its children."""
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, **more) as process:
        try:
            while wait and wait not in (line := process.stdout.readline()):
                assert line, f"{command} ended"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def watch(pid, *options, during="500ms", **more):
    return subprocess.run([WHIRR, "watch", "--pid", str(pid), "--for", during, *options], env=environment(), capture_output=True, text=True, timeout=PATIENCE, **more)


def lines_of(pid, during="500ms"):
    done = watch(pid, "--json", during=during)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def marks_of(program):
    return {number: mark.group(1) for number, line in enumerate(program.read_text().splitlines(), 1) if (mark := re.search("# here: (\\w+)", line))}


def judge(python, program):
    """Whether the line and the function that come first are those that are marked. One that is not there yet, or that was hardly seen on a busy
    machine, is looked at longer."""
    marks, told = marks_of(program), None
    with running(python, program) as process:
        for during in ("400ms", "1s", "3s", "6s"):
            told = lines_of(process.pid, during)
            first = (told["lines"] or [{"file": "", "line": 0, "function": ""}])[0]
            line = first["file"] == str(program) and first["line"] in marks
            function = first["function"].split(".")[-1] in marks.values()
            if line and function:
                break
    return line, function, f"{program.name}: {[p['text'] for p in told['lines']]}"


def score(pairs):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        judged = list(pool.map(lambda pair: judge(*pair), pairs))
    return sum(line for line, _, _ in judged), sum(function for _, function, _ in judged), [text for line, function, text in judged if not (line and function)]


@pytest.mark.slow
def test_the_slow_line_of_a_program_comes_first():
    lines, functions, wrong = score([(DEBIAN, program) for program in PROGRAMS])
    assert len(PROGRAMS) >= 30 and lines >= len(PROGRAMS) - 3 and functions >= len(PROGRAMS) - 1, wrong


@pytest.mark.slow
def test_other_interpreters_are_read_as_well():
    pythons = other_pythons()
    if not pythons:
        pytest.skip("there is no other Python here")
    pairs = [(python, program) for n, python in enumerate(pythons) for m, program in enumerate(PROGRAMS) if EVERY_PYTHON or m % len(pythons) == n][: None if EVERY_PYTHON else SOME * len(pythons)]
    lines, functions, wrong = score(pairs)
    assert lines >= len(pairs) - max(1, len(pairs) // 10) and functions >= len(pairs) - max(1, len(pairs) // 12), wrong


def test_a_program_that_is_run_tells_its_lines_at_its_end(tmp_path):
    program = tmp_path / "train.py"
    program.write_text("import time\n\ndef work(until):\n    n = 0\n    while time.monotonic() < until:\n        for i in range(10000):\n            n += i\n\nwork(time.monotonic() + 1)\n")
    folded = tmp_path / "stacks"
    done = subprocess.run([WHIRR, "--source", "sim:gpus=1", "watch", "--lines", "--folded", folded, "--", DEBIAN, program], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and re.search(r"  Where +work\(\) in train\.py:[5-7](-7)?, \d+% of that thread's time \(called from train\.py:9\)", done.stderr.replace("\n" + " " * 15, " ")), done.stderr
    assert re.search(r"^ +\d+%  <module>  train.py:9\n +\d+%   work  train.py:[567]$", done.stderr, re.MULTILINE), done.stderr
    assert re.search(r"^\S+ \(process \d+\);<module> \(train.py:9\);work \(train.py:[567]\) \d+$", folded.read_text(), re.MULTILINE), folded.read_text()
    done = subprocess.run([WHIRR, "--source", "sim:gpus=1", "watch", "--json", "--", DEBIAN, program], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    told = json.loads(done.stderr)
    first = told["lines"][0]
    assert first["function"] == "work" and first["file"] == str(program) and first["state"] == "computes" and first["thread"] == "main" and first["share_percent"] > 50, told
    assert told["lines_of"] == "main_thread" and told["looks"] > 3 and told["lines_missing"] is None


def test_a_program_without_lines_says_why(tmp_path):
    told = json.loads(subprocess.run([WHIRR, "--source", "sim:gpus=1", "watch", "--json", "--", "sleep", "0.6"], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE).stderr)
    assert told["lines"] == [] and told["lines_missing"] == "it is not a CPython program", told


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_a_program_that_is_not_python_names_its_functions(tmp_path):
    (tmp_path / "slow.c").write_text("static volatile double x;\n__attribute__((noinline)) void dequantize_row(void) { for (int i = 0; i < 1000000; i++) x += i; }\n"
                                     "int main(void) { for (;;) dequantize_row(); }\n")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "slow", tmp_path / "slow.c"], check=True, timeout=PATIENCE)
    with running(tmp_path / "slow", wait="") as process:
        done = watch(process.pid, "--json")
        if "can't be sampled" in done.stderr:
            pytest.skip("perf_event_open is not permitted here")
        told = json.loads(done.stdout)
        functions = told["cpu"]["functions"]
        assert told["lines"] == [] and told["lines_missing"] == "it is not a CPython program"
        assert (functions[0]["name"], functions[0]["object"]) == ("dequantize_row", "slow") and functions[0]["percent"] > 50
        assert "dequantize_row() in slow" in " ".join(watch(process.pid).stdout.split())


def test_what_cannot_be_looked_into_is_told_with_its_reason():
    with running("sleep", "60", wait="") as process:
        eventually(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith(("sleep", "coreutils", "busybox")))
        done = watch(process.pid, "--lines")
        assert done.returncode == 1 and done.stderr == f"whirr: can't read the lines of process {process.pid}: it is not a CPython program\n", done
        done = watch(process.pid)
        assert "it used no CPU time" in done.stdout or "can't be sampled" in done.stderr, done
    done = watch(process.pid)
    assert done.returncode == 1 and done.stderr.endswith(": there is no such process\n"), done


@pytest.mark.parametrize("options, said", [(["--pid", "x"], "expected the number of a process"), (["--pid", "0"], "expected the number"), (["--pid", "1", "--for", "soon"], "expected a duration"),
                                           (["--pid", "1", "--for", "0"], "expected a duration"), (["--pid", "1", "--", "true"], "can't be combined"), ([], "missing COMMAND"), (["--for", "1s", "--", "true"], "goes with --pid")])
def test_wrong_usage(options, said):
    done = subprocess.run([WHIRR, "watch", *options], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and said in done.stderr, done


@pytest.mark.skipif(not (os.geteuid() == 0 and shutil.which("setpriv")), reason="needs root and setpriv")
def test_another_users_program_is_refused():
    with running(DEBIAN, PROGRAMS[0]) as process:
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", WHIRR, "watch", "--pid", str(process.pid)], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
        if "Permission denied" in done.stderr and "whirr:" not in done.stderr:
            pytest.skip("another user can't run the program from here")
        assert done.returncode == 1 and done.stderr.endswith(": it is another user's program; use sudo\n"), done


@pytest.mark.skipif(not (os.geteuid() == 0 and shutil.which("unshare")), reason="needs root and unshare")
def test_a_program_in_a_pid_namespace_of_its_own():
    program = ROOT / "tests" / "frames" / "programs" / "slow_producer.py"
    with running("unshare", "--pid", "--fork", "--kill-child", DEBIAN, program) as process:
        eventually(lambda: (first := lines_of(process.pid)["lines"][0])["function"] == "collate" and first["line"] in marks_of(program))


def test_a_program_that_is_stopped_or_executes_another(tmp_path):
    with running(DEBIAN, ROOT / "tests" / "frames" / "programs" / "slow_transform.py") as process:
        eventually(lambda: lines_of(process.pid, "200ms")["lines"][0]["function"] == "augment")
        process.send_signal(signal.SIGSTOP)
        eventually(lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T")
        assert lines_of(process.pid)["lines"][0]["state"] == "stopped"
    again = tmp_path / "again.py"
    again.write_text("import os, sys\nprint('ready', flush=True)\nfor i in range(200000): pass\nos.execv(sys.executable, [sys.executable, __file__])\n")
    with running(DEBIAN, again) as process:
        told = lines_of(process.pid, "1500ms")
        assert all(p["file"] == str(again) or "/python3" in p["file"] or p["file"].startswith("<") for p in told["lines"]), told


def test_children_that_come_and_go(tmp_path):
    """None is seen at a line that it does not have."""
    forks = tmp_path / "forks.py"
    forks.write_text("import os\nprint('ready', flush=True)\ndef child():\n    for i in range(300000): pass\n    os._exit(0)\nwhile True:\n    if os.fork() == 0:\n        child()\n    os.wait()\n")
    with running(DEBIAN, forks) as process:
        told = lines_of(process.pid, "1s")
        assert told["lines"] and all(p["file"] == str(forks) and 1 <= p["line"] <= 9 for p in told["lines"]), told
