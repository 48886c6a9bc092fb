#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What limits real programs: tests/gpu/limit_check.py build/whirr [PROGRAM...]

Programs whose limit is known are started one after the other under `whirr watch`; while each runs, a daemon with a sample a second and
a command of its own (--direct) are asked what limits it. Prints a table and a score; the readings of each program go to
limits.jsonl in $OUT (or the directory of --out), so that thresholds can be held against them. Needs torch; at most eight minutes.
"""
import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

GPU_WORK = ("power", "compute", "heat", "clocks", "memory_bandwidth")
ASK_FROM_S, RUNS_S, CHANGE_S, TOTAL_S = 6.5, 10.5, 10.0, 465.0


# ---- the programs ----

def until(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def ready(path):
    """The program is warm: from now on it does what it is here for."""
    with open(path + ".new", "w") as f:
        json.dump({"pid": os.getpid(), "at": time.time()}, f)
    os.rename(path + ".new", path)


def synchronized(step, every=8):
    """A step that does not run far ahead of the GPU."""
    import torch
    count = 0

    def run():
        nonlocal count
        step()
        count += 1
        if count % every == 0:
            torch.cuda.synchronize()
    return run


def matmul(dtype, size, tf32=True):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
    return synchronized(lambda: a @ b)


def matmul_bf16():
    import torch
    return matmul(torch.bfloat16, 8192)


def matmul_fp32():
    import torch
    return matmul(torch.float32, 8192, tf32=False)


def matmul_fp64():
    import torch
    return matmul(torch.float64, 6144)


def device_copies():
    import torch
    a, b = (torch.empty(2 << 30, dtype=torch.uint8, device="cuda") for _ in range(2))
    return synchronized(lambda: b.copy_(a))


class Block:
    """A layer of a language model made of random weights."""

    def __init__(self, width, heads, dtype):
        import torch
        self.heads = heads
        self.weights = [torch.randn(width, n, device="cuda", dtype=dtype) * width ** -0.5 for n in (3 * width, width, 4 * width)]
        self.down = torch.randn(4 * width, width, device="cuda", dtype=dtype) * (4 * width) ** -0.5

    def __call__(self, x):
        import torch
        f = torch.nn.functional
        batch, tokens, width = x.shape
        h = f.layer_norm(x, (width,))
        q, k, v = (h @ self.weights[0]).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = x + f.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1).transpose(1, 2).reshape(x.shape) @ self.weights[1]
        return x + f.gelu(f.layer_norm(x, (width,)) @ self.weights[2]) @ self.down


def language_model(layers, width, dtype=None):
    import torch
    blocks = [Block(width, width // 64, dtype or torch.bfloat16) for _ in range(layers)]

    def forward(x):
        for block in blocks:
            x = block(x)
        return x
    return forward


def graphed(forward, x):
    import torch
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            forward(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        forward(x)
    return synchronized(graph.replay)


def decode_graph():
    import torch
    return graphed(language_model(24, 4096), torch.randn(1, 1, 4096, device="cuda", dtype=torch.bfloat16))


def token_graph():
    import torch
    weights = [torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(40)]

    def forward(x):
        for w in weights:
            x = x @ w
        return x
    return graphed(forward, torch.randn(1, 8192, device="cuda", dtype=torch.bfloat16))


def decode_small():
    import torch
    forward, x = language_model(12, 768), torch.randn(1, 1, 768, device="cuda", dtype=torch.bfloat16)

    def step():
        with torch.no_grad():
            forward(x)[0, 0, 0].item()
    return step


def prefill():
    import torch
    forward, x = language_model(16, 4096), torch.randn(4, 2048, 4096, device="cuda", dtype=torch.bfloat16)

    def step():
        with torch.no_grad():
            forward(x)
    return synchronized(step, 2)


def copies(to_gpu, pinned=True):
    import torch
    host = torch.empty(512 << 20, dtype=torch.uint8, pin_memory=pinned)
    gpu = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
    host.fill_(1)
    return synchronized((lambda: gpu.copy_(host, non_blocking=True)) if to_gpu else (lambda: host.copy_(gpu, non_blocking=True)), 4)


def copies_in():
    return copies(True)


def copies_out():
    return copies(False)


def copies_pageable():
    return copies(True, pinned=False)


def busy_python(seconds):
    end, n = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        n = (n * 31 + 7) % 1000003
    return n


def small_step():
    """About 20 ms of work for the GPU."""
    import torch
    a = torch.randn(4096, 4096, device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = False

    def step():
        for _ in range(6):
            a @ a
        torch.cuda.synchronize()
    return step


def python_between():
    step = small_step()

    def run():
        step()
        busy_python(0.08)
    return run


def loaded(workers, cost, waits=False, step=None):
    import torch

    class Samples(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 30

        def __getitem__(self, i):
            if waits:
                time.sleep(cost)
            else:
                busy_python(cost)
            return torch.zeros(256)
    batches = iter(torch.utils.data.DataLoader(Samples(), batch_size=8, num_workers=workers))
    step = step or small_step()

    def run():
        next(batches)
        step()
    return run


def loaders_two():
    return loaded(2, 0.08)


def loaders_many():
    return loaded(max(4, (os.cpu_count() or 8)), 0.05)


def loaders_wait():
    return loaded(2, 0.2, waits=True)


def training_slow_loader():
    return loaded(1, 0.05, step=training_step(4))


def training_step(layers):
    import torch
    layer = torch.nn.TransformerEncoderLayer(2048, 16, 8192, batch_first=True, device="cuda", dtype=torch.bfloat16)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    x = torch.randn(16, 1024, 2048, device="cuda", dtype=torch.bfloat16)

    def step():
        loss = model(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
    return step


def training():
    return training_step(12)


def on_disk():
    """A directory on a real disk."""
    for where in (os.environ.get("WHIRR_DISK", ""), tempfile.gettempdir(), "/var/tmp", os.getcwd(), os.path.expanduser("~")):
        if where and os.access(where, os.W_OK):
            kind = subprocess.run(["stat", "-f", "-c", "%T", where], capture_output=True, text=True).stdout.strip()
            if kind not in ("tmpfs", "ramfs") and shutil.disk_usage(where).free > 12 << 30:
                return where
    sys.exit("no directory on a disk")


def disk_read():
    import mmap
    step, size, block = small_step(), 3 << 30, 8 << 20
    path = os.path.join(on_disk(), f"whirr-limit-{os.getpid()}")
    with open(path, "wb") as f:
        for _ in range(size // block):
            f.write(os.urandom(4096) * (block // 4096))
        f.flush()
        os.fsync(f.fileno())
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.unlink(path)
    memory, at = mmap.mmap(-1, block), 0

    def run():
        nonlocal at
        for _ in range(16):
            os.preadv(fd, [memory], at)
            at = (at + block) % size
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        step()
    return run


def checkpoints():
    import torch
    step, state = small_step(), torch.randn(192 << 20, device="cuda")
    path = os.path.join(on_disk(), f"whirr-limit-{os.getpid()}")

    def run():
        for _ in range(3):
            step()
        with open(path, "wb") as f:
            torch.save(state, f)
            f.flush()
            os.fsync(f.fileno())
        os.unlink(path)
    return run


def tiny_kernels():
    import torch
    a = torch.zeros(16, device="cuda")

    def step():
        for _ in range(2000):
            a.add_(1)
        torch.cuda.synchronize()
    return step


def item_each_step():
    import torch
    a = torch.zeros(16, device="cuda")

    def step():
        for _ in range(200):
            a.add_(1)
            a[0].item()
    return step


def waiting_kernel():
    import torch

    def step():
        torch.cuda._sleep(200_000_000)
        torch.cuda.synchronize()
    return step


def compiling():
    import torch
    x, count = torch.randn(1024, device="cuda"), 0

    def step():
        nonlocal count
        count += 1
        source = "template <typename T> T f(T x) { T y = x; " + "".join(f"y = y * T({count % 1000}.{i}) + x;" for i in range(40)) + " return y; }"
        torch.cuda.jiterator._create_jit_fn(source)(x) if hasattr(torch.cuda.jiterator, "_create_jit_fn") else torch.cuda.jiterator.create_jit_fn(source)(x)
        torch.cuda.synchronize()
    return step


def holds_and_sleeps():
    import torch
    keep = torch.empty(20 << 30, dtype=torch.uint8, device="cuda")

    def step():
        assert keep.numel()
        time.sleep(0.5)
    return step


def idle_server():
    import http.server
    import torch
    keep = torch.empty(8 << 30, dtype=torch.uint8, device="cuda")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.timeout = 0.5

    def step():
        assert keep.numel()
        server.handle_request()
    return step


def beside(program):
    """Another program on the GPU, until this one ends."""
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--run", program, "--ready", "/dev/null.none", "--for", "60"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))
    time.sleep(8)
    if child.poll() is not None:
        sys.exit(f"{program} has ended")
    return child


def two_tenants():
    beside("matmul_bf16")
    return matmul_bf16()


def late_rank():
    """Waits in a kernel for a process that computes in Python, as a collective does."""
    beside("python_only")
    return waiting_kernel()


def python_only():
    import torch
    keep = torch.zeros(1 << 20, device="cuda")

    def step():
        assert keep is not None
        busy_python(0.2)
    return step


def cpu_quota():
    cgroup = "/sys/fs/cgroup"
    with open("/proc/self/cgroup") as f:
        cgroup += f.read().strip().split("::")[-1]
    group = os.path.join(cgroup, f"whirr-limit-{os.getpid()}")
    try:
        os.mkdir(group)
        with open(f"{group}/cpu.max", "w") as f:
            f.write("20000 100000")
        with open(f"{group}/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))
    except OSError as e:
        sys.exit(f"no control group can be made: {e}")
    return python_between()


def changes():
    """First all of the memory bandwidth, then Python."""
    first, then, begin = device_copies(), python_between(), time.monotonic()

    def step():
        (first if time.monotonic() - begin < CHANGE_S else then)()
    return step


# What each is limited by; several where they are the same to a person.
PROGRAMS = {
    "matmul_bf16": ("power", "compute"),
    "matmul_fp32": ("compute_no_tensor",),
    "matmul_fp64": ("power", "compute"),
    "device_copies": ("memory_bandwidth",),
    "token_graph": ("memory_bandwidth",),
    "copies_in": ("pcie_in",),
    "copies_out": ("pcie_out",),
    "copies_pageable": ("pcie_in", "numa"),
    "python_between": ("host_cpu",),
    "loaders_two": ("loaders",),
    "loaders_many": ("loaders",),
    "loaders_wait": ("loaders",),
    "disk_read": ("disk",),
    "checkpoints": ("disk",),
    "tiny_kernels": ("launch",),
    "item_each_step": ("launch",),
    "waiting_kernel": ("kernel_wait",),
    "prefill": ("power", "compute"),
    "training": GPU_WORK,
    "compiling": ("compile",),
    "holds_and_sleeps": ("none",),
    "decode_graph": ("memory_bandwidth",),
    "decode_small": ("launch", "host_cpu"),
    "training_slow_loader": ("loaders",),
    "idle_server": ("no_requests",),
    "two_tenants": ("other_programs",),
    "late_rank": ("kernel_wait", "straggler_wait"),
    "cpu_quota": ("cpu_quota",),
    "changes": ("host_cpu",),
}
HEALTHY = {"matmul_bf16", "matmul_fp64", "prefill", "training"}
HOST_SIDE = {"launch", "compile", "host_cpu", "loaders", "cpu_quota", "disk", "network_fs", "memory_pressure", "numa"}


def run_program(name, ready_path, seconds):
    step = globals()[name]()
    step()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.synchronize()
    if os.path.isdir(os.path.dirname(ready_path)) and not ready_path.startswith("/dev/"):
        ready(ready_path)
    for _ in until(seconds):
        step()
    os._exit(0)  # loaders and pinned memory take seconds to be put away


# ---- asking ----

class Check:
    def __init__(self, whirr, folder, out):
        self.whirr, self.folder, self.out, self.rows = whirr, folder, out, []
        self.env = {**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder, "WHIRR_SERVER_SOCKET": f"{folder}/whirr.sock"}
        self.asks_pid = None

    def ask(self, *args, timeout=20):
        begin = time.monotonic()
        try:
            done = subprocess.run([self.whirr, *args, "--json"], env=self.env, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, timeout
        took = time.monotonic() - begin
        try:
            return json.loads(done.stdout), took
        except ValueError:
            return None, took

    def limit(self, pid, *args):
        """(code, everything, seconds) of one process: by `why PID`, else as `ps` lists it."""
        answer, took = self.ask("why", str(pid), *args)
        if not answer or "processes" not in answer:
            answer, took = self.ask("ps", *args)
        for p in (answer or {}).get("processes") or []:
            if p.get("pid") == pid and p.get("limit"):
                return p["limit"]["code"], answer, took
        return None, answer, took

    def serve(self):
        daemon = subprocess.Popen([self.whirr, "serve", "--listen", "none", "--store", "none", "--interval", "1"], env=self.env,
                                  stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/serve.log", "w"))
        for _ in until(20):
            if os.path.exists(f"{self.folder}/whirr.sock") and (self.ask("status")[0] or {}).get("gpus"):
                return daemon
            time.sleep(0.2)
        sys.exit("the daemon does not answer: " + open(f"{self.folder}/serve.log").read()[-2000:])

    def look(self, name, pid, begin, row):
        """Asks until the answer is right, at most until the program ends; what it said last counts."""
        wanted, wait = PROGRAMS[name], CHANGE_S if name == "changes" else 0
        stages = ((ASK_FROM_S + wait, ()), (ASK_FROM_S + wait + 0.5, ("--direct",)))
        row["readings"] = []
        for at, options in stages:
            time.sleep(max(0.0, begin + at - time.time()))
            while True:
                code, answer, took = self.limit(pid, *options)
                key = "one_look" if options else "daemon"
                row[key], row[key + "_answer"], row[key + "_took"] = code, answer, round(took, 3)
                row[key + "_at"] = round(time.time() - begin - wait, 1)
                late = time.time() > begin + wait + (RUNS_S - 1.0 if options else RUNS_S - 2.5)
                if options or code in wanted or late:
                    break
                time.sleep(0.5)
            status, _ = self.ask("status")
            if status and status.get("gpus"):
                row["readings"].append({k: v for k, v in status["gpus"][0].items() if k != "absent"})

    def run(self, name):
        path, report = f"{self.folder}/{name}.ready", f"{self.folder}/{name}.json"
        runs = RUNS_S + (CHANGE_S if name == "changes" else 0)
        row = {"program": name, "wanted": PROGRAMS[name]}
        log = open(f"{self.folder}/{name}.log", "w")
        watch = subprocess.Popen([self.whirr, "watch", "--json", "-o", report, "--", sys.executable, os.path.abspath(__file__),
                                  "--run", name, "--ready", path, "--for", str(runs)], env=self.env, stdout=log, stderr=log,
                                 start_new_session=True)
        for _ in until(40):
            if os.path.exists(path) or watch.poll() is not None:
                break
            time.sleep(0.05)
        if os.path.exists(path):
            started = json.load(open(path))
            self.look(name, started["pid"], started["at"], row)
            try:
                watch.wait(timeout=15)
            except subprocess.TimeoutExpired:
                pass
        if watch.poll() is None:
            os.killpg(watch.pid, signal.SIGKILL)
            watch.wait()
        if not os.path.exists(path):
            row["skipped"] = open(f"{self.folder}/{name}.log").read().strip().split("\n")[-1][:200] or "did not start"
        elif os.path.exists(report):
            try:
                row["watch_answer"] = json.load(open(report))
                row["watch"] = row["watch_answer"].get("limited_by")
            except ValueError:
                pass
        self.rows.append(row)
        self.out.write(json.dumps(row) + "\n")
        self.out.flush()
        self.show(row)

    @staticmethod
    def mark(row, key):
        return ("ok  " if row.get(key) in row["wanted"] else "BAD ") + str(row.get(key))

    def show(self, row):
        if "skipped" in row:
            print(f"{row['program']:<21} skipped: {row['skipped']}", flush=True)
            return
        columns = "  ".join(f"{self.mark(row, key):<23}" for key in ("daemon", "one_look", "watch"))
        print(f"{row['program']:<21} {columns} {'/'.join(row['wanted'][:2]):<22} {row.get('daemon_at')} s  one look {row.get('one_look_took')} s",
              flush=True)

    def score(self):
        done = [r for r in self.rows if "skipped" not in r]
        worst = 100.0
        for key in ("daemon", "one_look", "watch"):
            right = sum(r.get(key) in r["wanted"] for r in done)
            share = 100.0 * right / max(1, len(done))
            worst = min(worst, share) if key != "one_look" else worst
            print(f"{key:<9} {right} of {len(done)} right ({share:.0f}%)")
        blamed = [r["program"] for r in done if r["program"] in HEALTHY and {r.get("daemon"), r.get("watch"), r.get("one_look")} & HOST_SIDE]
        print("healthy programs called limited by their host:", ", ".join(blamed) or "none")
        return worst >= 95 and not blamed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("whirr", nargs="?", default="build/whirr")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--run")
    parser.add_argument("--ready")
    parser.add_argument("--for", dest="seconds", type=float, default=RUNS_S)
    args = parser.parse_args()
    if args.run:
        run_program(args.run, args.ready, args.seconds)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(args.out, "limits.jsonl"), "w") as out:
        check = Check(os.path.abspath(args.whirr), folder, out)
        daemon = check.serve()
        print(f"{'program':<21} {'daemon':<23}  {'one look':<23}  {'watch':<23}  known limit", flush=True)
        try:
            for name in args.programs or PROGRAMS:
                if time.monotonic() - begin > TOTAL_S - 20:
                    print(f"{name:<21} left out: the time is over")
                    continue
                check.run(name)
            good = check.score()
        finally:
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
            for log in os.listdir(folder):
                if log.endswith(".log"):
                    shutil.copy(os.path.join(folder, log), os.path.join(args.out, "limit-" + log))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
