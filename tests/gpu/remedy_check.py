#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an idle CUDA context costs: `parked_watts` of a daemon beside the energy counter of the GPU.

    tests/gpu/remedy_check.py build/whirr

Needs a GPU that nothing else uses, and torch. Changes no setting of the GPU. About seven minutes. A context that comes and goes once teaches the daemon its step;
then programs hold a context with and without CUDA_DISABLE_PERF_BOOST, alone and beside a program at work. What whirr says that it costs must be what the counter
says: the difference to the same state without that program, within 10% (and 3 W, which is what the same state differs by). Exit status 1 otherwise."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

WHIRR = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/whirr")
SETTLE_S, MEASURE_S, LEARN_S = 15, 45, 20
WITHIN, NOISE_W = 0.1, 3.0
HOLD = "import torch, sys\nx = torch.zeros(1, device='cuda'); torch.cuda.synchronize()\nprint('ready', flush=True)\nsys.stdin.read()"
WORK = """import torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
print("ready", flush=True)
while True:
    for _ in range(50): a @ a
    torch.cuda.synchronize()"""
NVML = ctypes.CDLL("libnvidia-ml.so.1")
assert NVML.nvmlInit_v2() == 0


def energy():
    """Joules since the driver was loaded, by NVML itself."""
    handle, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
    assert NVML.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0
    assert NVML.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules)) == 0
    return millijoules.value / 1000


class Program:
    def __init__(self, code, **env):
        self.child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})

    def __enter__(self):
        assert self.child.stdout.readline().strip() == "ready"
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait(30)


class Daemon:
    def __init__(self, folder):
        self.env = {**os.environ, **{name: folder for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")}, "WHIRR_SYSTEM_ROOT": folder}
        self.child = subprocess.Popen([WHIRR, "serve", "--listen", "127.0.0.1:19447", "--interval", "1", "--store", f"sqlite:{folder}/history.db"], env=self.env,
                                      stderr=open(f"{folder}/log", "w"))
        self.folder = folder

    def ask(self, path):
        return json.load(urllib.request.urlopen(f"http://127.0.0.1:19447{path}", timeout=10))

    def programs(self):
        return {p["pid"]: p for g in self.ask("/api/gpu/metrics")["gpus"] for p in g["processes"]}

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(30)


def measure(daemon, name, program=None):
    """Mean watts by the counter, and what whirr says that this program's context costs."""
    time.sleep(SETTLE_S)
    first, begin, parked = energy(), time.monotonic(), []
    while time.monotonic() - begin < MEASURE_S:
        time.sleep(1)
        p = daemon.programs().get(program.child.pid) if program else None
        if p:
            parked.append(p.get("parked_watts"))
    watts = (energy() - first) / (time.monotonic() - begin)
    said = sum(parked) / len(parked) if parked and None not in parked else None
    print(f"      {name:44} {watts:7.2f} W by the counter" + (f"   parked {said if said is None else round(said, 2)} W" if program else ""), flush=True)
    return watts, said


def promise(name, base, found):
    truth, said = found[0] - base[0], found[1]
    holds = said is not None and abs(said - truth) <= max(NOISE_W, WITHIN * abs(truth))
    print(f"{'ok   ' if holds else 'FAIL '} {name}: whirr {'not known' if said is None else f'{said:.2f} W'}, counter {truth:.2f} W", flush=True)
    return holds


def main():
    holds = []
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(folder)
        try:
            alone = measure(daemon, "no program")
            with Program(HOLD) as p:
                time.sleep(LEARN_S)
                early = daemon.programs()[p.child.pid].get("parked_watts")
            print(f"      known while the first context is open: {early}", flush=True)
            time.sleep(LEARN_S)
            print("      steps: " + json.dumps([[e["what"], e["before"]["power_watts"], e["after"]["power_watts"]] for e in daemon.ask("/api/remedies")["effects"]]), flush=True)
            with Program(HOLD) as p:
                holds.append(promise("an idle context", alone, measure(daemon, "an idle context", p)))
            with Program(HOLD, CUDA_DISABLE_PERF_BOOST="1") as p:
                holds.append(promise("the same with CUDA_DISABLE_PERF_BOOST", alone, measure(daemon, "with CUDA_DISABLE_PERF_BOOST", p)))
            with Program(WORK):
                work = measure(daemon, "a program at work")
                with Program(HOLD) as p:
                    holds.append(promise("an idle context beside work", work, measure(daemon, "an idle context beside it", p)))
        finally:
            daemon.end()
        answer = json.loads(subprocess.run([WHIRR, "report", "--store", f"sqlite:{folder}/history.db", "--since", "-1h", "--json"], env=daemon.env, capture_output=True,
                                           text=True, check=True).stdout)
        print("      report: " + json.dumps({k: answer["totals"][k] for k in ("energy_kwh", "parked_kwh", "attributed_joules", "counter_joules")}), flush=True)
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
