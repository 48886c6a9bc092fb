# SPDX-License-Identifier: Apache-2.0
"""The console of Windows, under Wine: what is written and how it ends. How it looks there is another matter, as Wine's console takes sequences for text."""
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import PATIENCE, ROOT, WHIRR, environment
from ptys import Pty

WINDOWS = str(ROOT / "tests" / "windows" / "whirr")  # whirr.exe under Wine
PROGRAM = pathlib.Path(os.environ.get("WHIRR_EXE", ROOT / "build-windows" / "whirr.exe"))
pytestmark = [pytest.mark.skipif(not shutil.which("wine") or not PROGRAM.exists(), reason="no wine, or no build-windows/whirr.exe"), pytest.mark.xdist_group("wine")]
SIM = ("--source", "sim:scenario=overheat,gpus=1,start=400")


def run_windows(*args, **more):
    return subprocess.run([WINDOWS, *args], env=environment(**more), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_top_takes_the_console_and_gives_it_back(key):
    t = Pty([WINDOWS, *SIM, "top"], environment(TERM="xterm-256color"), 100, 30)
    try:
        t.wait_for(b"\x1b[?1049h")
        t.wait_for("▲".encode())  # UTF-8, whatever the code page
        t.wait_for(b"\x1b[38;2;255;95;95m")
        t.write(b"2")
        t.wait_for(b"likely")
        t.write(key)
        assert t.ended(PATIENCE) == 0
        assert b"\x1b[?25h\x1b[?1049l" in t.output[-60:], t.output[-200:]
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
