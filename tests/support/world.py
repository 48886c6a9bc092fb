# SPDX-License-Identifier: Apache-2.0
"""The clock and the disk of daemons: struct world of tests/fakes/faults/clock.c. Its clock runs normally or faster, and can skip; with a list of
waiters, hours pass as fast as those who live in it have done with each second, and no faster."""
import mmap
import os
import struct
import time

import pytest
from isolation import BUILD
from waiting import eventually

LIBRARY = BUILD / "tests" / "fakes" / "faults" / "libfake-clock.so"
OK, FULL, READ_ONLY = 0, 1, 2
MONO, DISK, CHANGES, ENDED, WAITERS = 16, 48, 56, 64, 72  # offsets in struct world, and behind it
WAITERS_MAX, OFTEN_S = 1024, 0.0005

needs_world = pytest.mark.skipif(not LIBRARY.exists(), reason="the fake clock was not built")


def state_of(task):
    """R, S, D, T, Z, ... of /proc/task; X: it has ended."""
    try:
        with open(f"/proc/{task}/stat", "rb") as file:
            return file.read().rsplit(b") ", 1)[1][:1].decode()
    except (OSError, IndexError):
        return "X"


def tasks_of(process):
    """Its threads and those of all its descendants, as names below /proc."""
    try:
        names = os.listdir(f"/proc/{process}/task")
    except OSError:
        return
    for name in names:
        yield f"{process}/task/{name}"
        try:
            with open(f"/proc/{process}/task/{name}/children") as file:
                for child in file.read().split():
                    yield from tasks_of(child)
        except OSError:
            continue


def fall_asleep(tasks):
    """Until each of them was seen asleep."""
    awake = set(tasks)

    def look():
        awake.intersection_update([task for task in awake if state_of(task) in "RDW"])
        return not awake
    eventually(look, every=OFTEN_S, explain=lambda: f"they never come to rest: {awake}")


class World:
    def __init__(self, path, speed=1, waiters=False):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        path.write_bytes(struct.pack("8q", speed, now, now, time.time_ns(), 0, 0, 0, 0) + bytes(8 + 16 * WAITERS_MAX if waiters else 0))
        os.chmod(path, 0o666)  # a server has a user of its own
        with open(path, "r+b") as file:
            self.at = mmap.mmap(file.fileno(), 0)
        self.environment = {"LD_PRELOAD": str(LIBRARY), "WHIRR_FAKE_CLOCK": str(path), "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1:verify_asan_link_order=0"}

    def disk(self, state):
        struct.pack_into("q", self.at, DISK, state)

    def skip(self, seconds):
        """Skips this much time for readers of the clock; sleeping threads sleep on. Tests skip a little at a time: after a large skip, every pending
        wait would have exceeded its limit."""
        _, _, mono, wall = struct.unpack_from("4q", self.at, 0)
        self.change(MONO, mono + int(seconds * 1e9), wall + int(seconds * 1e9))

    def change(self, at, *numbers):
        """All at once, as its readers see it."""
        changes = struct.unpack_from("q", self.at, CHANGES)[0]
        struct.pack_into("q", self.at, CHANGES, changes + 1)
        struct.pack_into(f"{len(numbers)}q", self.at, at, *numbers)
        struct.pack_into("q", self.at, CHANGES, changes + 2)

    def now(self):
        """Its wall clock, in seconds."""
        speed, real, _, wall = struct.unpack_from("4q", self.at, 0)
        return (wall + (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - real) * speed) / 1e9

    def run_at(self, speed):
        """From now on; a wait that has begun ends as it would have."""
        was, real, mono, wall = struct.unpack_from("4q", self.at, 0)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.change(0, speed, now, mono + (now - real) * was, wall + (now - real) * was)

    def overdue(self):
        """Whether a wait is over and its thread has not noticed; those of stopped and killed processes do not count."""
        speed, real, mono, _ = struct.unpack_from("4q", self.at, 0)
        now = mono + (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - real) * speed
        for i, (thread, until) in enumerate(struct.iter_unpack("2q", self.at[WAITERS:])):
            if thread > 0 and until < now:
                state = state_of(thread)
                if state in "XZ":
                    struct.pack_into("q", self.at, WAITERS + 16 * i, 0)
                elif state not in "Tt":
                    return True
        return False

    def rest(self, processes):
        """Until these processes and their children sleep, and will until time goes on: each thread was seen asleep twice, and meanwhile no wait ended."""
        rounds, before = 0, None
        while rounds < 2:
            eventually(lambda: not self.overdue(), every=OFTEN_S)
            fall_asleep([task for process in processes for task in tasks_of(process)])
            ended = struct.unpack_from("q", self.at, ENDED)[0]
            rounds = rounds + 1 if ended == before and not self.overdue() else 0
            before = ended

    def let_pass(self, seconds, processes, step=1):
        """So much time, step by step: the next one begins once these processes are through with the last. A busy machine makes it take longer, and
        changes nothing for those who live in it."""
        end = self.now() + seconds
        while self.now() < end:
            self.skip(step)
            self.rest(processes)
