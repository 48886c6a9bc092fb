# SPDX-License-Identifier: Apache-2.0
"""whirr top on a bare terminal. Keys, mouse, sizes, pasted text and garbage, at random but always the same: nothing breaks it, and it
gives the terminal back."""
import base64
import os
import random
import re
import termios

import pytest
from guard_machine import NVML
from isolation import WHIRR, environment
from ptys import Pty
from waiting import PATIENCE, eventually

SEEDS = int(os.environ.get("WHIRR_FUZZ_SEEDS", "4"))
STEPS = int(os.environ.get("WHIRR_FUZZ_STEPS", "120"))
SIZES = ((40, 12), (80, 24), (120, 40), (200, 60), (300, 90), (20, 6), (1, 1), (3, 200), (500, 2))
SCENARIOS = ("mixed", "multi-user", "training", "gpu-lost", "mig", "game-start", "ecc-errors", "idle")
TERMS = ("xterm-256color", "screen-256color", "vt100", "linux", "xterm", "ansi")
ARROWS = (b"\033[A", b"\033[B", b"\033[C", b"\033[D", b"\033OA", b"\033OD", b"\033[H", b"\033[F", b"\033[5~", b"\033[6~", b"\033[Z", b"\033[1~", b"\033[4~")
KEYS = bytes(c for c in range(32, 127) if c != ord("q")) + b"\r\t\x7f\x08\x0c"


def mouse(rng):
    x, y, button = rng.randint(1, 310), rng.randint(1, 95), rng.choice((0, 1, 2, 32, 64, 65))
    return b"\033[<%d;%d;%dM\033[<%d;%d;%dm" % (button, x, y, button, x, y)


def garbage(rng):
    text = bytes(rng.choice((27, 91, 60, 59, 77)) if rng.random() < 0.3 else rng.randint(128, 255) for _ in range(rng.randint(1, 30)))
    return text


def paste(rng):
    text = bytes(rng.choice(b"qxyeHR\n\rd") for _ in range(rng.randint(1, 200)))
    return b"\033[200~" + text + (b"\033[201~" if rng.random() < 0.7 else b"")  # some never end


def step(rng, terminal):
    what = rng.random()
    if what < 0.12:
        terminal.resize(*rng.choice(SIZES))
    elif what < 0.24:
        terminal.write(b"".join(mouse(rng) for _ in range(rng.randint(1, 4))))
    elif what < 0.30:
        terminal.write(garbage(rng))
    elif what < 0.34:
        terminal.write(paste(rng))
        terminal.drain(0.02)
    elif what < 0.5:
        terminal.write(rng.choice(ARROWS) * rng.randint(1, 5))
    elif what < 0.55:
        terminal.write(b"\033")
        terminal.drain(0.03)
    else:
        terminal.write(bytes(rng.choice(KEYS) for _ in range(rng.randint(1, 6))))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_that_is_typed_breaks_it(seed):
    rng = random.Random(seed)
    source = f"sim:scenario={rng.choice(SCENARIOS)},gpus={rng.choice((1, 2, 4, 16, 64))},speed=20"
    env = environment(TERM=TERMS[seed % len(TERMS)], LC_ALL=rng.choice(("C.UTF-8", "C")), **({"NO_COLOR": "1"} if rng.random() < 0.3 else {}))
    t = Pty([WHIRR, "--source", source, "top", "--interval", "0.1"], env, *SIZES[seed % 4])
    try:
        t.wait_for(b"PROCESS")
        for i in range(STEPS):
            step(rng, t)
            assert t.ended() is None or i == STEPS, f"seed {seed}, step {i}: ended with {t.status}\n{t.output[-3000:]!r}"
        t.resize(80, 24)
        for _ in range(12):
            t.write(b"\033")
            t.drain(0.05)
            t.write(b"q")
            if t.ended(0.7) is not None:
                break
        assert t.ended(PATIENCE) == 0, (seed, t.status, t.output[-3000:])
        assert termios.tcgetattr(t.fd) == t.before
    finally:
        t.close()


def test_a_paste_that_never_ends_does_not_take_the_keys_for_ever():
    t = Pty([WHIRR, "--source", "sim:scenario=mixed", "top"], environment(TERM="xterm-256color"), 80, 24)
    try:
        t.wait_for(b"PROCESS")
        t.write(b"\033[200~xyq?q")
        t.drain(0.1)
        assert t.ended() is None

        def ends():
            """What comes after a pause is typed; how long whirr takes to read what came before nobody knows."""
            t.drain(1.5)
            t.write(b"q")
            return t.ended(0.5) is not None

        eventually(ends)
        assert t.status == 0
    finally:
        t.close()


def test_the_terminal_goes_away():
    t = Pty([WHIRR, "--source", "sim:scenario=mixed", "top"], environment(TERM="xterm-256color"), 80, 24)
    t.wait_for(b"PROCESS")
    os.close(t.fd)
    _, status = eventually(lambda: (done := os.waitpid(t.pid, os.WNOHANG))[0] and done)
    assert os.waitstatus_to_exitcode(status) in (0, -1), status


