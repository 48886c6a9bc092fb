# SPDX-License-Identifier: Apache-2.0
"""A program on its own pseudoterminal: raw bytes in and out, any size."""
import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time

from waiting import PATIENCE


class Pty:
    def __init__(self, argv, env, width, height):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.read(0, 1)  # waits until the size is set
                os.execve(argv[0], argv, env)
            finally:
                os._exit(127)
        self.resize(width, height)
        self.before = termios.tcgetattr(self.fd)
        self.output, self.status = b"", None
        os.write(self.fd, b"\n")

    def resize(self, width, height):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def drain(self, seconds=0.0):
        """Reads what is available, or what arrives within that time."""
        end = time.monotonic() + seconds
        while select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:  # it has ended
                return False
            if not piece:
                return False
            self.output = (self.output + piece)[-262144:]
        return True

    def wait_for(self, text, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while text not in self.output and time.monotonic() < end:
            self.drain(0.05)
        assert text in self.output, (text, self.output[-2000:])

    def write(self, data):
        with contextlib.suppress(OSError):
            os.write(self.fd, data)
        self.drain()

    def ended(self, seconds=0.0):
        """The exit status; None while it runs."""
        end = time.monotonic() + seconds
        while self.status is None:
            self.drain(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= end:
                break
        return self.status

    def close(self):
        if self.ended() is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
