# SPDX-License-Identifier: Apache-2.0
"""How tests wait: for what they can see, never for a time that is hoped to be long enough."""
import time

PATIENCE = 90  # seconds: a busy machine is slow, and nothing waits so long when all is well


def eventually(look, timeout=PATIENCE, explain=""):
    """The first true answer of look(); no longer than timeout seconds."""
    end = time.monotonic() + timeout
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {timeout} s: {explain() if callable(explain) else explain}")
        time.sleep(0.02)


class Fresh:
    """What make() makes, made anew when it is older than a minute: for histories that end now and are asked about the last hours."""

    def __init__(self, make):
        self.make, self.made, self.at = make, None, 0

    def __call__(self):
        if self.made is None or time.monotonic() - self.at > 60:
            self.made, self.at = self.make(), time.monotonic()
        return self.made


def throughout(seconds, look, explain=""):
    """look() holds now and for so many seconds: for what must not happen although there is time for it."""
    end = time.monotonic() + seconds
    while True:
        assert look(), explain() if callable(explain) else explain
        if time.monotonic() > end:
            return
        time.sleep(0.1)


def any_moment(chance, most):
    """Some time of at most so many seconds goes by: for what must hold whenever it is interrupted."""
    time.sleep(chance.random() * most)


def be_slow(seconds):
    """For a stand-in that takes its time."""
    time.sleep(seconds)
