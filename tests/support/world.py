# SPDX-License-Identifier: Apache-2.0
"""The clock and the disk of a daemon: struct world of tests/fakes/faults/clock.c. Its clock runs normally or faster, and can skip."""
import mmap
import struct
import time

import pytest
from isolation import BUILD

LIBRARY = BUILD / "tests" / "fakes" / "faults" / "libfake-clock.so"
OK, FULL, READ_ONLY = 0, 1, 2
MONO, WALL, DISK, CHANGES = 16, 24, 48, 56  # offsets in struct world

needs_world = pytest.mark.skipif(not LIBRARY.exists(), reason="the fake clock was not built")


class World:
    def __init__(self, path, speed=1):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        path.write_bytes(struct.pack("8q", speed, now, now, time.time_ns(), 0, 0, 0, 0))
        with open(path, "r+b") as file:
            self.at = mmap.mmap(file.fileno(), 64)
        self.environment = {"LD_PRELOAD": str(LIBRARY), "WHIRR_FAKE_CLOCK": str(path), "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1:verify_asan_link_order=0"}

    def disk(self, state):
        struct.pack_into("q", self.at, DISK, state)

    def skip(self, seconds):
        """Skips this much time for readers of the clock; sleeping threads sleep on. Tests skip a little at a time: after a large skip, every pending
        wait would have exceeded its limit."""
        for at in (MONO, WALL):
            struct.pack_into("q", self.at, at, struct.unpack_from("q", self.at, at)[0] + int(seconds * 1e9))

    def now(self):
        """Its wall clock, in seconds."""
        speed, real, _, wall = struct.unpack_from("4q", self.at, 0)
        return (wall + (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - real) * speed) / 1e9

    def run_at(self, speed):
        """From now on; a wait that has begun ends as it would have."""
        changes = struct.unpack_from("q", self.at, CHANGES)[0]
        struct.pack_into("q", self.at, CHANGES, changes + 1)
        was, real, mono, wall = struct.unpack_from("4q", self.at, 0)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        passed = (now - real) * was
        struct.pack_into("4q", self.at, 0, speed, now, mono + passed, wall + passed)
        struct.pack_into("q", self.at, CHANGES, changes + 2)
