# SPDX-License-Identifier: Apache-2.0
"""How tests wait: for a visible condition, never for a time that should be long enough."""
import os
import time

PATIENCE = int(os.environ.get("WHIRR_PATIENCE", 90))  # seconds; only a busy host or a failure needs as many
SLOWEST = 10  # limit of the factor: a busier host fails tests instead of delaying them for hours


def slowness():
    """The number of tasks that share a core, over the last minute or right now: 1 on an idle host."""
    wanting = os.getloadavg()[0]
    if os.path.exists("/proc/loadavg"):
        with open("/proc/loadavg") as file:
            wanting = max(wanting, int(file.read().split()[3].split("/")[0]))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(max(1, wanting / cores), SLOWEST)


def patience(seconds):
    """Scales a limit for an idle host to this one. Call it afterwards, when the load is known. For limits of tests and timeouts that they pass to
    programs; a time that a program promises is not scaled."""
    return seconds * slowness()


def eventually(look, timeout=PATIENCE, explain="", every=0.02):
    """Waits for the first true result of look() and returns it; the timeout in seconds is scaled on a busy host."""
    begin = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited = time.monotonic() - begin
        if waited > timeout and waited > patience(timeout):
            raise AssertionError(f"did not happen within {waited:.0f} s: {explain() if callable(explain) else explain}")
        time.sleep(every)


def ended(process):
    """Waits for its exit status. Counts polls, not seconds: a busy host makes fewer of them, just as it gives the process less time."""
    for _ in range(PATIENCE * 50):
        if process.poll() is not None:
            return process.returncode
        time.sleep(0.02)
    raise AssertionError(f"process {process.pid} did not end")


class Fresh:
    """The result of make(), made again when older than a minute: for histories that end now and are queried about the last hours."""

    def __init__(self, make):
        self.make, self.made, self.at = make, None, 0

    def __call__(self):
        if self.made is None or time.monotonic() - self.at > 60:
            self.made, self.at = self.make(), time.monotonic()
        return self.made


def throughout(seconds, look, explain=""):
    """Checks that look() holds now and for this many seconds: for what must not happen although there is time for it."""
    end = time.monotonic() + seconds
    while True:
        assert look(), explain() if callable(explain) else explain
        if time.monotonic() > end:
            return
        time.sleep(0.1)


def any_moment(chance, most):
    """Waits a random time of at most this many seconds: for what must hold whenever it is interrupted."""
    time.sleep(chance.random() * most)


def be_slow(seconds):
    """Delays a stand-in that is meant to be slow."""
    time.sleep(seconds)
