# SPDX-License-Identifier: Apache-2.0
"""GET /api/why/cpu: where a program on a GPU spends its CPU time, sampled by the daemon."""
import contextlib
import signal
import subprocess

import pytest
from waiting import eventually


@contextlib.contextmanager
def busy_python():
    with subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"]) as process:
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGKILL)


def on_gpu(*pids):
    return "gpu NVIDIA H200\n  profile h200\n  gpu_util 6\n" + "".join(f"  process {pid} compute 17000 6 1\n" for pid in pids)


def test_a_loop_in_python_is_named(nvml):
    with busy_python() as pid:
        d = nvml(on_gpu(pid))

        def sampled():
            body = d.get(f"/api/why/cpu?pid={pid}").json()
            if body["state"] == "denied":
                pytest.skip("perf_event_open is not permitted here")
            return body if body["share_percent"]["python"] > 60 else None

        body = eventually(sampled)
        assert body["pid"] == pid and body["state"] == "ok" and body["samples"] > 5 and body["threads"] == 1 and 0.9 < body["over_seconds"] < 10
        assert "of its CPU time is Python code" in body["words"] and body["objects"][0]["name"].startswith(("python", "libpython"))


def test_only_programs_on_a_gpu_are_sampled(nvml):
    with busy_python() as pid:
        d = nvml(on_gpu())
        assert d.get(f"/api/why/cpu?pid={pid}").status == 404
        for wrong in ("", "?pid=", "?pid=0", "?pid=-1", "?pid=x", "?pid=99999999999"):
            assert d.get("/api/why/cpu" + wrong).status == 400, wrong


def test_a_simulated_program_is_not_looked_for_on_this_machine(start):
    d = start()
    pid = d.get("/api/processes").json()["processes"][0]["pid"]
    assert d.get(f"/api/why/cpu?pid={pid}").status == 404
