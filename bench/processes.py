# SPDX-License-Identifier: Apache-2.0
"""What benches start and look at: ports for servers, and what the kernel says of a process."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from ports import free_port  # noqa: E402, F401 (for the benches)


def cpu_seconds(pid):
    """Of all threads that live, in steps of nanoseconds: ticks of 10 ms are too coarse for a minute of nearly nothing."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            pass
    return total / 1e9


def memory_kib(pid, key="VmRSS"):
    """Resident memory, or what else /proc/PID/status has: RssAnon is without pages of files. 0 once it has ended."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    return 0
