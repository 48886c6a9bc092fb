# SPDX-License-Identifier: Apache-2.0
"""What benches start and look at: ports for servers, and what the kernel says of a process."""
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from ports import free_port  # noqa: E402, F401 (for the benches)


def cpu_seconds(pid):
    """Of all threads, also those that have ended, in nanoseconds: ticks of 10 ms are too coarse for a minute of nearly nothing."""
    return time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3)


def memory_kib(pid, key="VmRSS"):
    """Resident memory, or what else /proc/PID/status has: RssAnon is without pages of files. 0 once it has ended."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    return 0