def test_a_frame_is_what_changed_and_no_more():
    """No clearing, no resets, and a digit beside the last one without an address."""
    t = Pty([WHIRR, "--source", "sim:scenario=idle,gpus=1", "top"], environment(TERM="xterm-256color"), 100, 30)
    try:
        t.wait_for(b"PROCESS")
        eventually(lambda: t.drain(0.05) and re.search(rb"\x08\d", t.output))  # the first one that is no whole picture
        begun = len(t.output)
        eventually(lambda: t.drain(0.05) and len(re.findall(rb"\x08\d", t.output[begun:])) >= 2)
        frames = t.output[begun:]
        assert b"\033(B" not in frames and b"\033[H\033[2J" not in frames, frames[:2000]
        t.write(b"q")
        assert t.ended(PATIENCE) == 0
    finally:
        t.close()


def described(term):
    return any(os.path.exists(f"{folder}/{term[0]}/{term}") for folder in ("/usr/share/terminfo", "/lib/terminfo", "/etc/terminfo"))


@pytest.mark.parametrize("term,colors", [("xterm-256color", rb"\033\[38;5;\d+m"), ("xterm", rb"\033\[3\dm"), ("xterm-direct", rb"\033\[38[:;]2[:;]"), ("vt100", None)])
def test_colors_are_those_of_the_terminal(term, colors):
    if not described(term):
        pytest.skip(f"no description of {term} is installed")
    t = Pty([WHIRR, "--source", "sim:scenario=overheat,gpus=4", "top"], environment(TERM=term), 100, 30)
    try:
        t.wait_for(b"PROCESS")
        if colors:
            eventually(lambda: t.drain(0.05) and re.search(colors, t.output), explain=lambda: t.output[:3000])
        else:
            t.drain(0.3)
            assert not re.search(rb"\033\[[0-9;]*(3[0-8]|9[0-7])(;[0-9;]*)?m", t.output), t.output[:3000]
        t.write(b"q")
        assert t.ended(PATIENCE) == 0
    finally:
        t.close()


@pytest.fixture
def on_pty():
    opened = []

    def start(*args, width=100, height=30, **env):
        opened.append(Pty([WHIRR, *args], environment(**dict({"TERM": "xterm-256color"}, **env)), width, height))
        opened[-1].wait_for(b"PROCESS")
        opened[-1].wait_for(b"quit")  # the last line
        return opened[-1]

    yield start
    for t in opened:
        t.close()


HOT = """
gpu NVIDIA GeForce RTX 4090
  temperature 92
  power 440000
  gpu_util 98
  used 18000
  fans 1
  fan 100
  throttle 0x20
  process parent compute 17000 95 40
"""


@pytest.mark.skipif(not NVML.exists(), reason="the fake NVML library was not built")
def test_the_command_is_copied_through_the_terminal(on_pty, tmp_path):
    (tmp_path / "hot").write_text(HOT)
    t = on_pty("--source", "nvml", "top", WHIRR_NVML_LIBRARY=str(NVML), WHIRR_FAKE_NVML=str(tmp_path / "hot"))

    def copied():
        """There is something to copy as soon as whirr has an answer."""
        t.write(b"c")
        t.drain(0.1)
        return re.search(rb"\033\]52;c;([A-Za-z0-9+/=]+)\a", t.output)

    command = base64.b64decode(eventually(copied, explain=lambda: t.output).group(1)).decode()
    eventually(lambda: t.drain(0.05) and command and f"Copied: {command}".encode()[:60] in re.sub(rb"\033\[[0-9;]*[A-Za-z]", b"", t.output), explain=lambda: t.output)


def test_the_mouse_is_the_terminals_own_on_request(on_pty):
    assert b"\033[?1006;1000h" in on_pty("--source", "sim", "top").output
    assert b"1000h" not in on_pty("--source", "sim", "top", "--no-mouse").output


def test_a_theme_for_every_eye(on_pty):
    colors = {theme: set(re.findall(rb"\033\[38;5;(\d+)", on_pty("--source", "sim:scenario=mixed", "top", "--theme", theme).output))
              for theme in ("default", "blind", "light")}
    assert all(colors.values()) and len({frozenset(c) for c in colors.values()}) == 3, colors


@pytest.mark.slow
def test_only_what_changes_is_written(on_pty):
    t = on_pty("--source", "sim:scenario=idle,gpus=1", "top", "--interval", "0.2", width=120, height=40)
    eventually(lambda: t.drain(0.05) and re.search(rb"\x08\d", t.output))  # the first one that is no whole picture
    t.output = b""
    t.drain(3)
    eventually(lambda: t.drain(0.05) and t.output)
    assert len(t.output) < 6000, len(t.output)  # a whole frame is more than that, and there were up to 15
