#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the recordings that the backtest of the forecasts plays (tests/golden/forecast/), with real load on a real card.

usage: tests/gpu/record_courses.py PATH_OF_WHIRR FOLDER [--only NAME]... [--gpu N] [--scale X] [--interval SECONDS] [--source NAME]

Five courses, about six minutes in all. For each FOLDER gets NAME.whirr and NAME.json, which says what was done and when (the
truth): a leak until the card is nearly full, a leak in one of two processes while the other's memory goes up and down, a load and
unload sawtooth without a trend, heat-up under full load and cool-down, a training of constant memory. No setting of the card is
changed, and the card should be idle otherwise. Memory is taken through libcuda alone; the load comes from torch where it is
installed and from filling memory where it is not. Every worker has a time limit of its own and dies with this program.
"""
import argparse
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time

FULL_SHARE = 0.995  # of the memory that processes can have: "full" for forecasts
STOP_SHARE = 0.997  # a leak ends here, before allocations fail
GIB = 1 << 30
SEED = 20261115


# --- Workers: run as processes of their own -------------------------------------------------------------------------------

class Cuda:
    """Just enough of the driver API to hold memory."""

    def __init__(self, gpu):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.must("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.must("cuDeviceGet", ctypes.byref(device), gpu)
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.must("cuCtxSetCurrent", context)

    def must(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            raise RuntimeError(f"{name} fails with {code}")

    def alloc(self, size):
        at = ctypes.c_uint64()
        self.must("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(int(size)))
        return at

    def free(self, at):
        self.must("cuMemFree_v2", at)

    def info(self):
        """(free, total) bytes; total without what the driver keeps for itself."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def fill(self, at, size):
        self.must("cuMemsetD8_v2", at, ctypes.c_ubyte(0x5a), ctypes.c_size_t(int(size)))
        self.must("cuCtxSynchronize")


def tell(event, **more):
    print(json.dumps({"t": round(time.time(), 3), "event": event, **more}), flush=True)


def work_leak(args):
    """Takes most of the card at once, then loses memory in uneven bits over `seconds` until it is nearly full."""
    cuda, chance = Cuda(args.gpu), random.Random(SEED)
    free, total = cuda.info()
    room = min(args.room_gib * GIB, 0.4 * free)
    held = [cuda.alloc(free - room)]
    tell("loaded", free=cuda.info()[0], total=total)
    time.sleep(args.before)
    tell("leaks", free=cuda.info()[0])
    step_s, began, leaked = 0.25, time.time(), 0.0
    while True:
        free, _ = cuda.info()
        if free <= (1 - STOP_SHARE) * total + 64 * (1 << 20) or time.time() - began > args.seconds + 15:
            break
        due = room * (time.time() - began) / args.seconds
        size = min(due - leaked, free - (1 - STOP_SHARE) * total)
        # Uneven: now and then a step is left out, and the next one is larger.
        if size >= 2 << 20 and chance.random() > 0.25:
            try:
                held.append(cuda.alloc(size))
            except RuntimeError:
                break  # another program was quicker: full
            leaked += size
        time.sleep(step_s)
    tell("ends", free=cuda.info()[0], total=total)
    time.sleep(2)
    for at in held:
        cuda.free(at)
    tell("freed", free=cuda.info()[0])


def work_wave(args):
    """Memory that goes up and down around a level: a cache that is filled bit by bit and emptied, no trend."""
    cuda, chance = Cuda(args.gpu), random.Random(SEED + 1)
    cuda.alloc(min(4 * GIB, cuda.info()[0] / 8))
    most, held = min(args.room_gib * GIB, cuda.info()[0] / 8), []
    end = time.time() + args.seconds
    tell("loaded", free=cuda.info()[0])
    while time.time() < end:
        size = most / 6 * (0.4 + 1.2 * chance.random())
        free, total = cuda.info()
        if len(held) < 6 and free > size + 0.02 * total:  # leaves the last bit to the leak beside it
            held.append(cuda.alloc(size))
        elif len(held) >= 6:
            for at in held:
                cuda.free(at)
            held = []
        time.sleep(0.4 + 0.8 * chance.random())
    tell("ends", free=cuda.info()[0])


