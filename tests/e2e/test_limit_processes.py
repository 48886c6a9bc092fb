# SPDX-License-Identifier: Apache-2.0
"""Real processes on a (fake) GPU that wait or compute in one known way: what whirr says limits each."""
import contextlib
import os
import socket
import subprocess
import threading

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
# What it does, what limits it, what is said of it; "|" of a busy machine.
CASES = {
    "one thread that computes": ("while True: pass", {"host_cpu"}, "while the GPU waits|waits for a free CPU core"),
    "loaders that compute": (NAMED + "start(b'pt_data_worker'); start(b'pt_data_worker'); os.read(os.pipe()[0], 1)", {"loaders"},
                             "waits for its 2 loader processes"),
    "a child that is no loader": (NAMED + "start(b'simulator'); os.read(os.pipe()[0], 1)", {"peer"}, "its child process simulator is busy"),
    "a compiler that it started": (NAMED + "start(b'ptxas'); os.wait()", {"compile"}, "compiles kernels (ptxas)"),
    "sleep on purpose": ("import select; select.select([], [], [], 1000)", {"none"}, "sleeps between its steps"),
    "a pipe that stays empty": ("import os; os.read(os.pipe()[0], 1)", {"peer"}, "over a pipe or socket"),
    "a service that does not answer": ("import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)", {"peer"},
                                       "waits for 127.0.0.1:{port} (python3, PID {own})"),
}
# Said of none of them, because nothing shows it.
CLAIMS = ("prepares its data", "does nothing", "compiles kernels", "loader process")


@contextlib.contextmanager
def on_gpu(code, port):
    with subprocess.Popen(["/usr/bin/python3", "-c", code, str(port)]) as process:
        try:
            yield process.pid, f"gpu NVIDIA H200\n  profile h200\n  gpu_util 6\n  process {process.pid} compute 17000 6 1\n"
        finally:
            process.kill()


@linux_only("what a process waits for is not known")
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_process_is_limited_by_what_it_does(nvml, case):
    code, expected, says = CASES[case]
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as service:
        port, clients = service.getsockname()[1], []

        def answer():
            with contextlib.suppress(OSError):  # only one of the cases calls it
                clients.append(service.accept())

        threading.Thread(target=answer, daemon=True).start()
        with on_gpu(code, port) as (pid, script):

            def judged():
                process = nvml(script, "why", str(pid), "--json").json()["processes"][0]
                seen[:] = process["limit"]["code"], process["answer"], process["host"]
                said = any(part in process["answer"].replace("pytest", "python3") for part in says.format(port=port, own=os.getpid()).split("|"))
                return process["limit"]["code"] in expected and said and process

            process = eventually(judged, explain=lambda: seen)
    limit = process["limit"]
    assert limit["over_seconds"] >= 0 and 0 < limit["confidence"] <= 1
    assert not [claim for claim in CLAIMS if claim in process["answer"] and claim not in says]
