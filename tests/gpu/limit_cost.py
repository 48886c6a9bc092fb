#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to say what limits programs: the daemon at 1 s beside eight busy processes, and one look of `why`. Needs torch.

    tests/gpu/limit_cost.py build/whirr
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Busy for a part of the time, so that the host is looked at in every sample.
WORK = """
import time, torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
while True:
    a @ a
    torch.cuda.synchronize()
    end = time.monotonic() + 0.02
    while time.monotonic() < end: pass
"""
PROCESSES, SETTLE_S, SPAN_S, LOOKS = 8, 30, 60, 21
CPU_MOST_PERCENT, LOOK_MOST_MS = 0.35, 60


def cpu_seconds(pid):
    return time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3)


def look_ms(whirr, env):
    begin = time.monotonic()
    subprocess.run([whirr, "why", "--direct"], env=env, check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - begin) * 1000


def main():
    whirr = os.path.abspath(sys.argv[1])
    workers = [subprocess.Popen([sys.executable, "-c", WORK]) for _ in range(PROCESSES)]
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, **{name: folder for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")})
        daemon = subprocess.Popen([whirr, "serve", "--listen", "127.0.0.1:0", "--interval", "1"], env=env, stderr=subprocess.DEVNULL)
        try:
            time.sleep(SETTLE_S)
            before = cpu_seconds(daemon.pid)
            time.sleep(SPAN_S)
            percent = (cpu_seconds(daemon.pid) - before) / SPAN_S * 100
            looks = [look_ms(whirr, env) for _ in range(LOOKS)]
        finally:
            for process in [daemon, *workers]:
                process.kill()
                process.wait()
    look = statistics.median(looks)
    print(f"the daemon beside {PROCESSES} busy processes: {percent:.3f}% of a core (at most {CPU_MOST_PERCENT})")
    print(f"why --direct: {look:.1f} ms, from {min(looks):.1f} to {max(looks):.1f} (at most {LOOK_MOST_MS})")
    sys.exit(0 if percent <= CPU_MOST_PERCENT and look <= LOOK_MOST_MS else 1)


if __name__ == "__main__":
    main()
