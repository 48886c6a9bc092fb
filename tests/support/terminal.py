# SPDX-License-Identifier: Apache-2.0
"""A program on its own terminal: what it shows, and what a user types."""
import os
import pty
import select
import subprocess
import time

from waiting import PATIENCE


class Terminal:
    def __init__(self, argv, env):
        self.fd, end = pty.openpty()
        self.process = subprocess.Popen([str(a) for a in argv], stdin=end, stdout=end, stderr=end, env=env, start_new_session=True)
        os.close(end)
        self.text, self.seen = "", 0

    def _read(self, wait):
        ready, _, _ = select.select([self.fd], [], [], wait)
        if not ready:
            return True
        try:
            got = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.text += got.decode(errors="replace").replace("\r\n", "\n")
        return bool(got)

    def expect(self, words, timeout=PATIENCE):
        """Waits until it shows this text, after the text of the last wait."""
        end = time.monotonic() + timeout
        while words not in self.text[self.seen:]:
            assert time.monotonic() < end and self._read(0.1) or words in self.text[self.seen:], f"no '{words}' in:\n{self.text}"
        self.seen = self.text.index(words, self.seen) + len(words)

    def type(self, line):
        os.write(self.fd, (line + "\n").encode())

    def answer(self, words, line):
        self.expect(words)
        self.type(line)

    def end(self, timeout=PATIENCE):
        """Reads the remaining output, and returns the exit status."""
        limit = time.monotonic() + timeout
        while time.monotonic() < limit and self._read(0.1) and self.process.poll() is None:
            continue
        status = self.process.wait(timeout)
        while self._read(0):
            if not select.select([self.fd], [], [], 0)[0]:
                break
        os.close(self.fd)
        return status
