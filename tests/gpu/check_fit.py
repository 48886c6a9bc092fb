#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Is `whirr fit` right on this machine's NVIDIA GPUs? Needs a driver, nvidia-smi and the CUDA driver library; nothing else.

    tests/gpu/check_fit.py [build/whirr]

1. What is available is what nvidia-smi calls free. 2. A process's context takes no more than the overhead that models are counted
with. 3. What fits can be allocated, and what does not fit cannot. 4. --env selects exactly the GPU that was chosen.
"""
import ctypes
import json
import os
import subprocess
import sys

WHIRR = sys.argv[1] if len(sys.argv) > 1 else "build/whirr"
MIB = 1 << 20
HERE = os.path.abspath(__file__)
failed = 0


def report(what, ok, detail):
    global failed
    failed += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {what}: {detail}")


def fit(*args):
    done = subprocess.run([WHIRR, "fit", *map(str, args), "--direct", "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


def smi(fields):
    text = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True).stdout
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]


def child():
    """In a process of its own: makes a context, says what that cost and which GPU it is, and tries allocations as asked."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, device, total, before = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t()
    count, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()

    def call(name, *args):
        rc = getattr(cuda, name)(*args)
        if rc:
            raise OSError(f"{name}: error {rc}")

    call("cuInit", 0)
    call("cuDeviceGetCount", ctypes.byref(count))
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDeviceGetUuid", ctypes.byref(uuid), device)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    call("cuMemGetInfo_v2", ctypes.byref(before), ctypes.byref(total))
    raw = bytes(uuid).hex()
    print(json.dumps({"count": count.value, "free": before.value,
                      "uuid": f"GPU-{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"}), flush=True)
    for line in sys.stdin:
        pointer = ctypes.c_uint64()
        rc = cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(line)))
        print(rc, flush=True)
        if rc == 0:
            cuda.cuMemFree_v2(pointer)


def main():
    capacity = {g["uuid"]: g for g in fit()["gpus"]}
    for uuid, free in smi("uuid,memory.free"):
        report(f"{uuid[:12]} available", uuid in capacity and abs(capacity[uuid]["memory_free_mb"] - float(free)) <= 16,
               f"{capacity.get(uuid, {}).get('memory_free_mb')} MiB, nvidia-smi {free} MiB")
    answer = fit("1GiB")
    if not answer["fits"]:
        print("no GPU has 1 GiB free: the rest is left out")
        return
    env = answer["placements"][0]["env"]
    index = answer["gpus"][0]
    free_before = fit("--gpu", index)["gpus"][0]["memory_free_mb"]
    process = subprocess.Popen([sys.executable, HERE, "--child"], env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    told = json.loads(process.stdout.readline())
    report("--env selects one GPU", told["count"] == 1, told["count"])
    report("--env selects the chosen one", told["uuid"] == answer["placements"][0]["gpus"][0]["uuid"], told["uuid"])
    context_mb = free_before - fit("--gpu", index)["gpus"][0]["memory_free_mb"]
    report("a context costs no more than is counted", context_mb <= 640, f"{context_mb:.0f} MiB")
    room = int(fit("--gpu", index)["gpus"][0]["available_mb"])
    for size, expected in ((room - 64, True), (room // 2, True), (room + 64, False)):
        says = fit(f"{size}MiB", "--gpu", index, "--gpus", 1)["fits"]
        process.stdin.write(f"{size * MIB}\n")
        process.stdin.flush()
        got = int(process.stdout.readline()) == 0
        report(f"{size} MiB", says == expected and got == expected, f"fit says {says}, the driver {got}")
    process.stdin.close()
    process.wait()


if "--child" in sys.argv:
    child()
else:
    main()
    sys.exit(1 if failed else 0)
