#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What limits real programs: tests/gpu/limit_check.py build/whirr [--set third|new|first|all] [PROGRAM...]

Programs whose limit is known run one after the other. Ten seconds after each has begun its work, a daemon with a sample a second and a
command of its own (--direct) are asked once what limits it: the first answer counts, its code and its sentence, which must not claim
what the evidence does not show. After three seconds the daemon may say that it does not know yet, but nothing wrong. Prints a table
with the sentences and a score; the readings of each program go to limits.jsonl in $OUT (or the directory of --out). Needs torch; a set
takes less than five minutes (first: seven), because the next program loads its libraries while one is looked at.
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
EARLY_S, ASK_S, CHANGE_S = 3.0, 10.0, 10.0


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
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--run", program],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))
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

# ---- programs that were added when sentences had claimed more than was known ----

def adam_on_cpu():
    """The optimizer's state and step are the host's; the GPU gets the weights back."""
    import torch
    weights = [torch.randn(16 << 20, requires_grad=True) for _ in range(4)]
    optimizer, step = torch.optim.Adam(weights, lr=1e-4), small_step()
    for w in weights:
        w.grad = torch.randn_like(w)
    copy = torch.empty(16 << 20, device="cuda")

    def run():
        step()
        optimizer.step()
        copy.copy_(weights[0].detach())
    return run


def cuda_malloc():
    import torch
    step = small_step()

    def run():
        step()
        for _ in range(8):
            keep = [torch.empty(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(8)]
            del keep
            torch.cuda.empty_cache()
    return run


def tiny_layers():
    import torch
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64, device="cuda") for _ in range(200)])
    optimizer, x = torch.optim.SGD(model.parameters(), lr=1e-6), torch.randn(32, 64, device="cuda")

    def step():
        model(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def tiny_batches():
    import torch
    model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, device="cuda"), 6,
                                        enable_nested_tensor=False)
    x = torch.randn(1, 8, 256, device="cuda")

    def step():
        with torch.no_grad():
            model(x)
    return synchronized(step, 4)


def socket_wait():
    """Asks a service of another process between its steps."""
    import socket
    step, service = small_step(), socket.create_connection(("127.0.0.1", int(os.environ["LIMIT_CHECK_PORT"])))

    def run():
        service.sendall(b"x" * 64)
        service.recv(64)
        step()
    return run


def socket_wait_http():
    """The same with a client that polls, as most do."""
    import http.client
    step = small_step()
    client = http.client.HTTPConnection("127.0.0.1", int(os.environ["LIMIT_CHECK_HTTP"]), timeout=30)

    def run():
        client.request("GET", "/")
        client.getresponse().read()
        step()
    return run


def pipe_wait():
    """Reads what another program writes into a pipe."""
    step, pipe = small_step(), os.open(os.environ["LIMIT_CHECK_PIPE"], os.O_RDONLY)

    def run():
        os.read(pipe, 4096)
        step()
    return run


def fill_queue(queue):
    while True:
        queue.put(busy_python(0.15))


def queue_of_a_child():
    import multiprocessing
    queue, step = multiprocessing.get_context("fork").Queue(2), None
    multiprocessing.get_context("fork").Process(target=fill_queue, args=(queue,), daemon=True).start()
    step = small_step()

    def run():
        queue.get()
        step()
    return run


def late_without_gpu(path):
    import torch
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=1, world_size=2)
    x = torch.zeros(1024)
    while True:
        busy_python(0.2)
        torch.distributed.all_reduce(x)


def gloo_late():
    """One of two ranks; the other has no GPU and is late at every step."""
    import multiprocessing
    import torch
    path = os.path.join(tempfile.gettempdir(), f"whirr-limit-gloo-{os.getpid()}")
    multiprocessing.get_context("fork").Process(target=late_without_gpu, args=(path,), daemon=True).start()
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=0, world_size=2)
    step, x = small_step(), torch.zeros(1024)

    def run():
        step()
        torch.distributed.all_reduce(x)
    return run


def inductor():
    """torch.compile of functions that differ, one after the other."""
    import torch
    x, count = torch.randn(64, 64, device="cuda"), 0

    def step():
        nonlocal count
        count += 1
        torch._dynamo.reset()
        scale = torch.full((), float(count))

        def f(y):
            for i in range(24):
                y = torch.softmax(y * (count + i * 0.37), -1) + torch.sin(y) * (i + count)
            return y
        torch.compile(f)(x)
        torch.cuda.synchronize()
        return scale
    return step


