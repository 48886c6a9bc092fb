#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""To the line, with real programs: tests/gpu/lines_check.py [WHIRR] (or WHIRR_BIN=PATH). Needs torch and a GPU; about 100 s.

Programs whose slow line is known (marked `# here: FUNCTION`) load torch at the same time and wait for their turn. Each is watched for two seconds while it
alone works: the first line must be one that is marked. Prints what was said of each, and how many are right.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

HEAD = """import os, socket, sys, time
import torch
def begin():
    print("ready", flush=True)
    sys.stdin.readline()
"""

PROGRAMS = {
    "optimizer on the CPU": """
weights = [torch.randn(4000, 1000, requires_grad=True) for _ in range(4)]
optimizer = torch.optim.Adam(weights)
for w in weights:
    w.grad = torch.ones_like(w)
x = torch.ones(1000, device="cuda")

def step():
    optimizer.step()  # here: step
    return weights[0].detach()[:1].to("cuda") @ x

begin()
while True:
    step()
""",
    "item in each step": """
a = torch.randn(300, 300, device="cuda")

def train():
    loss = 0.0
    while True:
        b = a
        for _ in range(20):
            b = torch.tanh(b @ a)  # here: train
        loss += b.sum().item()  # here: train

begin()
train()
""",
    "allocation in each step": """
def step():
    block = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")  # here: step
    block[:100].fill_(1)  # here: step
    del block
    torch.cuda.empty_cache()  # here: step

begin()
while True:
    step()
""",
    "loaders with a slow transform": """
import torch.utils.data

class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        return self.augment(index)

    def augment(self, index):
        total = 0
        for i in range(100000):  # here: augment
            total += index * i % 7  # here: augment
        return torch.full((64, 64), float(total))

if __name__ == "__main__":
    begin()
    model = torch.nn.Linear(64, 64).cuda()
    for batch in torch.utils.data.DataLoader(Images(), batch_size=8, num_workers=3):
        model(batch.cuda())
""",
    "waiting for a service": """
a, b = socket.socketpair()
x = torch.randn(512, 512, device="cuda")
if os.fork() == 0:
    import time as clock
    while True:
        a.recv(1)
        clock.sleep(0.05)
        a.send(b"x")

def ask():
    b.send(b"q")
    return b.recv(1)  # here: ask

begin()
while True:
    ask()
    x @ x
""",
    "a late rank": """
import torch.distributed as dist
import torch.multiprocessing as mp

def late():
    total = 0
    end = time.monotonic() + 0.3
    while time.monotonic() < end:  # here: late
        total += sum(range(1000))  # here: late

def rank(number, file):
    dist.init_process_group("gloo", init_method="file://" + file, rank=number, world_size=2)
    x = torch.ones(10)
    while True:
        if number == 1:
            late()
        dist.all_reduce(x)

if __name__ == "__main__":
    import tempfile
    begin()
    mp.spawn(rank, args=(tempfile.mktemp(),), nprocs=2)
""",
}


@contextlib.contextmanager
def started(folder, name, code):
    path = os.path.join(folder, re.sub(r"\W", "_", name) + ".py")
    with open(path, "w") as file:
        file.write(HEAD + code)
    with subprocess.Popen([sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as process:
        try:
            yield process, path
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def judge(whirr, process, path):
    """After some seconds of its work: children that load torch, too, take their time."""
    with open(path) as file:
        marks = {number: mark.group(1) for number, line in enumerate(file, 1) if (mark := re.search(r"# here: (\w+)", line))}
    told = {}
    for _ in range(6):
        done = subprocess.run([whirr, "watch", "--pid", str(process.pid), "--for", "2s", "--json"], capture_output=True, text=True)
        if done.returncode:
            return False, False, done.stderr.strip()
        told = json.loads(done.stdout)
        first = (told["lines"] or [{"file": "", "line": 0, "function": "", "text": "no line"}])[0]
        line, function = first["file"] == path and first["line"] in marks, first["function"].split(".")[-1] in marks.values()
        if line and function:
            break
    return line, function, f"{told['lines_of']}: {first['text']}; {told['looks']} looks"


def main():
    whirr = sys.argv[1] if len(sys.argv) > 1 else os.environ["WHIRR_BIN"]
    lines = functions = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        programs = {name: stack.enter_context(started(folder, name, code)) for name, code in PROGRAMS.items()}
        for name, (process, path) in programs.items():
            if "ready" not in process.stdout.readline():
                print(f"ENDED  {name}", flush=True)
                continue
            process.stdin.write("go\n")
            process.stdin.flush()
            line, function, said = judge(whirr, process, path)
            lines, functions = lines + line, functions + function
            print(f"{'ok' if line and function else 'WRONG':7}{name}: {said}", flush=True)
            os.killpg(process.pid, signal.SIGKILL)
    print(f"{lines} of {len(PROGRAMS)} lines, {functions} functions")
    return lines < len(PROGRAMS)


if __name__ == "__main__":
    sys.exit(main())
