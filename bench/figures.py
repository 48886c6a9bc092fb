# SPDX-License-Identifier: Apache-2.0
"""A figure that is promised: one line that tools/bench and bench/gpu gather, and the table that they end in. bench/figure.h is the same for C."""
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def usage(text, least):
    """For a bench that is given no options: --help, or fewer than `least` arguments, shows its own text instead of measuring."""
    asked = sys.argv[1:2] in (["--help"], ["-h"])
    if asked or len(sys.argv) <= least:
        print(text.strip(), file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)


def figure_line(what, value, unit, goal, peer="", at_least=False):
    return "\t".join(["figure", what, f"{value:.6g}", unit, "at least" if at_least else "at most", f"{goal:g}", peer])


def figure(what, value, unit, goal, peer="", at_least=False):
    """Whether the value is within its goal. `peer` is what it is compared with, in words."""
    print(figure_line(what, value, unit, goal, peer, at_least), flush=True)
    return value >= goal if at_least else value <= goal


def note(what, value, unit):
    """What is worth knowing beside the figures, and promised nowhere."""
    print(f"{what:<72} {value:12,.3f} {unit}", flush=True)


def row_of(line):
    """A row of the table, or None for any other line."""
    if not line.startswith("figure\t"):
        return None
    what, value, unit, direction, goal, peer = line.rstrip("\n").split("\t")[1:7]
    fine = float(value) >= float(goal) if direction == "at least" else float(value) <= float(goal)
    return what, f"{float(value):.4g} {unit}".strip(), f"{direction} {goal}", peer, "pass" if fine else "FAIL"


def kill_group(process):
    """The bench gets a moment to end what it started."""
    for number, moment in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            process.wait(moment)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def run(name, command, on_figure, most=None):
    """Shows what the bench prints and hands over its figures; its exit status, and why it did not measure where it says so. After
    `most` seconds it is ended, with the status 124."""
    print(f"== {name}", flush=True)
    skipped, late = None, threading.Event()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace", start_new_session=most is not None) as bench:
        timer = threading.Timer(most, lambda: (late.set(), kill_group(bench))) if most is not None else None
        try:
            if timer:
                timer.start()
            for line in bench.stdout:
                if row_of(line):
                    on_figure(line.rstrip("\n"))
                    continue
                if line.startswith("skipped:"):
                    skipped = line.strip()[len("skipped: "):]
                print(line, end="", flush=True)
        finally:
            if timer:
                timer.cancel()
            if bench.poll() is None and most is not None:
                try:
                    bench.wait(1)  # it closed its output just before its end
                except subprocess.TimeoutExpired:
                    kill_group(bench)
    return 124 if late.is_set() else bench.returncode, skipped


def print_table(rows):
    rows = [("figure", "measured", "goal", "beside", "")] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + f"  {row[4]}".rstrip())


def commit():
    """Of the sources that are measured; "" where git does not know."""
    done = subprocess.run(["git", "describe", "--always", "--abbrev=8", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def keep(path, command, rows, left_out, failed, gpu="", version=VERSION, took=None):
    """The table as a page, with the commit and the host that it is from, and what is not in it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
    head = f"# whirr {version}\n\nBy `{command}` at {commit() or 'an unknown commit'} on {time.strftime('%Y-%m-%d')}: {gpu + ', ' if gpu else ''}{model}, {os.cpu_count()} cores, " \
           f"Linux {platform.release().split('-')[0]} {platform.machine()}, load {os.getloadavg()[0]:.1f} at the end.\n\n" \
           "| figure | measured | goal | beside | |\n|---|---|---|---|---|\n"
    text = head + "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    for what, names in (("Not run", left_out), ("Failed", failed)):
        text += f"\n{what}: {'; '.join(names)}.\n" if names else ""
    if took:
        text += f"\nSeconds: {', '.join(f'{name} {seconds:.0f}' for name, seconds in took.items())}; together {sum(took.values()):.0f}.\n"
    path.write_text(text)
    print(f"kept in {path}")


def verdict(rows, failed):
    """The last line, and the exit status."""
    bad = sum(row[4] == "FAIL" for row in rows)
    print(f"{len(rows) - bad} of {len(rows)} figures pass" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed or bad else 0
