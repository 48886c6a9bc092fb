#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_pcie_rx_bytes_total counts what really went to the GPU: known amounts are copied to it, by torch. Needs Hopper or later.

    tests/gpu/traffic_check.py build/whirr [SOURCE]      SOURCE: "sim:..." tries the script itself, without copying

Also says how wide the driver's own counters are (fields 197 and 198): from 32 bits whirr makes no total.
"""
import ctypes
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

WHIRR, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "auto"
GIB, BLOCKS, PATIENCE_S = 2**30, 64, 60
COPY = f"""
import torch
block = torch.empty({GIB}, dtype=torch.uint8).pin_memory()
there = torch.empty({GIB}, dtype=torch.uint8, device="cuda")
for _ in range({BLOCKS}):
    there.copy_(block)
torch.cuda.synchronize()
"""


class Field(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong), ("latency", ctypes.c_longlong), ("type", ctypes.c_int),
                ("result", ctypes.c_int), ("value", ctypes.c_ulonglong)]


def say_width():
    nvml, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
    assert nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
    fields = (Field * 2)(Field(field=197), Field(field=198))
    assert nvml.nvmlDeviceGetFieldValues(device, 2, fields) == 0
    kinds = {0: "double", 1: "32 bits", 2: "long", 3: "64 bits", 4: "signed 64 bits"}
    for f in fields:
        print(f"field {f.field}: " + (f"{kinds.get(f.type, f.type)}, {f.value}" if f.result == 0 else f"NVML says {f.result}"))


def totals(url):
    text = urllib.request.urlopen(url + "/metrics", timeout=10).read().decode()
    return [float(re.search(rf'^gpu_pcie_{way}_bytes_total{{gpu="0".*}} (\S+)$', text, re.MULTILINE)[1]) for way in ("rx", "tx")]


def wait_for(condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            if condition():
                return True
        except (OSError, TypeError):
            pass  # not there yet
        time.sleep(0.5)
    return False


def main():
    if SOURCE == "auto":
        say_width()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        env = dict(os.environ, HOME=folder, XDG_STATE_HOME=folder, XDG_RUNTIME_DIR=folder, XDG_CONFIG_HOME=folder)
        daemon = subprocess.Popen([WHIRR, "serve", "--listen", f"127.0.0.1:{port}", "--source", SOURCE, "--interval", "1"], env=env)
        url = f"http://127.0.0.1:{port}"
        try:
            if not wait_for(lambda: totals(url)):
                sys.exit("FAIL: no gpu_pcie_rx_bytes_total")
            before = totals(url)[0]
            if SOURCE == "auto":
                subprocess.run([sys.executable, "-c", COPY], check=True)
            wanted = BLOCKS * GIB if SOURCE == "auto" else 1
            if not wait_for(lambda: totals(url)[0] - before >= 0.98 * wanted):
                sys.exit(f"FAIL: {totals(url)[0] - before:.0f} bytes were counted of {wanted}")
            counted = totals(url)[0] - before
            print(f"{wanted / GIB:.1f} GiB copied, {counted / GIB:.2f} GiB counted")
            if SOURCE == "auto" and counted > 1.25 * wanted:
                sys.exit("FAIL: that is more than packets add")
        finally:
            daemon.terminate()
            daemon.wait(20)
    print("PASS")


main()
