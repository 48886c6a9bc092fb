#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `whirr top` costs: bench/top/top.py [--seconds N] [--size WxH] [WHIRR ARGUMENTS BEFORE top ...]

CPU time, resident memory, bytes written to the terminal a second, and the time to the first frame, on a terminal of its own. Without
arguments: the simulated machine, by itself and through a daemon.
"""
import argparse
import fcntl
import os
import pathlib
import pty
import select
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


def measure(label, args, seconds, width, height):
    begun = time.monotonic()
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", XDG_CONFIG_HOME="/nonexistent")
        time.sleep(0.05)  # until the size is set
        os.execv(WHIRR, [WHIRR, *args, "top"])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    drain(fd, begun + 10, b"COMMAND")
    first_ms = (time.monotonic() - begun - 0.05) * 1000
    drain(fd, time.monotonic() + 3)  # the start is no part of the course
    cpu, start = cpu_seconds(pid), time.monotonic()
    written = drain(fd, start + seconds)
    took = time.monotonic() - start
    cpu = cpu_seconds(pid) - cpu
    rss, own = resident_mib(pid), resident_mib(pid, "RssAnon")
    os.write(fd, b"q")
    drain(fd, time.monotonic() + 0.3)
    os.close(fd)
    os.waitpid(pid, 0)
    print(f"{label:28} {cpu / took * 100:6.2f}% CPU {rss:7.1f} MiB ({own:.1f} its own) {written / took:8.0f} bytes/s {first_ms:6.0f} ms to the first frame")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    width, height = map(int, given.size.split("x"))
    if given.arguments:
        measure(" ".join(given.arguments)[:28], given.arguments, given.seconds, width, height)
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


sys.exit(main())
