#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`whirr check` on a real GPU: tests/gpu/check_check.py build/whirr [RUNS]. Needs a GPU that nothing else uses, and torch; about five minutes.

RUNS (20) checks of 4 s in a row are all healthy, and their spread is printed; 20 s cover at least 90% of the memory; a check that is interrupted ends within
a second and leaves nothing on the GPU; beside a busy program it refuses, and with --force it finds no fault and blames no speed.
"""
import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

WHIRR = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
COVERED_LEAST, STOP_MOST_S, LEFT_MOST_BYTES = 0.9, 1.0, 64 << 20
WORK = """
import torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
print("ready", flush=True)
while True:
    for _ in range(50): a @ a
    torch.cuda.synchronize()
"""
failed = []


def promise(holds, text):
    print(("ok    " if holds else "FAIL  ") + text, flush=True)
    if not holds:
        failed.append(text)


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def memory():
    nvml, handle, ret = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), Memory()
    assert nvml.nvmlInit_v2() == 0
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0
    assert nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(ret)) == 0
    return ret


def check(env, *args):
    done = subprocess.run([WHIRR, "check", "--gpu", "0", "--json", *args], env=env, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr.strip()


def run_of(answer):
    return answer["checks"][0]


def spread(runs):
    """Of each value: its median, and standard deviation and range in percent of it."""
    names = [v["value"] for v in runs[0]["values"]]
    for name in names:
        seen = [v["measured"] for run in runs for v in run["values"] if v["value"] == name and v["measured"] is not None]
        median = statistics.median(seen)
        if len(seen) > 1 and median:
            print(f"      {name:14} median {median:12.4g}  sd {statistics.stdev(seen) / median * 100:5.2f}%  range {(max(seen) - min(seen)) / median * 100:5.2f}%"
                  f"  n {len(seen)}", flush=True)


def in_a_row(env):
    runs, verdicts = [], {}
    for _ in range(RUNS):
        code, answer, error = check(env, "--for", "4s")
        verdict = answer.get("verdict", error)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        if verdict != "healthy" or code:
            print(f"      exit {code}: {json.dumps(answer)[:900]} {error}", flush=True)
        if answer.get("checks"):
            runs.append(run_of(answer))
    promise(verdicts == {"healthy": RUNS}, f"{RUNS} checks of 4 s in a row: {verdicts}")
    if runs:
        spread(runs)


def coverage(env):
    code, answer, error = check(env)
    run, total = run_of(answer), memory().total
    share = run["memory_covered_bytes"] / total
    promise(code == 0 and share >= COVERED_LEAST, f"20 s: exit {code}, {run['memory_covered_bytes'] / 2**30:.1f} of {total / 2**30:.1f} GiB ({share:.1%}) {error}")
    for test in run["tests"]:
        print("      " + json.dumps(test), flush=True)
    for value in run["values"]:
        print("      " + json.dumps(value), flush=True)


def stops(env):
    idle, slowest, left = memory().used, 0, 0
    for after in (0.7, 2, 4, 7, 11):
        child = subprocess.Popen([WHIRR, "check", "--gpu", "0"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(after)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        child.wait(30)
        slowest = max(slowest, time.monotonic() - begin)
        left = max(left, memory().used - idle)
    promise(slowest <= STOP_MOST_S and left <= LEFT_MOST_BYTES, f"5 checks interrupted: ended within {slowest:.3f} s, {left / 2**20:.0f} MiB left on the GPU")


def beside(env):
    work = subprocess.Popen([sys.executable, "-c", WORK], stdout=subprocess.PIPE, text=True)
    work.stdout.readline()
    time.sleep(2)
    code, answer, error = check(env, "--for", "4s")
    promise(code == 3, f"beside a busy program: exit {code}, {answer.get('verdict', error)}: {error or json.dumps(answer)[:300]}")
    verdicts = {}
    for _ in range(3):
        code, answer, error = check(env, "--for", "6s", "--force")
        verdict = answer.get("verdict", error)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        run = run_of(answer) if answer.get("checks") else {"tests": [], "values": []}
        wrong = sum(t["wrong"] or 0 for t in run["tests"])
        judged = [v["value"] for v in run["values"] if v.get("low")]
        print(f"      exit {code}: wrong {wrong}, values judged {judged}, {json.dumps(answer)[:400]}", flush=True)
    work.kill()
    work.wait()
    promise(not set(verdicts) & {"failing", "degraded"}, f"beside it with --force: {verdicts}")


with tempfile.TemporaryDirectory() as folder:
    env = {**os.environ, **{name: folder for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")}}
    in_a_row(env)
    coverage(env)
    stops(env)
    beside(env)
sys.exit(1 if failed else 0)
