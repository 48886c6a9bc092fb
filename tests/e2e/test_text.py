# SPDX-License-Identifier: Apache-2.0
"""What people see: widths, colours, signs, labels."""
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata
from fcntl import ioctl

import pytest
from conftest import PATIENCE, WHIRR, environment
from isolation import linux_only

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def in_terminal(*args, cols=80, rows=24, until=None, end=None, **env):
    """The bytes that the program draws on a terminal; `end` is a signal sent once `until` was seen."""
    main, side = pty.openpty()
    ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
    env = environment(TERM="xterm-256color", COLUMNS=None, **env)
    process = subprocess.Popen([WHIRR, *args], env=env, stdin=side, stdout=side, stderr=side, close_fds=True, start_new_session=True)
    os.close(side)
    seen, deadline, sent = b"", time.monotonic() + PATIENCE, False
    while time.monotonic() < deadline:
        if select.select([main], [], [], 0.2)[0]:
            try:
                more = os.read(main, 65536)
            except OSError:
                break
            if not more:
                break
            seen += more
        if end and not sent and until(seen):
            process.send_signal(end)
            sent = True
    os.close(main)
    return seen.decode("utf-8", "replace"), process.wait(PATIENCE)


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("command", ["status", "ps", "why", "devices"])
@pytest.mark.parametrize("scenario", ["mixed", "multi-user", "gpu-lost", "mig"])
def test_lines_keep_to_the_terminal(scenario, command, width):
    out, code = in_terminal("--source", f"sim:scenario={scenario}", command, cols=width)
    assert code == 0
    lines = ESCAPE.sub("", out).replace("\r", "").splitlines()
    assert lines and max(map(columns, lines)) <= width, max(lines, key=columns)


@pytest.mark.parametrize("gpus", [1, 8, 64])
def test_a_verdict_a_header_a_row_for_each_gpu_and_where_to_look_next(sim, gpus):
    lines = sim("training", "status", gpus=gpus).out.splitlines()
    assert len(lines) == 2 + gpus + 1
    assert f"{gpus} GPU" in lines[0] and " W " in lines[0]
    assert lines[1].split()[:2] == ["GPU", "UTIL"] and lines[-1].endswith("why: whirr why · live: whirr top")
    assert all(line.split()[0] == str(i) for i, line in enumerate(lines[2:-1]))


def test_the_worst_is_the_verdict_and_its_row_is_marked(sim):
    out = sim("overheat,start=400", "status", gpus=4).out
    assert re.search(r"▲ GPU 0 is throttling \(9\d °C\)$", out.splitlines()[0])
    assert [line[0] for line in out.splitlines()[2:6]] == ["▲", " ", " ", " "]
    assert "THERMAL" in out.splitlines()[2] and out.count("THERMAL") == 1
    assert "no trouble seen" in sim("mixed", "status").out.splitlines()[0]
    assert sim("idle", "status", gpus=2).out.splitlines()[0].endswith("○ idle")


@linux_only("Wine's console adds sequences of its own")
@pytest.mark.parametrize("width", [40, 56, 64, 72])
def test_narrow_terminals_keep_verdict_and_numbers(width):
    out, code = in_terminal("--source", "sim:scenario=overheat,start=400,gpus=1", cols=width, NO_COLOR="1")
    lines = out.replace("\r", "").splitlines()
    assert code == 0 and max(map(columns, lines)) <= width
    assert "▲ GPU 0 is throttling" in lines[0] and "97%" in out and "93 °C" in out


@pytest.mark.parametrize("scenario, sign", [("overheat", "▲"), ("kv-full", "▲"), ("vram-unowned", "▲"), ("training", "●"), ("idle", "○")])
def test_a_severity_has_one_sign_in_every_view(sim, scenario, sign):
    status, why, top = (sim(f"{scenario},start=600", *command, gpus=1).out.splitlines() for command in (["status"], ["why"], ["top", "--once"]))
    assert f"   {sign} " in status[0] and why[1].startswith(f"{sign} "), (status, why)
    assert status[2].startswith("▲ " if sign == "▲" else "  ") and top[2].startswith(" ▲ ") == (sign == "▲"), (status, top)


def test_advice_is_given_to_root_too(sim):
    """Only a further look with more rights is nothing for root."""
    assert "Look for a program that was killed" in sim("vram-unowned,start=500", "why", gpus=1).out


def test_names_of_cards_are_whole_at_80_columns(sim):
    out = sim("mixed", "status").out
    for name in ("RTX 4090", "H100 80GB HBM3", "RX 7900 XTX", "Arc A770"):
        assert name in out


@pytest.mark.parametrize("command", ["status", "ps", "ps --by user", "why", "alert", "health", "forecast", "fit 1GiB", "devices", "driver", "resources",
                                     "health --nagios", "status --line", "top --once", "alert test temperature>5"])
def test_simulation_is_always_labelled(sim, command):
    assert "SIMULATED" in sim("mixed", *command.split()).out


@pytest.mark.parametrize("command", ["status", "ps"])
def test_chosen_fields_of_a_simulation_are_labelled_beside_them(sim, command):
    for chosen in (["--fields", "power_watts"], ["--template", "{{power_watts}} W"], ["--csv", "--fields", "power_watts"]):
        result = sim("mixed", command, *chosen)
        assert result.err == "SIMULATED\n" and "SIMULATED" not in result.out
    result = sim("mixed", command, "--csv")
    title, first = result.out.splitlines()[:2]
    assert title.endswith(",simulated") and first.endswith(",true") and result.err == ""


