# SPDX-License-Identifier: Apache-2.0
"""whirr top in a real terminal: keys, mouse, sizes and signals through tmux, on the simulated machine."""
import os
import pathlib
import random
import re

import pytest
from daemons import Daemon
from guard_machine import NVML, needs_fakes
from isolation import WHIRR, environment
from terminal import Terminal
from terminals import needs_tmux, terminal  # noqa: F401
from waiting import eventually

from .test_fit import LLAMA, gguf, layers

pytestmark = needs_tmux


def test_once_prints_a_frame_of_that_size(sim):
    for width, height, gpus in ((40, 12, 1), (80, 24, 16), (120, 40, 4), (300, 90, 64)):
        out = sim("training", "top", "--once", "--size", f"{width}x{height}", gpus=gpus)
        lines = out.out.splitlines()
        assert out.code == 0 and len(lines) == height and max(map(len, lines)) <= width, out.out
        assert "whirr" in lines[0] and "PROCESS" in out.out
    plain = sim("training", "top", "--once", LC_ALL="C")
    assert plain.out.isascii() and "##" in plain.out


def test_wrong_usage_is_refused(sim, whirr):
    assert sim("idle", "top", "--once", "--size", "big").code == 2
    assert sim("idle", "top", "--json").code == 2
    assert whirr("--source", "nonsense", "top", "--once").code == 2
    no_terminal = sim("idle", "top")
    assert no_terminal.code == 1 and "--once" in no_terminal.err


def test_keys_tabs_filter_and_quit(terminal):
    t = terminal("--source sim:scenario=mixed top", width=120, height=40)
    t.wait("ollama")
    t.keys("/")
    t.type("train.py")
    t.wait_all(r"Filter: train\.py", gone=[r"PROCESS[\s\S]*ollama"])
    t.keys("Enter", "Escape")
    t.wait("ollama")
    t.keys("?")
    t.wait("─ Keys ─")
    t.keys("x", "2")
    t.wait("likely")
    t.keys("1", "Enter")
    t.wait("any other key closes this")
    t.keys("Escape", "x")
    t.wait("Let top signal processes")
    t.keys("n", "q")
    assert t.ended() == 0


def test_without_a_daemon_tabs_show_what_can_be_known(terminal):
    t = terminal("--source sim:scenario=overheat top --interval 0.3", width=120, height=40)
    t.wait("PROCESS")
    t.keys("3")
    t.wait_all(r"critical +GPU 0 is throttling|warning +GPU 0", gone=[r"info +GPU 0"])
    for key, text in (("4", "No fault was found|healthy|degraded"), ("5", "memory"),
                      ("6", "need a history"), ("7", "Reclaimable|Available")):
        t.keys(key)
        t.wait(text)
    t.keys("q")
    assert t.ended() == 0


def seen(screen):
    """Each sign with what colors and attributes it has; of a blank nobody sees a color, only whether it is reversed."""
    style, lines = {}, []
    for line in screen.splitlines():
        cells = []
        for codes, sign in re.findall(r"\x1b\[([\d;]*)m|(.)", line):
            if sign:
                cells.append((sign, dict(style) if sign != " " else style.get("7")))
            for code in re.findall(r"[34]8;5;\d+|\d+", codes or "0") if not sign else ():
                if code == "0":
                    style.clear()
                elif code in ("39", "49"):
                    style.pop(code[0], None)
                else:
                    style[code[0] if code[0] in "34" else code] = code
        while cells and cells[-1] == (" ", None):
            cells.pop()
        lines.append(cells)
    return lines


