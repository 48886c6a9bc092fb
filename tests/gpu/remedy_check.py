#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an idle CUDA context costs, with and without CUDA_DISABLE_PERF_BOOST: `whirr` beside the energy counter of the GPU.

    python3 tests/gpu/remedy_check.py build/whirr [GPU]

Needs a GPU that nothing else uses, nvidia-smi, and torch. Changes no setting of the GPU. Takes less than five minutes. Prints one
line for each state and one JSON object at the end; exit status 1 where whirr and the counter are more than 10% apart."""
import ctypes
import json
import os
import subprocess
import sys
import time

WHIRR = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/whirr")
GPU = sys.argv[2] if len(sys.argv) > 2 else "0"
SETTLE, MEASURE = 12, 45
NVML = ctypes.CDLL("libnvidia-ml.so.1")
assert NVML.nvmlInit_v2() == 0

HOLD = "import torch, sys\ntorch.cuda.init(); x = torch.zeros(1, device='cuda'); torch.cuda.synchronize()\nprint('ready', flush=True)\nsys.stdin.read()"


def gpu():
    answer = json.loads(subprocess.run([WHIRR, "--direct", "status", "--json"], capture_output=True, text=True, check=True).stdout)
    return next(g for g in answer["gpus"] if str(g["index"]) == GPU)


def energy():
    """Joules since the driver was loaded, by NVML itself."""
    handle, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
    assert NVML.nvmlDeviceGetHandleByIndex_v2(int(GPU), ctypes.byref(handle)) == 0
    assert NVML.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules)) == 0
    return millijoules.value / 1000


def measure(name):
    """Mean watts by the counter, and by the readings that whirr shows."""
    time.sleep(SETTLE)
    first, begin = energy(), time.monotonic()
    powers = []
    while time.monotonic() - begin < MEASURE:
        time.sleep(1)
        now = gpu()
        powers.append(now["power_watts"])
    last, end = energy(), time.monotonic()
    result = {"state": name, "counter_watts": round((last - first) / (end - begin), 2), "whirr_watts": round(sum(powers) / len(powers), 2),
              "clock_mhz": now["clock_graphics_mhz"], "throttle": now["throttle_reasons"]}
    print(f"{name:28} counter {result['counter_watts']:7.2f} W   whirr {result['whirr_watts']:7.2f} W   {result['clock_mhz']} MHz", flush=True)
    return result


class Program:
    def __init__(self, code, **env):
        self.child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})

    def __enter__(self):
        assert self.child.stdout.readline().strip() == "ready"
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.terminate()
        self.child.wait(30)


def why():
    return json.loads(subprocess.run([WHIRR, "--direct", "why", "--json", "--gpu", GPU], capture_output=True, text=True, check=True).stdout)


results = [measure("no process")]
with Program(HOLD):
    results.append(measure("idle context"))
    answers = {"boost": why()}
with Program(HOLD, CUDA_DISABLE_PERF_BOOST="1"):
    results.append(measure("idle context, no boost"))
    answers["no boost"] = why()

alone, held, parked = (r["counter_watts"] for r in results)
said = results[1]["whirr_watts"] - results[0]["whirr_watts"]
step = held - alone
summary = {"gpu": gpu()["name"], "states": results, "parked_watts": {"counter": round(step, 2), "whirr": round(said, 2)},
           "no_boost_watts": {"counter": round(parked - alone, 2), "whirr": round(results[2]["whirr_watts"] - results[0]["whirr_watts"], 2)},
           "why": {name: [{"answer": g["answer"], "remedies": g.get("remedies"), "suggestions": g["suggestions"]} for g in a["gpus"]] for name, a in answers.items()}}
print(json.dumps(summary, indent=1))
sys.exit(0 if abs(said - step) <= 0.1 * max(abs(step), 5) else 1)
