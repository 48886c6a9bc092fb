# SPDX-License-Identifier: Apache-2.0
"""The console of Windows, under Wine: what is shown and how it ends. It takes no sequences, so `top` gives it cells; those of Windows 10 and later get sequences, which no test here sees in a window."""
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import PATIENCE, ROOT, WHIRR, environment
from ptys import Pty
from terminals import Terminal, needs_tmux

WINDOWS = str(ROOT / "tests" / "windows" / "whirr")  # whirr.exe under Wine
PROGRAM = pathlib.Path(os.environ.get("WHIRR_EXE", ROOT / "build-windows" / "whirr.exe"))
pytestmark = [pytest.mark.skipif(not shutil.which("wine") or not PROGRAM.exists(), reason="no wine, or no build-windows/whirr.exe"), pytest.mark.xdist_group("wine")]
SIM = ("--source", "sim:scenario=overheat,gpus=1,start=400")


def run_windows(*args, **more):
    return subprocess.run([WINDOWS, *args], env=environment(**more), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)


@needs_tmux
def test_top_draws_on_the_console_and_gives_it_back(tmp_path):
    once = subprocess.run([WHIRR, *SIM, "top", "--once", "--size", "100x30"], env=environment(LC_ALL="C.UTF-8"), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE, check=True).stdout.splitlines()
    t = Terminal(tmp_path, " ".join((*SIM, "top")), 100, 30, program=WINDOWS)
    try:
        screen = t.wait_all("throttling", "q quit").splitlines()
        assert screen[0].rstrip()[:-8] == once[0].rstrip()[:-8]  # without the time
        assert screen[2].startswith(" ▲ Simulated GPU 0")
        columns = [line.rstrip() for line in once if "5m ago" in line or " PID " in line]
        assert columns and set(columns) <= {line.rstrip() for line in screen}  # in their places, whatever the readings are
        t.keys("2")
        t.wait("likely")
        t.keys("q")
        t.wait("AFTER")
        assert t.log.read_text() == "status 0\n"
        before, after = ((tmp_path / name).read_text().splitlines()[1:] for name in ("before", "after"))
        assert before == after
    finally:
        t.close()


def test_ctrl_c_ends_top():
    t = Pty([WINDOWS, *SIM, "top"], environment(TERM="xterm-256color"), 100, 30)
    try:
        t.wait_for("▲".encode())  # UTF-8, whatever the code page
        t.write(b"\x03")
        assert t.ended(PATIENCE) == 0
    finally:
        t.close()


@pytest.mark.parametrize("command", [("status",), ("why",), ("why", "-v")])
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_what_is_piped_is_the_same_as_on_linux(command, locale):
    here = subprocess.run([WHIRR, *SIM, *command], env=environment(LC_ALL=locale), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=True).stdout
    assert run_windows(*SIM, *command, LC_ALL=locale).stdout == here


def test_a_frame_of_top_is_the_same_as_on_linux():
    def frame(said):
        lines = said.decode().splitlines()
        return [lines[0][:-8], *lines[2:]]  # without the time and the host's own readings
    args = (*SIM, "top", "--once", "--size", "120x40")
    here = subprocess.run([WHIRR, *args], env=environment(LC_ALL="C.UTF-8"), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=True).stdout
    assert frame(run_windows(*args, LC_ALL="C.UTF-8").stdout) == frame(here)


def test_watch_ends_like_its_program():
    done = run_windows("--source", "sim", "watch", "--", "cmd", "/c", "exit 7")
    assert done.returncode == 7 and b"cmd ran for" in done.stderr
    missing = run_windows("--source", "sim", "watch", "--", "not-there")
    assert missing.returncode == 127 and b"cannot start 'not-there'" in missing.stderr


def test_ctrl_c_ends_a_watched_table():
    t = Pty([WINDOWS, *SIM, "status", "--watch=0.2"], environment(TERM="xterm-256color"), 100, 30)
    try:
        t.wait_for(b"THERMAL")
        t.write(b"\x03")
        assert t.ended(PATIENCE) == 0
    finally:
        t.close()