def test_what_is_written_piece_by_piece_is_the_whole_picture(terminal):
    t = terminal("--source sim:scenario=multi-user,gpus=4 top --interval 0.1", width=110, height=36)
    t.wait("Jupyter kernel")
    for keys in (("Down", "Down", "m"), ("t", "t"), ("2",), ("1", "s"), ("?",), ("Escape", "w"), ("d",), ("Escape", "Up", "a")):
        t.keys(*keys)
        t.screen()
    t.keys("/")
    t.type("日本語 e")  # signs of two columns
    t.keys("BSpace", "BSpace", "BSpace", "BSpace", "BSpace", "Escape")
    t.tmux("resize-window", "-x", "97", "-y", "31")
    t.keys("p")
    # Drawn in the new size: both ends of it have what belongs there.
    eventually(lambda: (lines := t.screen().splitlines()) and re.search(r"PAUSED \d\d:\d\d:\d\d$", lines[0].rstrip()) and
               len(lines) == 31 and "? help" in lines[30], explain=t.screen)
    before = eventually(lambda: (screen := seen(t.screen("-e"))) == seen(t.screen("-e")) and screen)
    t.tmux("send-keys", "-R")  # another program has written over it
    eventually(lambda: "PROCESS" not in t.screen())
    t.keys("C-l")
    eventually(lambda: seen(t.screen("-e")) == before, explain=lambda: f"{before}\n{t.screen('-e')}")
    t.keys("q")
    assert t.ended() == 0


def test_where_a_size_or_a_model_would_fit(terminal, tmp_path):
    model = gguf(tmp_path / "m.gguf", LLAMA, layers())
    t = terminal("--source sim:scenario=idle,gpus=1 top", width=110, height=36)
    t.wait("PROCESS")
    for what, answer in ((model, r"It fits[\s\S]*weights 5\.3 GiB"), (f"{tmp_path}/gone.gguf", "cannot open"),
                         ("2GiB", "It fits|fits on"), ("24", "not a size with its unit")):
        t.keys("f")
        t.wait("Fit: ")
        t.type(str(what))
        t.keys("Enter")
        t.wait("─ Fit ─")
        t.wait(answer)
        t.keys("Escape")
        eventually(lambda: "─ Fit ─" not in t.screen())
    t.keys("q")
    assert t.ended() == 0


def test_the_mouse_sorts_and_opens_tabs(terminal):
    t = terminal("--source sim:scenario=mixed top", width=120, height=40)

    def header():
        """Where the column's name is, from 1."""
        return next(((i + 1, text.index("VRAM") + 2) for i, text in enumerate(t.screen().splitlines()) if "PID" in text and "VRAM" in text), None)

    t.wait("VRAM GiB")
    t.keys("p")  # from now on nothing moves
    t.wait("PAUSED")

    def sorted_by_memory():
        """After a click on the column, wherever it is now: a frame that was under way when the pause came may have moved it once more."""
        if place := header():
            t.type(f"\033[<0;{place[1]};{place[0]}M\033[<0;{place[1]};{place[0]}m")
        try:
            return t.wait("VRAM▼", seconds=3)
        except AssertionError:
            return None

    eventually(sorted_by_memory, explain=t.screen)
    t.type("\033[<0;21;1M\033[<0;21;1m")
    t.wait("likely")
    t.keys("q")
    assert t.ended() == 0


def test_left_goes_back_in_time(terminal):
    t = terminal("--source sim:scenario=game-start,speed=3 top --interval 0.3", width=100, height=30)
    t.wait("Starfall")
    t.keys("g")
    t.type("-4s")
    t.keys("Enter")
    assert "PAST" in t.wait("PAST")
    t.keys("n")
    t.wait(r"(?m)Guard +\d\d:\d\d:\d\d$")

    def mouse(button, before, end="M"):
        """On the plot, wherever the headline above it has moved it meanwhile; so many columns before its end."""
        lines = eventually(lambda: (lines := t.screen().splitlines()) and any(line.startswith(" Util") for line in lines) and lines)
        row = next(i for i, line in enumerate(lines, 1) if line.startswith(" Util"))
        last = max(line.find("─ now") for line in lines) + 5
        t.type(f"\033[<{button};{last - before};{row}{end}")
        return t.screen()

    eventually(lambda: "PAST" in mouse(0, 1), explain=t.screen)
    for before, clock in ((0, r"(?m)Guard +\d\d:\d\d:\d\d$"), (9, "PAST"), (0, r"(?m)Guard +\d\d:\d\d:\d\d$")):  # the end of a plot is now
        eventually(lambda before=before, clock=clock: re.search(clock, mouse(32, before)), explain=t.screen)
    mouse(0, 0, "m")
    t.keys("q")
    assert t.ended() == 0


