#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""whirr watch on a real GPU: programs with a known course. Needs torch and a GPU 0 that nobody else uses.

    tests/gpu/watch_check.py build/whirr
"""
import json
import subprocess
import sys
import tempfile

HEAD = "import sys, time, torch\nend = time.monotonic() + {seconds}\n"
# What each does for some seconds, and what may be called its limit.
PROGRAMS = {
    "multiplies": ("a = torch.randn(8192, 8192, device='cuda', dtype=torch.bfloat16)\nb = a.clone()\n"
                   "while time.monotonic() < end:\n    for _ in range(50): b = a @ a\n    torch.cuda.synchronize()\n", {"compute", "power", "heat"}),
    "copies in its memory": ("a = torch.empty(4 << 30, dtype=torch.uint8, device='cuda')\nb = torch.empty_like(a)\n"
                             "while time.monotonic() < end:\n    for _ in range(20): b.copy_(a)\n    torch.cuda.synchronize()\n", {"memory_bandwidth", "power"}),
    "copies over PCIe": ("a = torch.empty(2 << 30, dtype=torch.uint8).pin_memory()\nb = torch.empty(2 << 30, dtype=torch.uint8, device='cuda')\n"
                         "while time.monotonic() < end:\n    b.copy_(a, non_blocking=True)\n    torch.cuda.synchronize()\n", {"pcie_in", "pcie_out"}),
    "computes on the CPU": ("a = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')\nx = 0\n"
                            "while time.monotonic() < end:\n    x = sum(range(100000))\n", {"host_cpu"}),
    "waits": ("a = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')\ntorch.cuda.synchronize()\ntime.sleep({seconds})\n", {"none"}),
}


def watch(whirr, code, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program, tempfile.NamedTemporaryFile("r") as report:
        program.write((HEAD + code + "print(torch.cuda.max_memory_reserved())\nsys.exit(3)\n").format(seconds=seconds))
        program.flush()
        done = subprocess.run([whirr, "watch", "--interval", "0.5", "--json", "-o", report.name, "--", sys.executable, program.name],
                              capture_output=True, text=True, timeout=seconds * 10 + 120)
        assert done.returncode == 3, (done.returncode, done.stderr)
        return json.load(report), int(done.stdout)


def main():
    whirr, seconds, wrong = sys.argv[1], 15, 0
    for name, (code, limits) in PROGRAMS.items():
        told, reserved = watch(whirr, code, seconds)
        problems = []
        # A CUDA context takes up to about 1 GiB beside what torch knows of.
        if not reserved <= told["memory_peak_bytes"] <= reserved + (3 << 29):
            problems.append(f"peak {told['memory_peak_bytes'] >> 20} MiB, torch reserved {reserved >> 20} MiB")
        # Starting Python and torch is not the program's work: the phase in the middle counts.
        phase = max(told["phases"], key=lambda p: p["seconds"])
        if phase["limited_by"] not in limits:
            problems.append(f"limited by {phase['limited_by']}, not {' or '.join(sorted(limits))}")
        if not told["energy_joules"] or told["energy_joules"] < told["attributed_energy_joules"]:
            problems.append(f"energy {told['energy_joules']} J, of it {told['attributed_energy_joules']} J its own")
        wrong += bool(problems)
        print(f"{'WRONG' if problems else 'ok':6}{name}: {phase['kind']}, {phase['limited_by']}, {told['energy_joules']:.0f} J", *problems, sep="  ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
