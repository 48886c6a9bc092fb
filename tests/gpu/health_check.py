#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Health on a real NVIDIA GPU: tests/gpu/health_check.py build/whirr

1. Before: one look judges the card, and says where it read the kernel log.
2. A program of ours writes to address 0 of the card: the driver ends it and reports an XID (31 or 13). That harms nobody else and needs no
   reset. The daemon must show it within a few seconds as a note, with the card still healthy.
3. After a restart of the daemon it must still be known.
4. Where the kernel log may be read, a single look without the daemon must find it there, too.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

PTX = b""".version 6.0
.target sm_50
.address_size 64
.visible .entry fall() { .reg .b64 %a; mov.b64 %a, 0; st.global.u32 [%a], 1; ret; }
\0"""


def provoke():
    """In a process of its own: its context is lost."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    for call in (lambda: cuda.cuInit(0), lambda: cuda.cuDeviceGet(ctypes.byref(device), 0),
                 lambda: cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device), lambda: cuda.cuModuleLoadData(ctypes.byref(module), PTX),
                 lambda: cuda.cuModuleGetFunction(ctypes.byref(function), module, b"fall"),
                 lambda: cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)):
        result = call()
        if result:
            sys.exit(f"CUDA error {result}")
    print("the kernel ended with CUDA error", cuda.cuCtxSynchronize())


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


class Daemon:
    def __init__(self, whirr, folder):
        self.whirr = whirr
        self.env = {**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder, "WHIRR_SERVER_SOCKET": f"{folder}/whirr.sock"}
        self.process = subprocess.Popen([whirr, "serve", "--listen", "none", "--store", "none", "--interval", "0.5"], env=self.env)

    def health(self):
        done = subprocess.run([self.whirr, "health", "--json"], env=self.env, capture_output=True, text=True)
        body = json.loads(done.stdout) if done.returncode == 0 else {"remembered": False, "gpus": []}
        return body if body["remembered"] and body["gpus"] else None

    def until(self, look, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            body = self.health()
            if body and look(body):
                return body
            time.sleep(0.2)
        fail(f"did not come within {seconds} s: {json.dumps(self.health(), indent=1)}")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def xids(body):
    return [f["xid"] for gpu in body["gpus"] for f in gpu["findings"] if f["xid"]]


def main():
    if sys.argv[1:] == ["--provoke"]:
        return provoke()
    whirr = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/whirr")
    look = json.loads(subprocess.run([whirr, "--direct", "health", "--json"], capture_output=True, text=True, check=True).stdout)
    print("one look:", look["state"], "| kernel log:", look["kernel_log"]["state"], "|", [g["reason"] for g in look["gpus"]])
    print(subprocess.run([whirr, "--direct", "health", "--nagios"], capture_output=True, text=True).stdout.strip())
    with tempfile.TemporaryDirectory() as folder:
        d = Daemon(whirr, folder)
        before = xids(d.until(lambda body: True))
        print("known before:", before)
        subprocess.run([sys.executable, __file__, "--provoke"], check=True)
        body = d.until(lambda b: any(x in (13, 31) for x in xids(b)))
        print("seen:", [(g["state"], g["reason"]) for g in body["gpus"]])
        d.stop()
        d = Daemon(whirr, folder)
        d.until(lambda b: any(x in (13, 31) for x in xids(b)))
        d.stop()
    if look["kernel_log"]["state"] == "read":
        after = json.loads(subprocess.run([whirr, "--direct", "health", "--json"], capture_output=True, text=True, check=True).stdout)
        if not any(x in (13, 31) for x in xids(after)):
            fail("the kernel log can be read, but a single look does not find the XID there")
        print("found in the kernel log, too")
    else:
        print("kernel log:", look["kernel_log"]["message"])
    print("fine")


main()