@pytest.mark.slow
def test_with_a_daemon_the_past_is_there_from_the_first_frame(terminal, tmp_path):
    folder = tmp_path / "daemon"
    folder.mkdir()
    daemon = Daemon(folder, ["--source", "sim:scenario=ecc-errors,gpus=2", "--interval", "0.2", "--store", f"sqlite:{folder}/h.db"], {})
    try:
        # More than the two seconds that are gone back below.
        eventually(lambda: (s := daemon.json("/api/history?since=-1m")["series"]) and len(s) >= 2 and all(x["times"] and x["times"][-1] - x["times"][0] > 3 for x in s))
        t = terminal(f"--socket {daemon.sock} top", width=120, height=40)
        t.wait("PROCESS")
        t.wait("▲.*now|degraded|failing")  # the mark of an event, or the badge
        t.keys("g")
        t.type("-2s")
        t.keys("Enter")
        t.wait_all("PAST", "train|python3")
        t.keys("n", "4")
        t.wait("reason|degraded|failing")
        for key, text in (("3", "firing|pending|No alerts"), ("5", "memory"), ("6", "HOURS|used"), ("7", "No worker is under guard")):
            t.keys(key)
            t.wait(text)
        t.keys("q")
        assert t.ended() == 0
    finally:
        daemon.stop()


def test_a_stored_moment_names_the_wait_and_has_no_empty_columns(terminal, tmp_path):
    daemon = Daemon(tmp_path, ["--source", "sim:scenario=late-rank,gpus=4", "--interval", "0.2", "--store", f"sqlite:{tmp_path}/h.db"], {})
    try:
        eventually(lambda: (s := daemon.json("/api/history?since=-1m")["series"]) and len(s) >= 4 and all(x["times"] and x["times"][-1] - x["times"][0] > 3 for x in s))
        t = terminal(f"--socket {daemon.sock} top", width=120, height=40)
        assert "WATTS" in t.wait("GPUs 1-3 are waiting for GPU 0")
        t.keys("g")
        t.type("-2s")
        t.keys("Enter")
        past = t.wait(r"PAST[\s\S]*were waiting for GPU 0[\s\S]* 3 H100 .* waits for GPU 0")
        assert re.search("^▲  0 H100", past, re.M) and "waits for another" not in past, past
        heading = next(line for line in past.splitlines() if "GPU▼" in line)
        assert heading.split() == "GPU▼ PID USER VRAM GiB UTIL WORK AGE PROCESS".split(), past
        t.keys("q")
        assert t.ended() == 0
    finally:
        daemon.stop()


def test_a_moment_that_is_not_stored_shows_nothing_of_now(terminal, tmp_path):
    folder = tmp_path / "daemon"
    folder.mkdir()
    daemon = Daemon(folder, ["--source", "sim:scenario=training,gpus=2", "--interval", "0.2", "--store", f"sqlite:{folder}/h.db"], {})
    now = ("train.py", r"\d+ W", r"\d+%", "PROCESS")
    try:
        daemon.wait_stored(5)
        t = terminal(f"--socket {daemon.sock} top")
        t.wait("train.py")
        t.keys("g")
        t.type("-3h")
        t.keys("Enter")
        t.wait_all("PAST", r"\d\d:\d\d:\d\d is not stored\.", "The history begins at", "the first moment after", gone=now)
        for key in ("j", "2", "?", "Escape", "1", "Left"):  # other keys change nothing about that
            t.keys(key)
            t.wait_all("PAST|Keys", "is not stored|Keys", gone=now)
        t.keys("4")  # what is about now says so
        t.wait_all("This is now", "healthy", gone=("PAST",))
        t.keys("1", ")")
        t.wait_all("PAST", "train.py", gone=("is not stored",))
        t.keys("(")  # the start of the daemon, before its first sample
        t.wait_all("PAST", "is not stored", gone=now)
        t.keys("n")
        t.wait_all("train.py", gone=("PAST", "is not stored"))
        t.keys("q")
        assert t.ended() == 0
    finally:
        daemon.stop()


