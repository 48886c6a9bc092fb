#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `whirr top` costs: bench/top/top.py [--seconds N] [--size WxH] [--beside] [-- WHIRR ARGUMENTS BEFORE top ...]

CPU time, resident memory, bytes written to the terminal a second, and the time to the first frame (and the CPU time in it, which a
busy host does not change), on a terminal of its own. Without arguments: the simulated machine, by itself and through a daemon. On a host
with GPUs: bench/top/top.py --beside -- --direct, which runs nvtop and nvitop at the same pace beside it, where they are installed (NVTOP=PATH names nvtop;
NVITOP=DIRECTORY a nvitop that is not installed, with its sources, and NVITOP_PYTHON an interpreter that has psutil and nvidia-ml-py).
"""
import argparse
import fcntl
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHIRR = os.environ.get("WHIRR_BIN", str(ROOT / "build" / "whirr"))


def cpu_seconds(pid):
    """Of all threads, to the nanosecond: ticks are too coarse for this."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def resident_mib(pid, key="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return 0.0


def drain(fd, until, marker=None):
    """Bytes read until that time, or until the marker was seen."""
    got, tail = 0, b""
    while time.monotonic() < until:
        if not select.select([fd], [], [], max(0, until - time.monotonic()))[0]:
            break
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the program has ended
            break
        got += len(piece)
        tail = (tail + piece)[-65536:]
        if marker and marker in tail:
            break
    return got


def start(argv, width, height):
    pid, fd = pty.fork()
    if pid == 0:
        try:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", XDG_CONFIG_HOME="/nonexistent")
            os.read(0, 1)  # until the size is set
            os.execvp(argv[0], argv)
        finally:
            os._exit(127)  # never back into the caller's code
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    os.write(fd, b"\n")
    return pid, fd


class Watched:
    """A program on a terminal, from its first frame on."""

    def __init__(self, label, argv, marker, width, height):
        self.label = label
        begun = time.monotonic()
        self.pid, self.fd = start(argv, width, height)
        drain(self.fd, begun + 10, marker)
        self.first_ms = (time.monotonic() - begun) * 1000
        self.first_cpu_ms = cpu_seconds(self.pid) * 1000

    def begin(self):
        self.written, self.cpu, self.at = 0, cpu_seconds(self.pid), time.monotonic()

    def end(self):
        took = time.monotonic() - self.at
        percent = (cpu_seconds(self.pid) - self.cpu) / took * 100
        memory = resident_mib(self.pid)
        if not memory:
            raise OSError(f"{self.label} ended by itself")
        print(f"{self.label:28} {percent:6.2f}% CPU {memory:7.1f} MiB ({resident_mib(self.pid, 'RssAnon'):.1f} its own) "
              f"{self.written / took:8.0f} bytes/s {self.first_ms:6.0f} ms to the first frame ({self.first_cpu_ms:.1f} ms CPU)")
        self.close()
        return percent, memory

    def close(self):
        """Asks it to quit, and sees to it."""
        if self.fd is None:
            return
        until = time.monotonic() + 3
        try:
            os.write(self.fd, b"q")
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                drain(self.fd, time.monotonic() + 0.1)
                if time.monotonic() > until:
                    os.kill(self.pid, signal.SIGKILL)
        finally:
            os.close(self.fd)
            self.fd = None


def measure_all(programs, seconds, width, height):
    """At the same time, so that all see the same host."""
    watched = [Watched(label, argv, marker, width, height) for label, argv, marker in programs]
    for w in watched:
        drain(w.fd, time.monotonic() + 3)  # the start is no part of the course
    for w in watched:
        w.begin()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for w in watched:
            w.written += drain(w.fd, time.monotonic() + 0.05)
    for w in watched:
        w.end()


def measure(label, args, seconds, width, height):
    measure_all([(label, [WHIRR, *args, "top"], b"COMMAND")], seconds, width, height)


def nvitop():
    """How to start it: installed, or from a directory with its sources; None where it cannot be imported."""
    if shutil.which("nvitop"):
        return ["nvitop", "--interval", "1"]
    sources, python = os.environ.get("NVITOP"), os.environ.get("NVITOP_PYTHON", sys.executable)
    if sources:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH"))))
    found = subprocess.run([python, "-c", "import nvitop, psutil, pynvml"], capture_output=True, text=True)
    if found.returncode == 0:
        return [python, "-m", "nvitop", "--interval", "1"]
    if sources:
        print("nvitop cannot be started:", found.stderr.strip().splitlines()[-1], file=sys.stderr)
    return None


def peers():
    nvtop = shutil.which(os.environ.get("NVTOP", "nvtop"))
    known = {"nvtop": [nvtop, "-d", "10"] if nvtop else None, "nvitop": nvitop()}
    return [(name, argv, b"%") for name, argv in known.items() if argv]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--beside", action="store_true", help="nvtop and nvitop at the same time, where they are installed")
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    width, height = map(int, given.size.split("x"))
    if given.arguments or given.beside:
        label = f"whirr {' '.join(given.arguments)} top"[:28]
        ours = [(label, [WHIRR, *given.arguments, "top"], b"COMMAND")]
        measure_all(ours + (peers() if given.beside else []), given.seconds, width, height)
        return 0
    measure("1 GPU, by itself", ["--source", "sim:gpus=1,scenario=inference"], given.seconds, width, height)
    measure("8 GPUs, by itself", ["--source", "sim:gpus=8,scenario=multi-user"], given.seconds, width, height)
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, XDG_STATE_HOME=folder, XDG_RUNTIME_DIR=folder)
        daemon = subprocess.Popen([WHIRR, "--source", "sim:gpus=8,scenario=multi-user", "serve", "--interval", "1", "--listen", "127.0.0.1:0",
                                   "--socket", f"{folder}/s"], env=env, stderr=subprocess.DEVNULL)
        while not os.path.exists(f"{folder}/s"):
            time.sleep(0.05)
        time.sleep(5)
        measure("8 GPUs, through a daemon", ["--socket", f"{folder}/s"], given.seconds, width, height)
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(10)
    return 0


if __name__ == "__main__":
    sys.exit(main())