def blas_on_cpu():
    import torch
    step, a = small_step(), torch.randn(3072, 3072)

    def run():
        step()
        a @ a
    return run


def native_threads():
    """Compresses in threads of a C library, as a tokenizer or decoder does."""
    import concurrent.futures
    import zlib
    step, pool = small_step(), concurrent.futures.ThreadPoolExecutor(4)
    data = os.urandom(1 << 19) * 4

    def run():
        list(pool.map(lambda _: zlib.compress(data, 6), range(8)))
        step()
    return run


def tokenizer():
    import tokenizers
    words = ["".join(chr(97 + (i * 7 + j * j) % 26) for j in range(3 + i % 9)) for i in range(4000)]
    model = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="?"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model.train_from_iterator([" ".join(words)] * 4, tokenizers.trainers.BpeTrainer(vocab_size=2000, special_tokens=["?"], show_progress=False))
    step, texts = small_step(), [" ".join(words[i:] + words[:i]) for i in range(0, 640, 10)]

    def run():
        model.encode_batch(texts)
        step()
    return run


def thread_feeds():
    """A thread of its own computes in Python what the main thread waits for."""
    import queue
    todo, step = queue.Queue(2), small_step()

    def feed():
        while True:
            todo.put(busy_python(0.1))
    threading.Thread(target=feed, daemon=True).start()

    def run():
        todo.get()
        step()
    return run


def copies_each_step():
    import torch
    copy = copies(True)
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)

    def step():
        copy()
        a @ a
    return step


def sleeps_between():
    step = small_step()

    def run():
        step()
        time.sleep(0.1)
    return run