def test_a_daemon_that_is_restarted_is_asked_again(terminal, tmp_path):
    folder = tmp_path / "daemon"
    folder.mkdir()
    args = ["--source", "sim:scenario=training,gpus=2", "--interval", "0.3"]
    daemon = Daemon(folder, args, {})
    try:
        t = terminal(f"--socket {daemon.sock} top --interval 0.3", width=100, height=30)
        t.wait("train.py")
        daemon.stop()
        t.wait("the daemon at")  # a daemon that was named is not replaced by a look at this host
        daemon = Daemon(folder, args, {})
        eventually(lambda: "the daemon at" not in t.screen(), explain=t.screen)
        t.keys("7")
        t.wait("No worker is under guard")
        t.keys("q")
        assert t.ended() == 0
    finally:
        daemon.stop()


def test_it_follows_every_size(terminal):
    t = terminal("--source sim:scenario=mixed,gpus=16 top", width=120, height=40)
    t.wait("PROCESS")
    for width, height in ((80, 24), (40, 12), (300, 90), (20, 6), (100, 30)):
        t.tmux("resize-window", "-x", str(width), "-y", str(height))
        t.wait(rf"\A whirr.*\n(.*\n){{{height - 2}}}.*\? help")
    t.keys("q")
    assert t.ended() == 0


@pytest.mark.parametrize("signal,status", [("TERM", 0), ("INT", 0), ("HUP", 0), ("SEGV", 139), ("ABRT", 134)])
def test_the_terminal_is_restored_whatever_ends_it(terminal, signal, status):
    t = terminal("--source sim:scenario=mixed top")
    t.wait("PROCESS")
    os.kill(t.pid(), getattr(__import__("signal"), "SIG" + signal))
    assert t.ended() == status


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(terminal):
    t = terminal("--source sim:scenario=mixed top")
    t.wait("PROCESS")
    pid = t.pid()

    def state():
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

    t.keys("C-z")
    eventually(lambda: state() == "T")
    eventually(lambda: t.flags() == "001", explain=t.flags)
    os.kill(pid, 18)
    t.wait("PROCESS")
    assert t.tmux("display", "-p", "#{alternate_on}").strip() == "1"
    t.keys("q")
    assert t.ended() == 0


def test_gpu_chooses_one(sim):
    out = sim("mixed", "--gpu", "1", "top", "--once").out
    assert "train.py" in out and "ollama" not in out.split("PROCESS")[1]


def test_a_gpu_that_is_not_there_is_refused_as_status_refuses_it(sim, terminal):
    for which, words in (("1,77", "no GPU for each of '1,77'"), ("77", "no single GPU matches")):
        as_text, once = sim("mixed", "--gpu", which, "status"), sim("mixed", "--gpu", which, "top", "--once")
        assert words in once.err and (once.code, once.out, once.err) == (as_text.code, "", as_text.err)
    t = terminal("--source sim:scenario=mixed --gpu 1,77 top")
    assert t.ended() == as_text.code


def test_gpu_chooses_several(sim):
    for given in (("--gpu", "0,2"), ("--gpu", "0", "--gpu", "2")):
        frame = sim("mixed", "top", "--once", *given, gpus=4).out
        assert "2 of 4 GPUs" in frame and "GPU 2 is busy" in frame and "GPU 1" not in frame and "GPU 3" not in frame, frame
        status = sim("mixed", "status", "--json", *given, gpus=4).json()
        assert [gpu["index"] for gpu in status["gpus"]] == [0, 2]
        assert {p["gpu_index"] for p in sim("mixed", "ps", "--json", *given, gpus=4).json()["processes"]} == {0, 2}
        why = sim("mixed", "why", "--json", *given, gpus=4).json()
        assert [gpu["gpu_index"] for gpu in why["gpus"]] == [0, 2] and "GPU 2 is busy" in why["answer"] and "GPU 1" not in why["answer"]
    assert "GPU 1" in sim("mixed", "why", "--gpu", "0-1", gpus=4).out
    for command in (("wait", "--idle"), ("set", "quiet"), ("fit", "1GiB")):
        out = sim("mixed", *command, "--gpu", "0,2", gpus=4)
        assert out.code == 2 and "takes one GPU with --gpu" in out.err