def work_sawtooth(args):
    """Loads and unloads models of different sizes with pauses between: large jumps, no trend."""
    cuda, chance = Cuda(args.gpu), random.Random(SEED + 2)
    end = time.time() + args.seconds
    free, _ = cuda.info()
    while time.time() < end:
        target, parts = free * (0.25 + 0.5 * chance.random()), []
        for _ in range(8):  # a load takes a moment, file by file
            parts.append(cuda.alloc(target / 8))
            time.sleep(0.15)
        tell("loaded", free=cuda.info()[0])
        time.sleep(2 + 4 * chance.random())
        for at in parts:
            cuda.free(at)
        tell("unloaded", free=cuda.info()[0])
        time.sleep(1 + 2 * chance.random())
    tell("ends", free=cuda.info()[0])


def work_heat(args):
    """Full load: matrix products in half precision, or memory being filled where there is no torch."""
    end = time.time() + args.seconds
    try:
        import torch
        torch.cuda.set_device(args.gpu)
        a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
        tell("load", how="torch")
        while time.time() < end:
            for _ in range(50):
                b = a @ a
            torch.cuda.synchronize()
        del b
    except ImportError:
        cuda = Cuda(args.gpu)
        size = min(8 * GIB, cuda.info()[0] // 2)
        at = cuda.alloc(size)
        tell("load", how="fill")
        while time.time() < end:
            cuda.fill(at, size)
    tell("ends")


def work_training(args):
    """A small model is trained: memory settles in the first steps and stays."""
    end = time.time() + args.seconds
    try:
        import torch
        torch.cuda.set_device(args.gpu)
        torch.manual_seed(SEED)
        width = 4096
        layers = [m for _ in range(12) for m in (torch.nn.Linear(width, width), torch.nn.GELU())]
        model = torch.nn.Sequential(*layers).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        given = torch.randn(2048, width, device="cuda")
        tell("loaded", how="torch")
        while time.time() < end:
            optimizer.zero_grad(set_to_none=True)
            loss = (model(given) - given).square().mean()
            loss.backward()
            optimizer.step()
            torch.cuda.synchronize()
    except ImportError:
        cuda = Cuda(args.gpu)
        size = min(8 * GIB, cuda.info()[0] // 2)
        at = cuda.alloc(size)
        tell("loaded", how="fill")
        while time.time() < end:
            cuda.fill(at, size)
            time.sleep(0.02)
    tell("ends")


WORKERS = {"leak": work_leak, "wave": work_wave, "sawtooth": work_sawtooth, "heat": work_heat, "training": work_training}


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


# --- The courses ----------------------------------------------------------------------------------------------------------

class Worker:
    def __init__(self, args, kind, seconds, room_gib=0, before=0.0):
        command = [sys.executable, os.path.abspath(__file__), "--worker", kind, "--gpu", str(args.gpu), "--seconds", str(seconds),
                   "--room-gib", str(room_gib), "--before", str(before)]
        self.limit = time.time() + seconds + before + 60
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True, preexec_fn=die_with_parent)
        self.kind = kind

    def finish(self):
        """Its lines; ends it when its time is over."""
        try:
            out, _ = self.process.communicate(timeout=max(1.0, self.limit - time.time()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
            out += "\n(killed: its time was over)"
        events = []
        for line in out.splitlines():
            try:
                events.append({"worker": self.kind, "pid": self.process.pid, **json.loads(line)})
            except ValueError:
                print(f"  {self.kind}: {line}", flush=True)
        if self.process.returncode:
            raise RuntimeError(f"worker '{self.kind}' ended with {self.process.returncode}")
        return events

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def course_leak(args, start):
    return [start("leak", 55 * args.scale, room_gib=24, before=6)]


def course_two(args, start):
    wave = start("wave", 66 * args.scale, room_gib=6)
    time.sleep(4)
    return [start("leak", 45 * args.scale, room_gib=28, before=3), wave]


def course_sawtooth(args, start):
    return [start("sawtooth", 45 * args.scale)]


def course_heat(args, start):
    return [start("heat", 70 * args.scale)]


def course_training(args, start):
    return [start("training", 35 * args.scale)]


# name, what it is, what a forecast should say at its best, seconds of rest at the end, function
COURSES = [
    ("leak", "one process loses memory until the card is nearly full", "vram full", 3, course_leak),
    ("leak-of-two", "one of two processes loses memory, the memory of the other goes up and down", "vram full", 3, course_two),
    ("sawtooth", "models are loaded and unloaded, no trend", "no trend", 3, course_sawtooth),
    ("heat", "full load, then none: the temperature approaches its limit and falls again", "never throttles", 30, course_heat),
    ("training", "a training whose memory stays the same", "no trend", 3, course_training),
]


def record(args, name, what, expected, rest, course):
    path = os.path.join(args.folder, name + ".whirr")
    if os.path.exists(path):
        os.unlink(path)  # else it would be continued
    print(f"{name}: {what}", flush=True)
    began = time.time()
    recorder = subprocess.Popen([args.whirr, "record", path, "--quiet", "--source", args.source, "--interval", str(args.interval),
                                 "--duration", str(240 * args.scale)], start_new_session=True, preexec_fn=die_with_parent)
    workers = []

    def start(*a, **k):
        workers.append(Worker(args, *a, **k))
        return workers[-1]

    events = []
    try:
        time.sleep(4 * args.scale)
        for worker in course(args, start):
            events += worker.finish()
        time.sleep(rest * args.scale)
    finally:
        for worker in workers:
            worker.stop()
        recorder.send_signal(signal.SIGINT)
        try:
            recorder.wait(timeout=15)
        except subprocess.TimeoutExpired:
            recorder.kill()
            recorder.wait()
    if recorder.returncode:
        raise RuntimeError(f"whirr record ended with {recorder.returncode}")
    events.sort(key=lambda e: e["t"])
    leaks = [e for e in events if e["worker"] == "leak"]
    truth = {"course": name, "what": what, "expected": expected, "interval_seconds": args.interval, "gpu": args.gpu,
             "began": round(began, 3), "ended": round(time.time(), 3), "full_share": FULL_SHARE,
             "leak_began": next((e["t"] for e in leaks if e["event"] == "leaks"), None),
             "leak_ended": next((e["t"] for e in leaks if e["event"] == "ends"), None),
             "leak_pid": leaks[0]["pid"] if leaks else None, "events": events}
    with open(os.path.join(args.folder, name + ".json"), "w", encoding="utf-8") as out:
        json.dump(truth, out, indent=1)
        out.write("\n")
    print(f"  {time.time() - began:.0f} s, {os.path.getsize(path)} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("whirr", nargs="?")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only", action="append", choices=[c[0] for c in COURSES])
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="all times by this factor")
    parser.add_argument("--interval", type=float, default=0.5)
    parser.add_argument("--source", default="nvml")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--room-gib", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--before", type=float, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        signal.alarm(int(args.seconds + args.before + 90))
        WORKERS[args.worker](args)
        return 0
    if not args.whirr or not args.folder:
        parser.error("PATH_OF_WHIRR and FOLDER are needed")
    os.makedirs(args.folder, exist_ok=True)
    failed = 0
    for course in COURSES:
        if args.only and course[0] not in args.only:
            continue
        try:
            record(args, *course)
        except (RuntimeError, OSError) as error:
            print(f"  FAILED: {error}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