@pytest.mark.parametrize("gpus", [1, 4])
def test_the_width_does_not_decide_which_advice_is_given(sim, gpus):
    def advice(width):
        text = sim("overheat", "why", gpus=gpus, COLUMNS=width).out
        return " ".join(text[text.index("  Do "):].split("evidence:")[0].split("\n● ")[0].split("\n▲ ")[0].split())

    assert "airflow" in advice("200") and advice("80") == advice("200") == advice("60")


@pytest.mark.parametrize("command", ["why", "status", "devices"])
def test_a_pipe_gets_whole_lines(sim, command):
    cut, whole = (sim("multi-user", command, gpus=8, COLUMNS=width).out for width in ("60", ""))
    assert "…" not in whole and len(whole) > len(cut)


@linux_only("Wine's console adds sequences of its own")
def test_colours_only_on_a_terminal_and_never_with_no_color(sim):
    on_terminal, _ = in_terminal("--source", "sim")
    assert "\x1b[" in on_terminal
    assert "\x1b" not in sim("mixed", "status").out
    assert "\x1b[" not in in_terminal("--source", "sim", NO_COLOR="1")[0]
    assert "\x1b[" not in in_terminal("--source", "sim", "--no-color")[0]
    assert "\x1b[" in sim("mixed", "status", "--color", "always").out


def test_ascii_where_the_locale_knows_no_more(sim):
    for command in ("status", "ps", "why", "resources"):
        result = sim("mixed", command, LC_ALL="C")
        assert result.code == 0 and result.out.isascii()
    assert "#" in sim("training", "status", LC_ALL="POSIX").out


def test_a_lost_gpu_is_said_in_words(sim):
    assert "lost" in sim("gpu-lost", "status").out


def test_asleep_is_said_in_words(sim):
    out = sim("asleep", "status").out
    assert "asleep" in out


def test_a_lowered_power_limit_is_named_and_a_stock_one_is_not(sim):
    assert "POWER CAP" in sim("power-cap", "status", "--full").out
    assert "POWER CAP" not in sim("training", "status", "--full").out


def test_ps_is_whole_on_a_pipe(sim):
    out = sim("mixed", "ps").out
    assert "…" not in out and "--model" in out


def test_why_begins_with_a_sentence(sim):
    out = sim("training", "why", gpus=1).out
    sentence = out.splitlines()[1]
    assert "GPU 0 is" in sentence and "evidence: whirr why -v" in out.splitlines()[-1]


@pytest.mark.parametrize("scenario", ["mixed", "training", "overheat", "gpu-lost", "multi-user", "idle"])
@pytest.mark.parametrize("gpus", [1, 8, 16])
def test_why_has_at_most_12_lines(sim, scenario, gpus):
    result = sim(scenario, "why", gpus=gpus, COLUMNS="80")
    lines = result.out.splitlines()
    unreadable = scenario == "gpu-lost" and gpus == 1  # of none can anything be said
    assert result.code == (1 if unreadable else 0) and len(lines) <= 12, result.out
    assert "utilization " not in result.out or "can't" in result.out, "evidence is for -v"


def test_equal_gpus_share_a_line(sim):
    out = sim("idle", "why", gpus=8).out
    assert "GPUs 0-7  idle" in out and len(out.splitlines()) == 3


def test_why_v_has_the_evidence_and_likelihood_in_words(sim):
    out = sim("overheat", "why", "-v").out
    assert "utilization" in out and "(very likely)" in out and "Cause" in out and "Do " in out
    assert "97%  " not in out and "91%  " not in out, "confidence in percent is for JSON"


def test_full_shows_every_reading_and_the_reasons_for_the_rest(sim):
    out = sim("mixed", "status", "--full").out
    assert "energy_joules" in out and re.search(r"^  unsupported +\S", out, re.M)


def test_watch_redraws_in_place_and_ends_on_ctrl_c():
    out, code = in_terminal("--source", "sim", "--watch=0.05", until=lambda seen: seen.count(b"\x1b[J") >= 3, end=signal.SIGINT)
    assert code == 0
    assert re.search(r"\x1b\[\d+F", out) and out.rstrip().endswith("\x1b[?25h")


@linux_only("Wine's console adds sequences of its own")
def test_watch_fits_small_screens():
    out, _ = in_terminal("--source", "sim:gpus=20,scenario=training", "--watch=0.05", rows=10,
                         until=lambda seen: seen.count(b"\x1b[J") >= 2, end=signal.SIGTERM)
    frame = out.split("\x1b[J")[0]
    assert frame.count("\n") == 9


def test_watch_appends_on_a_pipe_and_ends_when_the_reader_goes():
    with subprocess.Popen([WHIRR, "--source", "sim", "--watch=0.02"], env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        for _ in range(20):
            assert "\x1b" not in process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


def test_a_closed_pipe_is_no_failure_for_one_shots():
    done = subprocess.run(f"'{WHIRR}' --source sim:gpus=64,scenario=training ps | head -1", shell=True, env=environment(),
                          capture_output=True, text=True)
    assert done.stderr == "" and "SIMULATED" in done.stdout


def test_full_disk_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run([WHIRR, "--source", "sim"], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot write" in done.stderr