def test_gpus_are_chosen_on_the_screen_and_kept(terminal, tmp_path, whirr):
    config = str(tmp_path / "config")
    command = "--source sim:scenario=mixed,gpus=4 top --interval 0.2"
    t = terminal(command, width=100, height=30, XDG_CONFIG_HOME=config)
    t.wait("SIMULATED   4 GPUs")
    t.keys("o", "BTab")
    t.wait(r"GPUs shown[\s\S]*\[x\] 0 RTX 4090|\[x\] 0 RTX 4090[\s\S]*GPUs shown")
    t.keys("Space", "Down", "Space")
    t.wait(r"\[ \] 0 RTX 4090")
    t.keys("W", "Escape")
    frame = t.wait("2 of 4 GPUs")
    assert "RTX 4090" not in frame and "H100" not in frame
    t.keys("q")
    assert t.ended() == 0
    again = terminal(command, width=100, height=30, XDG_CONFIG_HOME=config)
    again.wait("2 of 4 GPUs")
    again.keys("o", "BTab", "Down", "Down", "Space", "Down", "Space")
    again.wait("One GPU stays")
    again.keys("r")
    again.wait(r"\[x\] 0 RTX 4090")
    again.keys("Escape")
    again.wait("SIMULATED   4 GPUs")
    assert "  4 GPUs" in whirr("--source", "sim:scenario=mixed,gpus=4", "top", "--once", XDG_CONFIG_HOME=config).out


@needs_fakes
def test_a_hung_driver_does_not_freeze_the_keys(terminal, tmp_path):
    script, hanging = tmp_path / "script", tmp_path / "script.hanging"
    script.write_text("gpu NVIDIA GeForce RTX 4090\n")
    t = terminal("--source nvml top --interval 0.5", WHIRR_NVML_LIBRARY=str(NVML), WHIRR_FAKE_NVML=str(script))
    t.wait("PROCESS")
    (tmp_path / "new").write_text("hang nvmlDeviceGetTemperature\nhang nvmlDeviceGetTemperatureV\ngpu NVIDIA GeForce RTX 4090\n")
    (tmp_path / "new").rename(script)
    eventually(hanging.exists, explain=t.screen)
    t.keys("?")
    t.wait("─ Keys ─")
    assert hanging.exists()  # the call has not come back yet
    t.keys("Escape", "q")
    assert t.ended() == 0


def test_what_is_pasted_does_nothing(terminal):
    t = terminal("--source sim:scenario=mixed top")
    t.wait("PROCESS")
    t.tmux("set-buffer", "q7?/xyq\nq")
    t.tmux("paste-buffer", "-p")
    t.keys("?")
    t.wait("─ Keys ─")
    t.keys("Escape", "q")
    assert t.ended() == 0


@pytest.mark.parametrize("env", [{"TERM": "xterm"}, {"TERM": "vt100"}, {"NO_COLOR": "1"}, {"LC_ALL": "C"}, {"TERM": "screen"}])
def test_few_colors_and_plain_letters(terminal, env):
    t = terminal("--source sim:scenario=overheat,gpus=4 top", **env)
    screen = t.wait("PROCESS")
    escaped = t.screen("-e")
    if env.get("LC_ALL") == "C":
        assert screen.isascii()
    if "NO_COLOR" in env or env.get("TERM") == "vt100":
        assert not re.search(r"\033\[[0-9;]*(3[0-8]|9[0-7])", escaped)
    t.keys("q")
    assert t.ended() == 0