def partly_on_cpu():
    """Some layers of a model lie in a mapped file and are computed by the CPU."""
    import torch
    path = os.path.join(on_disk(), f"whirr-limit-{os.getpid()}.gguf")
    layers, width = 24, 5120
    with open(path, "wb") as f:
        f.write(b"GGUF" + (3).to_bytes(4, "little") + bytes(4096 - 8))
        block = os.urandom(1 << 20)
        for _ in range(layers * width * width * 4 // len(block)):
            f.write(block)
    file = torch.from_file(path, size=1024 + layers * width * width, dtype=torch.float32)
    weights = [file[1024 + i * width * width:1024 + (i + 1) * width * width].view(width, width) for i in range(layers)]
    on_gpu = [w.cuda() for w in weights[:layers // 4]]
    threading.Timer(25, lambda: os.path.exists(path) and os.unlink(path)).start()

    def step():
        x = torch.ones(1, width, device="cuda")
        for w in on_gpu:
            x = x @ w
        x = x.cpu()
        for w in weights[layers // 4:]:
            x = x @ w
        return x
    return step


# ---- the third set: written once the answers about the others were known, and not looked at before it was run ----

def fft_on_cpu():
    import torch
    step, x = small_step(), torch.randn(1 << 22)

    def run():
        step()
        torch.fft.ifft(torch.fft.fft(x))
    return run


def json_in_python():
    """Parses and builds records between its steps."""
    step, text = small_step(), json.dumps([{"id": i, "words": ["a", "b"] * 8} for i in range(6000)])

    def run():
        step()
        records = json.loads(text)
        sum(len(record["words"]) for record in records for _ in range(20))
    return run


def sqlite_queries():
    import sqlite3
    step, db = small_step(), sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (a INTEGER, b TEXT)")
    db.executemany("INSERT INTO t VALUES (?, ?)", ((i, f"word {i * 7919 % 65537}") for i in range(200000)))

    def run():
        step()
        db.execute("SELECT b, count(*) FROM t GROUP BY substr(b, 3) ORDER BY 2 LIMIT 5").fetchall()
    return run


def answer_slowly(server):
    connection, _ = server.accept()
    while connection.recv(64):
        time.sleep(0.15)
        connection.sendall(b"y" * 64)


def unix_socket():
    """Asks a service on the same host by a socket that has no port."""
    import multiprocessing
    import socket
    path = os.path.join(tempfile.gettempdir(), f"whirr-limit-socket-{os.getpid()}")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    multiprocessing.get_context("fork").Process(target=answer_slowly, args=(server,), daemon=True).start()
    server.close()
    step, service = small_step(), socket.socket(socket.AF_UNIX)
    service.connect(path)

    def run():
        service.sendall(b"x" * 64)
        service.recv(64)
        step()
    return run


def fsync_each_step():
    """Makes its results durable after each step."""
    step, block = small_step(), os.urandom(4 << 20)
    file = os.open(os.path.join(on_disk(), f"whirr-limit-{os.getpid()}"), os.O_RDWR | os.O_CREAT, 0o600)
    count = 0

    def run():
        nonlocal count
        step()
        for _ in range(24):
            os.pwrite(file, block, count % 256 * len(block))
            os.fsync(file)
            count += 1
    return run


def embedding_lookups():
    import torch
    table = torch.randn(1 << 23, 512, device="cuda", dtype=torch.float16)
    at = torch.randint(0, 1 << 23, (1 << 20,), device="cuda")
    return synchronized(lambda: table[at].sum(0))


def elementwise():
    import torch
    x = torch.randn(1 << 29, device="cuda", dtype=torch.float16)
    return synchronized(lambda: torch.relu_(x.mul_(1.0001)))


def conv_training():
    import torch
    net = torch.nn.Sequential(*(layer for i in range(8) for layer in (torch.nn.Conv2d(256, 256, 3, padding=1), torch.nn.ReLU()))).cuda().bfloat16()
    x = torch.randn(64, 256, 64, 64, device="cuda", dtype=torch.bfloat16)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)

    def step():
        net(x).float().pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
    return step


def waits_after_each_call():
    import torch
    x = torch.randn(256, 256, device="cuda")

    def step():
        for _ in range(20):
            torch.tanh(x)
            torch.cuda.synchronize()
    return step


def results_out():
    import torch
    host = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
    result = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")

    def step():
        result.add_(1)
        host.copy_(result)
    return step


def regex_between():
    import re
    step, text, words = small_step(), "alpha beta12 gamma-7 delta_x " * 12000, re.compile(r"([a-z]+)[0-9_-]+([a-z0-9]*)")

    def run():
        step()
        words.sub(r"\2 \1", text)
    return run


def timer_between():
    """Waits for a timer by poll, as servers with a rate limit do."""
    import select
    step, poll = small_step(), select.poll()

    def run():
        step()
        poll.poll(120)
    return run


# What each is limited by; several where they are the same to a person.
FIRST = {
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
NEW = {
    "adam_on_cpu": ("cpu_work", "host_cpu"),
    "cuda_malloc": ("allocation", "host_cpu"),
    "tiny_layers": ("launch", "host_cpu"),
    "tiny_batches": ("launch", "host_cpu"),
    "socket_wait": ("peer",),
    "socket_wait_http": ("peer",),
    "pipe_wait": ("peer",),
    "queue_of_a_child": ("peer", "loaders"),
    "gloo_late": ("peer", "straggler_wait"),
    "inductor": ("compile",),
    "python_only": ("host_cpu",),
    "blas_on_cpu": ("cpu_work", "host_cpu"),
    "native_threads": ("cpu_work", "host_cpu"),
    "tokenizer": ("cpu_work", "host_cpu"),
    "thread_feeds": ("host_cpu",),
    "copies_each_step": ("pcie_in",),
    "sleeps_between": ("none",),
    "partly_on_cpu": ("partly_on_cpu", "cpu_work"),
    "matmul_bf16": ("power", "compute"),
}
THIRD = {
    "fft_on_cpu": ("cpu_work", "host_cpu"),
    "json_in_python": ("host_cpu",),
    "sqlite_queries": ("cpu_work", "host_cpu"),
    "unix_socket": ("peer",),
    "fsync_each_step": ("disk",),
    "embedding_lookups": ("memory_bandwidth",),
    "elementwise": ("memory_bandwidth",),
    "conv_training": GPU_WORK,
    "waits_after_each_call": ("launch", "host_cpu"),
    "results_out": ("pcie_out",),
    "regex_between": ("host_cpu", "cpu_work"),
    "timer_between": ("none", "cannot_tell"),
}
PROGRAMS = {**FIRST, **NEW, **THIRD}
HEALTHY = {"matmul_bf16", "matmul_fp64", "prefill", "training", "conv_training"}
HOST_SIDE = {"launch", "compile", "host_cpu", "loaders", "cpu_quota", "disk", "network_fs", "memory_pressure", "numa", "cpu_work",
             "allocation", "partly_on_cpu"}

# What may be said of these programs only; and what must be said of some.
CLAIMS = {
    "prepares its data": set(),
    "loader": {"loaders_two", "loaders_many", "loaders_wait", "training_slow_loader", "python_between", "thread_feeds"},
    "loader process": {"loaders_two", "loaders_many", "loaders_wait", "training_slow_loader"},
    "does nothing": {"holds_and_sleeps"},
    "compil": {"compiling", "inductor"},
    "waits for requests": {"idle_server"},
    "in Python": {"python_between", "python_only", "thread_feeds", "changes", "cpu_quota", "decode_small", "tiny_layers", "tiny_batches", "json_in_python",
                  "regex_between", "waits_after_each_call"},
    "disk": {"disk_read", "checkpoints", "fsync_each_step"},
}
SAYS = {"socket_wait": "127.0.0.1:", "socket_wait_http": "127.0.0.1:", "sleeps_between": "sleeps"}


def wrong_claims(name, sentence):
    """What a sentence says that it must not, or leaves out."""
    wrong = [f"says '{claim}'" for claim, programs in CLAIMS.items() if claim in sentence and name not in programs]
    if SAYS.get(name, "") not in sentence:
        wrong.append(f"does not say '{SAYS[name]}'")
    return wrong


def run_program(name, ready_path, seconds):
    import torch  # takes seconds
    sys.stdin.buffer.read(1)  # until it is its turn; at once without a pipe
    step = globals()[name]()
    step()
    torch.cuda.synchronize()
    if ready_path and os.path.isdir(os.path.dirname(ready_path)):
        ready(ready_path)
    for _ in until(seconds):
        step()
    os._exit(0)  # loaders and pinned memory take seconds to be put away


# ---- what programs wait for ----

class Services:
    """Another program, as those see it that wait for it: a TCP service, an HTTP service, the writer of a pipe; each is slow."""
    SLOW_S = 0.15

    def __init__(self, folder):
        import http.server
        import socketserver
        slow = self.SLOW_S

        class Answer(socketserver.BaseRequestHandler):
            def handle(self):
                while self.request.recv(64):
                    time.sleep(slow)
                    self.request.sendall(b"y" * 64)

        class Page(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                time.sleep(slow)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *args):
                pass
        socketserver.ThreadingTCPServer.daemon_threads = True
        socketserver.BaseServer.handle_error = lambda *args: None  # a program that was ended
        self.tcp = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer)
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.pipe = f"{folder}/pipe"
        os.mkfifo(self.pipe)
        for run in (self.tcp.serve_forever, self.http.serve_forever, self.write):
            threading.Thread(target=run, daemon=True).start()

    def write(self):
        while True:
            try:
                with open(self.pipe, "wb", buffering=0) as f:
                    while True:
                        f.write(b"z" * 64)
                        time.sleep(self.SLOW_S)
            except OSError:
                pass

    def env(self):
        return {"LIMIT_CHECK_PORT": str(self.tcp.server_address[1]), "LIMIT_CHECK_HTTP": str(self.http.server_address[1]),
                "LIMIT_CHECK_PIPE": self.pipe}


# ---- asking ----

class Check:
    def __init__(self, whirr, folder, out):
        self.whirr, self.folder, self.out, self.rows = whirr, folder, out, []
        self.env = {**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder, "WHIRR_SERVER_SOCKET": f"{folder}/whirr.sock",
                    **Services(folder).env()}

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
        """(code, sentence, everything, seconds) of one process: by `why PID`, else as `ps` lists it."""
        answer, took = self.ask("why", str(pid), *args)
        if not answer or "processes" not in answer:
            answer, took = self.ask("ps", *args)
        for p in (answer or {}).get("processes") or []:
            if p.get("pid") == pid and p.get("limit"):
                return p["limit"]["code"], p.get("answer") or "", answer, took
        return None, "", answer, took

    def serve(self):
        daemon = subprocess.Popen([self.whirr, "serve", "--listen", "none", "--store", "none", "--interval", "1"], env=self.env,
                                  stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/serve.log", "w"))
        for _ in until(20):
            if os.path.exists(f"{self.folder}/whirr.sock") and (self.ask("status")[0] or {}).get("gpus"):
                return daemon
            time.sleep(0.2)
        daemon.kill()
        sys.exit("the daemon does not answer: " + open(f"{self.folder}/serve.log").read()[-2000:])

    def start(self, name):
        """Loads its libraries and waits for its turn."""
        log = open(f"{self.folder}/{name}.log", "w")
        return subprocess.Popen([sys.executable, os.path.abspath(__file__), "--run", name, "--ready", f"{self.folder}/{name}.ready"],
                                env=self.env, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)

    def look(self, name, pid, begin, row):
        """One question to the daemon early, then one to each: what is said first counts."""
        wait = CHANGE_S if name == "changes" else 0
        for key, at, options in (("early", EARLY_S, ()), ("daemon", ASK_S, ()), ("one_look", ASK_S, ("--direct",))):
            time.sleep(max(0.0, begin + wait + at - time.time()))
            row[key], row[key + "_says"], row[key + "_answer"], row[key + "_took"] = self.limit(pid, *options)
            row[key + "_wrong"] = wrong_claims(name, row[key + "_says"])
        status, _ = self.ask("status")
        if status and status.get("gpus"):
            row["readings"] = {k: v for k, v in status["gpus"][0].items() if k != "absent"}

    def run(self, name, program, meanwhile):
        path, row = f"{self.folder}/{name}.ready", {"program": name, "wanted": PROGRAMS[name]}
        try:
            program.stdin.write(b"g")
            program.stdin.close()
        except OSError:
            pass
        for _ in until(40):
            if os.path.exists(path) or program.poll() is not None:
                break
            time.sleep(0.05)
        following = meanwhile()
        if os.path.exists(path):
            started = json.load(open(path))
            self.look(name, started["pid"], started["at"], row)
        else:
            row["skipped"] = open(f"{self.folder}/{name}.log").read().strip().split("\n")[-1][:200] or "did not start"
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        program.wait()
        for folder in {on_disk(), tempfile.gettempdir()}:
            for file in os.listdir(folder):
                if file.startswith("whirr-limit-"):
                    os.unlink(os.path.join(folder, file))
        self.rows.append(row)
        self.out.write(json.dumps(row) + "\n")
        self.out.flush()
        self.show(row)
        return following

    @staticmethod
    def is_right(row, key):
        return row.get(key) in row["wanted"] and not row[key + "_wrong"]

    @staticmethod
    def is_early_right(row):
        """Right, or said not to be known yet."""
        return row.get("early") in (*row["wanted"], None, "cannot_tell") and not row["early_wrong"]

    def show(self, row):
        if "skipped" in row:
            print(f"{row['program']:<21} skipped: {row['skipped']}", flush=True)
            return
        marks = [("ok " if self.is_early_right(row) else "BAD") + f" {row.get('early')}"]
        marks += [("ok " if self.is_right(row, key) else "BAD") + f" {row.get(key)}" for key in ("daemon", "one_look")]
        print(f"{row['program']:<21} " + "  ".join(f"{m:<22}" for m in marks) + f"  {'/'.join(row['wanted'][:2])}  {row['one_look_took']:.2f} s")
        for key in ("early", "daemon", "one_look"):
            print(f"    {key + ':':<10}{row[key + '_says']}" + (f"   <- {', '.join(row[key + '_wrong'])}" if row[key + "_wrong"] else ""))
        sys.stdout.flush()

    def score(self):
        done, worst = [r for r in self.rows if "skipped" not in r], 100.0
        for key in ("early", "daemon", "one_look"):
            right = sum(self.is_early_right(r) if key == "early" else self.is_right(r, key) for r in done)
            share = 100.0 * right / max(1, len(done))
            worst = min(worst, share) if key == "daemon" else worst
            print(f"{key:<9} {right} of {len(done)} right ({share:.0f}%)")
        blamed = [r["program"] for r in done if r["program"] in HEALTHY and {r.get("daemon"), r.get("one_look")} & HOST_SIDE]
        print("healthy programs called limited by their host:", ", ".join(blamed) or "none")
        return bool(done) and worst >= 95 and not blamed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("whirr", nargs="?", default="build/whirr")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--set", choices=("third", "new", "first", "all"), default="new")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--run")
    parser.add_argument("--ready")
    args = parser.parse_args()
    if args.run:
        run_program(args.run, args.ready, 120)
    names = args.programs or list({"third": THIRD, "new": NEW, "first": FIRST, "all": PROGRAMS}[args.set])
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(args.out, "limits.jsonl"), "w") as out:
        check = Check(os.path.abspath(args.whirr), folder, out)
        daemon, begin = check.serve(), time.monotonic()
        print(f"{'program':<21} {'after 3 s':<22}  {'daemon':<22}  {'one look':<22}  known limit", flush=True)
        program = check.start(names[0])
        try:
            for i, name in enumerate(names):
                program = check.run(name, program, lambda: check.start(names[i + 1]) if i + 1 < len(names) else None)
            good = check.score()
            print(f"{time.monotonic() - begin:.0f} s")
        finally:
            if program:
                program.kill()
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
