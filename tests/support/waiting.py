# SPDX-License-Identifier: Apache-2.0
"""How tests wait: for what they can see, never for a time that is hoped to be long enough."""
import os
import time

PATIENCE = 90  # seconds: a busy machine is slow, and nothing waits so long when all is well
SLOWEST = 10  # a machine that is busier than this fails tests, instead of keeping their author waiting for the rest of the day


def slowness():
    """How many tasks share a core, over the last minute or right now: 1 on a machine that has nothing else to do."""
    wanting = os.getloadavg()[0]
    if os.path.exists("/proc/loadavg"):
        with open("/proc/loadavg") as file:
            wanting = max(wanting, int(file.read().split()[3].split("/")[0]))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(max(1, wanting / cores), SLOWEST)


def patience(seconds):
    """What takes so many seconds at most on an idle machine may take so many here. Ask afterwards, when the load is known: for limits of a
    test and timeouts that it hands to a program; what a program promises by the clock stays as it is."""
    return seconds * slowness()


def eventually(look, timeout=PATIENCE, explain=""):
    """The first true answer of look(); no longer than timeout seconds, or on a busy machine as many more as everything takes there."""
    begin = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited = time.monotonic() - begin
        if waited > timeout and waited > patience(timeout):
            raise AssertionError(f"did not happen within {waited:.0f} s: {explain() if callable(explain) else explain}")
        time.sleep(0.02)


def ended(process):
    """Its exit status. Counts looks, not seconds: a busy machine makes fewer of them, and gives the process as much less time."""
    for _ in range(PATIENCE * 50):
        if process.poll() is not None:
            return process.returncode
        time.sleep(0.02)
    raise AssertionError(f"process {process.pid} did not end")


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