def test_settings_are_kept(terminal, tmp_path):
    config = tmp_path / "config"
    for key, expected in (("t", "Tree"), ("t", "Grouped by user"), ("t", "Grouped by container")):  # each from what was saved before
        t = terminal("--source sim:scenario=mixed top", XDG_CONFIG_HOME=str(config))
        t.wait("PROCESS")
        t.keys(key)
        t.wait(expected)
        t.keys("W")
        t.wait("Saved in")
        t.keys("q")
        assert t.ended() == 0
    t = terminal("--source sim:scenario=mixed top", XDG_CONFIG_HOME=str(config))
    t.wait("PROCESS")
    t.keys("t")
    t.wait("Grouped by")
    t.keys("q")  # not saved
    assert t.ended() == 0
    assert 'group = "container"' in (config / "whirr" / "top.toml").read_text()


def test_once_is_the_same_whatever_was_saved(whirr, tmp_path):
    (tmp_path / "whirr").mkdir()
    (tmp_path / "whirr" / "top.toml").write_text('gpus_hidden = ["temp"]\nprocess_columns = ["gpu", "name"]\nsort = "name"\n')
    out = whirr("--source", "sim:gpus=1", "top", "--once", XDG_CONFIG_HOME=str(tmp_path)).out
    assert "PID" in out and "USER" in out


def test_a_straggler_is_marked_and_the_others_name_it(whirr):
    rows = re.findall(r"^([▲ ]) +(\d) H100 .*/700 +(.*)$", whirr("--source", "sim:scenario=late-rank", "top", "--once", "--size", "80x24").out, re.M)
    assert rows[0] == ("▲", "0", "waits for its CPU thread") and [row[2] for row in rows[1:]] == ["waits for GPU 0"] * 7, rows


def test_a_stopped_fan_is_off_as_in_status(whirr):
    stopped = ("--source", "sim:scenario=fan-stopped,gpus=2,start=400")
    row = next(line for line in whirr(*stopped, "status").out.splitlines() if "FAN STOPPED" in line)
    shown = [line for line in whirr(*stopped, "top", "--once").out.splitlines() if " Fan " in line]
    assert " off " in row and shown[0].rstrip().endswith(" off") and shown[1].rstrip().endswith("%"), (row, shown)


def test_a_reason_without_room_keeps_what_it_says(whirr):
    frame = whirr("--source", "sim:scenario=crypto-miner,gpus=2,start=500", "top", "--once", "--size", "100x14").out
    assert len(re.findall("kworkerds has been mining for", frame)) == 2, frame


def once(sim, scenario, size, gpus=8):
    return sim(scenario, "top", "--once", "--size", size, gpus=gpus).out


def test_nothing_is_said_twice(sim):
    frame = once(sim, "late-rank", "120x40")
    headline = re.sub(r"\s+", " ", frame.split("Do ")[0])
    assert headline.count("waiting for GPU 0") == 1 and "The other" not in headline, frame
    assert frame.count("2619 MHz") == 1 and frame.lower().count("simulated") == 1, frame
    small = once(sim, "overheat", "60x15", gpus=4)
    assert "SIMULATED" in small.splitlines()[0] and "Simulated" not in small
    wide = once(sim, "late-rank", "250x60").split("PROCESS")[0]
    assert not re.search(r" (BY|MODEL|NAME|CONTAINER|TYPE) ", wide), wide


def test_a_headline_without_room_loses_its_asides_first(sim):
    assert once(sim, "night", "80x24", gpus=64).splitlines()[2].endswith("is busy: vllm is serving Mistral-7B-Instruct-v0.3.")


def test_a_bandwidth_is_that_of_the_gpu_where_one_program_computes(sim):
    rows = [line.split() for line in once(sim, "late-rank", "250x60", gpus=2).splitlines()]
    waiting = next(row for row in rows if row[:2] == ["1", "6733452"])
    assert waiting[waiting.index("1%") + 1] == "0%", waiting  # WORK, then BW, as in the row of its GPU


def test_a_job_names_what_keeps_it_waiting(sim):
    assert re.search(r"▲ 0-63 .* GPU 0: host's CPU", once(sim, "late-rank", "120x40", gpus=64))


