#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The guard on a real NVIDIA card (driver 570 or later, x86-64, gcc; PyTorch for the case `torch`):

    tests/gpu/guard_check.py BUILD/whirr [CASE...] [--interval 5] [--mib 4096]

Cases: cuda torch user attach short killed probe. Without any: all. Nobody else may use GPU 0 meanwhile. Ends with 1 when a case
fails; a case that cannot run here is skipped with its reason. Each takes less than three minutes.
"""
import argparse
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SLACK = 3.0  # seconds: context of the claimant, the driver's lag, a busy machine


class Skip(Exception):
    pass


class Guard:
    """A folder, an environment and a user of its own."""

    def __init__(self, tools, options, user=None):
        self.tools, self.options, self.user = tools, options, user
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="whirr-guard-"))
        self.env = dict(os.environ, HOME=str(self.dir), XDG_RUNTIME_DIR=str(self.dir), XDG_STATE_HOME=str(self.dir / "state"),
                        STATE_DIRECTORY=str(self.dir / "state"), RUNTIME_DIRECTORY=str(self.dir / "run"),
                        WHIRR_SERVER_SOCKET=str(self.dir / "whirr.sock"))
        if user:
            os.chown(self.dir, pwd.getpwnam(user).pw_uid, -1)
        self.running, self.count = [], 0

    def start(self, argv, name):
        self.count += 1
        path = self.dir / f"{self.count}-{name}.log"
        extra = {"user": self.user} if self.user else {}
        if self.user:
            path.touch()
            os.chown(path, pwd.getpwnam(self.user).pw_uid, -1)
        process = subprocess.Popen([str(a) for a in argv], env=self.env, stdout=open(path, "w"), stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True, cwd="/", **extra)
        process.log = path
        self.running.append(process)
        return process

    def whirr(self, *argv):
        extra = {"user": self.user} if self.user else {}
        done = subprocess.run([str(self.tools / "whirr"), *map(str, argv)], env=self.env, capture_output=True, text=True, cwd="/", timeout=150, **extra)
        return done

    def guard(self, *argv):
        return self.start([self.tools / "whirr", "guard", *argv[:1], "--interval", self.options.interval, "--clear-for", "2s",
                           "--minimum-pause", "2s", *argv[1:]], "whirr")

    def status(self):
        done = self.whirr("guard", "status", "--json")
        workers = json.loads(done.stdout)["workers"] if done.returncode == 0 else []
        return workers[0] if workers else {"state": "none"}

    def until(self, state, seconds, begin=None):
        begin = begin or time.monotonic()
        while time.monotonic() - begin < seconds:
            if self.status()["state"] == state:
                return time.monotonic() - begin
            time.sleep(0.1)
        raise AssertionError(f"not {state} within {seconds} s: {self.status()}\n{self.logs()}")

    def wait_line(self, path, word, seconds=120):
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            lines = path.read_text().splitlines() if path.exists() else []
            for line in lines:
                if line.startswith(word):
                    return line
                if line.startswith("bad"):
                    raise AssertionError(f"{path.name}: {line}")
            time.sleep(0.05)
        raise AssertionError(f"no '{word}' in {path} within {seconds} s\n{self.logs()}")

    def logs(self):
        return "\n".join(f"--- {p.log.name}\n{p.log.read_text()[-3000:]}" for p in self.running)

    def claim(self, mib, seconds):
        return self.start([self.tools / "guard_worker", "claim", mib, seconds], "claim")

    def worker_argv(self, mib):
        self.work_log = self.dir / "work.log"
        return [self.tools / "guard_worker", "work", mib, self.work_log]

    def steps(self):
        lines = [x for x in self.work_log.read_text().splitlines() if x.startswith("step")]
        return int(lines[-1].split()[1]) if lines else 0

    def no_steps_for(self, seconds):
        before = self.steps()
        time.sleep(seconds)
        assert self.steps() == before, "the worker went on while it was paused"

    def let_it_look(self):
        """The guard samples the GPU while the worker has it alone; it does not say when."""
        time.sleep(self.options.interval + 1)

    def goes_on(self, seconds=30):
        before, begin = self.steps(), time.monotonic()
        while self.steps() < before + 3:
            assert time.monotonic() - begin < seconds, f"the worker does not go on\n{self.logs()}"
            time.sleep(0.1)

    def verified(self):
        """The worker, told to end, has checked every byte."""
        self.wait_line(self.work_log, "verified", 60)
        assert not any(x.startswith("bad") for x in self.work_log.read_text().splitlines())

    def close(self):
        for process in reversed(self.running):
            for number, wait in ((signal.SIGCONT, 0), (signal.SIGTERM, 15), (signal.SIGKILL, 15)):
                if process.poll() is None:
                    process.send_signal(number)
                    try:
                        process.wait(wait or 0.01)
                    except subprocess.TimeoutExpired:
                        pass
        shutil.rmtree(self.dir, ignore_errors=True)


def memory():
    out = subprocess.run(["nvidia-smi", "-i", "0", "--query-gpu=memory.total,memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
    return [int(x) for x in out.strip().split(",")]


def claim_size(g):
    """More than is free while the worker is there, less than is free without it."""
    total, used = memory()
    return max(1024, total - used + g.options.mib // 2)


def story(g, worker_is_child, argv):
    """A claimant comes, gets its memory in time, leaves; the worker comes back and every byte is right."""
    if worker_is_child:
        guard = g.guard("run", "--method", "checkpoint", "--name", "worker", "--", *argv)
        g.wait_line(g.work_log, "ready")
        worker = None
    else:
        worker = g.start(argv, "worker")
        g.wait_line(g.work_log, "ready")
        guard = g.guard("attach", "--method", "checkpoint", "--name", "worker", worker.pid)
    g.until("running", 20)
    g.let_it_look()
    size, begin = claim_size(g), time.monotonic()
    claimant = g.claim(size, 4)
    allocated = float(g.wait_line(claimant.log, "allocated").split()[1])
    g.until("paused", 20)
    status = g.status()
    evict = status["last_evict_seconds"]
    print(f"    claimant had {size} MiB {allocated:.1f} s after its start; the eviction of {status['memory_mb']:.0f} MiB took {evict:.1f} s")
    assert allocated <= g.options.interval + 0.5 + evict + SLACK, f"too late\n{g.logs()}"
    g.no_steps_for(1)
    claimant.wait(60)
    g.until("running", 60)
    print(f"    back {time.monotonic() - begin:.1f} s after the claimant's start; the resume took {g.status()['last_resume_seconds']:.1f} s")
    g.goes_on()
    if worker:
        worker.terminate()
        assert worker.wait(60) == 0
    else:
        os.kill(g.status()["pid"], signal.SIGTERM)
        guard.wait(60)
    g.verified()


def case_cuda(tools, options):
    g = Guard(tools, options)
    try:
        story(g, True, g.worker_argv(options.mib))
    finally:
        g.close()


def case_attach(tools, options):
    g = Guard(tools, options)
    try:
        story(g, False, g.worker_argv(options.mib))
    finally:
        g.close()


def case_user(tools, options):
    if os.geteuid() != 0:
        raise Skip("only root can become an ordinary user; the other cases have run as one")
    g = Guard(tools, options, user="nobody")
    try:
        story(g, False, g.worker_argv(options.mib))
    finally:
        g.close()


def case_torch(tools, options):
    if subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True).returncode:
        raise Skip(f"{sys.executable} has no PyTorch with CUDA")
    g = Guard(tools, options)
    g.env["HOME"] = os.environ.get("HOME", "/root")
    try:
        g.work_log = g.dir / "work.log"
        story(g, True, [sys.executable, HERE / "guard_torch.py", options.mib, g.work_log])
    finally:
        g.close()


def case_short(tools, options):
    """A person wants the worker back while its memory is taken: it waits, and nothing is lost."""
    g = Guard(tools, options)
    try:
        worker = g.start(g.worker_argv(options.mib), "worker")
        g.wait_line(g.work_log, "ready")
        g.guard("attach", "--method", "checkpoint", "--name", "worker", worker.pid)
        g.until("running", 20)
        g.let_it_look()
        claimant = g.claim(claim_size(g), 60)
        g.wait_line(claimant.log, "allocated")
        g.until("paused", 20)
        assert g.whirr("guard", "resume", "worker").returncode == 0
        g.until("reserving", 20)
        g.no_steps_for(3)
        assert g.status()["state"] == "reserving", g.status()
        claimant.terminate()
        claimant.wait(30)
        g.until("running", 60)
        g.goes_on()
        worker.terminate()
        assert worker.wait(60) == 0
        g.verified()
    finally:
        g.close()


def journal_step(g):
    for path in g.dir.glob("state/guard/*.journal"):
        try:
            entry = json.loads(path.read_text())
            return entry["state"], entry["step"]
        except (ValueError, OSError):
            pass
    return None, None


def kill_at(g, guard, step, delay=0.0):
    begin = time.monotonic()
    while journal_step(g)[1] != step:
        assert time.monotonic() - begin < 60, f"never came to '{step}': {journal_step(g)}\n{g.logs()}"
        time.sleep(0.002)
    time.sleep(delay)
    guard.kill()
    guard.wait()
    print(f"    whirr was killed at '{step}'")


def case_killed(tools, options):
    """kill -9 of whirr at each step; the next one brings the worker back, and every byte is right."""
    g = Guard(tools, options)
    try:
        worker = g.start(g.worker_argv(options.mib), "worker")
        g.wait_line(g.work_log, "ready")
        for step, delay in (("lock", 0.0), ("checkpoint", 0.5), ("restore", 0.1), ("unlock", 0.0)):
            guard = g.guard("attach", "--method", "checkpoint", "--name", "worker", worker.pid)
            g.until("running", 60)
            g.let_it_look()
            # Long enough to be seen: an interval and the second look.
            claimant = g.claim(1024, g.options.interval + (2 if step in ("restore", "unlock") else 6))
            kill_at(g, guard, step, delay)
            claimant.wait(60)
            guard = g.guard("attach", "--method", "checkpoint", "--name", "worker", worker.pid)
            g.until("running", 90)
            g.goes_on()
            guard.terminate()
            guard.wait(20)
        worker.terminate()
        assert worker.wait(60) == 0
        g.verified()
    finally:
        g.close()


def case_probe(tools, options):
    g = Guard(tools, options)
    try:
        worker = g.start(g.worker_argv(options.mib), "worker")
        g.wait_line(g.work_log, "ready")
        done = g.whirr("guard", "probe", worker.pid, "--json")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        gib = result["bytes"] / 2**30
        print(f"    {gib:.1f} GiB off in {result['evict_seconds']:.1f} s ({gib / result['evict_seconds']:.1f} GiB/s), "
              f"back in {result['resume_seconds']:.1f} s ({gib / result['resume_seconds']:.1f} GiB/s)")
        assert result["freed"] and result["resumed"]
        g.goes_on()
        worker.terminate()
        assert worker.wait(60) == 0
        g.verified()
    finally:
        g.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("whirr")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--interval", type=float, default=5)
    parser.add_argument("--mib", type=int, default=4096)
    options = parser.parse_args()
    known = {name[5:]: function for name, function in globals().items() if name.startswith("case_")}
    tools = pathlib.Path(tempfile.mkdtemp(prefix="whirr-tools-"))
    os.chmod(tools, 0o755)
    shutil.copy(options.whirr, tools / "whirr")
    subprocess.run(["gcc", "-O2", "-o", str(tools / "guard_worker"), str(HERE / "guard_worker.c"), "-ldl"], check=True)
    failed = 0
    for name in options.cases or known:
        begin = time.monotonic()
        print(f"{name}", flush=True)
        try:
            known[name](tools, options)
            result = "ok"
        except Skip as why:
            result = f"skipped: {why}"
        except (AssertionError, subprocess.SubprocessError, OSError) as why:
            failed += 1
            result = f"FAILED: {why}"
        print(f"{name}: {result} ({time.monotonic() - begin:.0f} s)", flush=True)
    shutil.rmtree(tools, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
