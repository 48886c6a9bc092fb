# SPDX-License-Identifier: Apache-2.0
"""Real processes on a (fake) GPU that wait or compute in one known way: what whirr says limits each."""
import contextlib
import subprocess
import sys

import pytest
from isolation import linux_only
from waiting import eventually

# A process that is called so computes: the name is what the kernel lists.
NAMED = """
import ctypes, os, signal
def start(name):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        ctypes.CDLL(None).prctl(15, name)
        while True: pass
"""
CASES = {
    "one thread that computes": ("while True: pass", {"host_cpu"}),
    "loaders that compute": (NAMED + "start(b'pt_data_worker'); start(b'pt_data_worker'); os.read(os.pipe()[0], 1)", {"loaders"}),
    "a compiler that it started": (NAMED + "start(b'ptxas'); os.wait()", {"compile"}),
    "sleep on purpose": ("import select; select.select([], [], [], 1000)", {"none"}),
    "a pipe that stays empty": ("import os; os.read(os.pipe()[0], 1)", {"none"}),
}


@contextlib.contextmanager
def on_gpu(code):
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            yield process.pid, f"gpu NVIDIA H200\n  profile h200\n  gpu_util 6\n  process {process.pid} compute 17000 6 1\n"
        finally:
            process.kill()


@linux_only("what a process waits for is not known")
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_process_is_limited_by_what_it_does(nvml, case):
    code, expected = CASES[case]
    seen = []
    with on_gpu(code) as (pid, script):

        def judged():
            limit = nvml(script, "why", str(pid), "--json").json()["processes"][0]["limit"]
            seen.append(limit["code"])
            return limit["code"] in expected and limit

        limit = eventually(judged, explain=lambda: seen)
        assert limit["over_seconds"] >= 0 and 0 < limit["confidence"] <= 1