def test_rows_of_notices_are_marked(sim):
    assert re.search(r"^▲  0 A100", once(sim, "reserved", "80x24", gpus=4), re.M)


def test_a_lost_gpu_leaves_its_room_to_the_others(sim):
    assert "memory 2619 MHz" in once(sim, "gpu-lost", "80x24", gpus=2)


def test_without_a_daemon_the_past_is_told_as_a_past(terminal):
    t = terminal("--source sim:scenario=late-rank top --interval 0.3", width=120, height=40)
    t.wait("GPUs 1-7 are waiting for GPU 0")
    t.wait("Do See what")
    t.keys("Left")
    past = t.wait(r"GPUs 1-7 were waiting for GPU 0, where .* waited for its CPU thread")
    assert re.search(r"^▲  0 H100", past, re.M) and "waits for another rank" not in past and "See what" not in past
    assert "kept one thread busy" in re.sub(r"\s+", " ", past)
    t.keys("x")
    t.wait("That was in the past: press n to go back to now")
    t.keys("w")
    keys = t.wait(r"g go to a time").rstrip().splitlines()[-1]
    assert "n now" in keys and "( ) event" in keys and "s sort" not in keys, keys


def test_every_key_says_what_it_did_not_do(terminal):
    t = terminal("--source sim:scenario=training,gpus=1 top --interval 0.3", width=120, height=40)
    t.wait("train.py")
    for key, words in (("n", "This is now"), ("Right", "left goes back"), ("}", "left goes back"), ("<", "--host A"),
                       ("U", "Space tags one"), ("m", "short plots: "), ("F", "F again stops"), ("F", "No longer following")):
        t.keys(key)
        t.wait(words)
    for _ in range(20):
        t.keys("w")
    t.wait("longest window")
    t.keys("a")
    assert "─ What can be done ─" in t.wait("What can be done")
    t.keys("Escape", "7")
    t.wait("worker|guard")
    t.keys("H")
    t.wait("No worker is under guard")


def test_a_dumb_terminal_gets_one_frame(tmp_path):
    t = Terminal([WHIRR, "--source", "sim:gpus=1,scenario=idle", "top"], environment(tmp_path, TERM="dumb"))
    assert t.end() == 0 and "Overview" in t.text and "\033" not in t.text


def test_a_recording_is_written_and_played(terminal, tmp_path, whirr):
    path = tmp_path / "recording"
    t = terminal(f"--source sim:scenario=training top --interval 0.2 --record {path}")
    t.wait("PROCESS")
    eventually(lambda: path.exists() and path.stat().st_size > 1000)
    t.keys("q")
    assert t.ended() == 0
    frame = whirr("--source", f"replay:{path}", "top", "--once")
    assert frame.code == 0 and "train.py" in frame.out


def test_no_keys_no_mouse_and_no_size_break_it(terminal):
    """A person who leans on the keyboard."""
    rng = random.Random(7)
    t = terminal("--source sim:scenario=multi-user,gpus=4 top --interval 0.2")
    t.wait("PROCESS")
    letters = [chr(c) for c in range(33, 127) if chr(c) not in "q;"]
    special = ["Up", "Down", "Left", "Right", "PPage", "NPage", "Home", "End", "Tab", "BTab", "Enter", "Escape", "BSpace", "F5", "Space"]
    for _ in range(60):
        what = rng.random()
        if what < 0.2:
            t.tmux("resize-window", "-x", str(rng.randint(10, 200)), "-y", str(rng.randint(3, 60)))
        elif what < 0.4:
            x, y = rng.randint(1, 120), rng.randint(1, 40)
            t.type("".join(f"\033[<{rng.choice((0, 64, 65))};{x};{y}M\033[<0;{x};{y}m" for _ in range(3)))
        else:
            t.keys(*rng.choices(letters + special, k=8))
    t.tmux("resize-window", "-x", "80", "-y", "24")
    t.keys("Escape")
    t.keys("Escape")
    t.keys("Escape")
    t.keys("1")
    t.wait("PROCESS")
    t.keys("q")
    assert t.ended() == 0
