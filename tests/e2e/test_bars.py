# SPDX-License-Identifier: Apache-2.0
"""One line for status bars, and waiting in scripts."""
import os
import csv
import io
import json
import platform
import re
import shlex
import socket
import subprocess
import time

import pytest
from conftest import ROOT
from isolation import WHIRR, environment, linux_only

BARS = (ROOT / "docs" / "bars.md").read_text()
COMMANDS = sorted(set(re.findall(r"whirr (?:status|ps|wait)[^\n`)]*", "\n".join(re.findall(r"```\w*\n(.*?)```", BARS, re.S)))))


def line(sim, form, scenario="idle", gpus=1):
    done = sim(scenario, "status", "--line", "--format", form, gpus=gpus)
    assert done.code == 0 and not done.err
    return done.out


def test_plain_is_one_line_with_a_part_for_each_gpu(sim):
    out = sim("training", "status", "--line", gpus=3).out
    assert out.count("\n") == 1
    parts = re.split(r" [·|] ", out.strip())
    assert len(parts) == 3
    assert re.match(r"SIMULATED 0: \d+% \d+\.\d/\d+\.\d GiB \d+ °?C \d+ W$", parts[0]), parts[0]


def test_a_single_gpu_has_no_number(sim):
    assert re.match(r"SIMULATED <?\d+% ", line(sim, "plain"))


def test_waybar_gets_json_with_a_class(sim):
    bar = json.loads(line(sim, "waybar", "training", 2))
    assert set(bar) == {"text", "tooltip", "class", "alt", "percentage"}
    assert bar["class"] == "busy" and bar["percentage"] > 50
    assert bar["tooltip"].count("\n") == 1 and "train.py" in bar["tooltip"]


def test_a_lost_gpu_is_critical_in_every_bar(sim):
    lost = "gpu-lost,start=70"
    assert json.loads(line(sim, "waybar", lost))["class"] == "critical"
    assert line(sim, "tmux", lost).startswith("#[fg=#e01b24]") and line(sim, "tmux", lost).endswith("#[default]\n")
    assert line(sim, "polybar", lost).startswith("%{F#e01b24}") and line(sim, "polybar", lost).endswith("%{F-}\n")
    assert line(sim, "i3blocks", lost).splitlines()[2] == "#e01b24"


def test_i3blocks_gets_a_long_and_a_short_text(sim):
    long, short, color = line(sim, "i3blocks").split("\n")[:3]
    assert len(short) < len(long) and color == ""


def test_without_a_gpu_the_line_says_so(whirr, tmp_path):
    done = whirr("--sysroot", tmp_path, "status", "--line")
    assert (done.code, done.out) == (0, "no GPU\n")


def test_a_format_is_a_line_and_needs_a_known_name(sim):
    assert sim("idle", "status", "--format", "tmux").out == sim("idle", "status", "--line", "--format", "tmux").out != ""
    assert sim("idle", "status", "--line", "--format", "conky").code == 2


@pytest.mark.parametrize("command", [c for c in COMMANDS if "wait" not in c])
def test_every_status_command_of_the_page_works(sim, command):
    words = shlex.split(command if command.count('"') % 2 == 0 else command.split('"')[0])[1:]
    done = sim("idle", *[w for w in words if not w.startswith("--watch")])
    assert done.code == 0 and done.out.strip()


def test_the_page_has_a_command_for_every_bar():
    assert {c for c in COMMANDS if "--format" in c} and len(COMMANDS) >= 7


@pytest.mark.parametrize("command", [c for c in COMMANDS if "wait" in c])
def test_every_wait_command_of_the_page_is_understood(sim, command):
    words = shlex.split(command)[1:]
    done = sim("idle", *words, *([] if "--timeout" in words else ["--timeout", "1s"]))
    assert done.code == 0 or (done.code == 1 and "timed out after 1s" in done.err), done.err


def test_wait_ends_when_the_condition_holds(sim):
    done = sim("idle", "wait", "--until", "utilization < 20%", "--timeout", "20s", gpus=2)
    assert (done.code, done.out) == (0, "") and done.err == "SIMULATED\n"


def test_wait_holds_for_as_long_as_was_asked(sim):
    begin = time.monotonic()
    done = sim("idle", "wait", "--until", "power < 10000W for 2s", "--interval", "0.2", "--timeout", "30s")
    assert done.code == 0 and time.monotonic() - begin >= 2


def test_wait_gives_up(sim):
    done = sim("training", "wait", "--until", "utilization < 1%", "--timeout", "500ms", "--interval", "0.1")
    assert (done.code, done.err) == (1, "whirr: timed out after 500ms\n")


def test_room_prints_the_gpu(sim):
    assert sim("idle", "wait", "--gpu-free", "1GiB", "--timeout", "10s", gpus=2).out == "0\n"
    assert sim("idle", "wait", "--gpu-free", "1GiB", "--gpu", "1", gpus=2).out == "1\n"
    assert sim("idle", "wait", "--gpu-free", "1GiB", "--json", gpus=2).json() == {"gpu_index": 0, "simulated": True}
    assert sim("training", "wait", "--gpu-free", "23GiB", "--timeout", "300ms").err == "whirr: timed out after 300ms\n"


PAIR = "gpu NVIDIA RTX 4090\n  total 24564\n  used 100\n{}gpu NVIDIA RTX 4090\n  total 24564\n  used 100\n"


def test_two_who_wait_get_room_of_their_own(nvml):
    """The first has not used its room yet: it still looks free."""
    wait = ("wait", "--gpu-free", "20GiB", "--timeout", "300ms", "--interval", "0.1")
    script = PAIR.format("")
    assert [nvml(script, *wait).out for _ in range(2)] == ["0\n", "1\n"]
    assert nvml(script, *wait).err == "whirr: timed out after 300ms\n"
    assert nvml(script, "wait", "--gpu-free", "3GiB").out == "0\n"
    # Both have used theirs, and there is room beside them: of 24 GiB, 20 + 3 are used or reserved on the first.
    used = script.replace("used 100", "used 20580")
    assert nvml(used, "wait", "--gpu-free", "3GiB").out == "1\n"


@pytest.mark.parametrize("fault,words", [("field 230 1", "needs a reset"), ("field 230 3", "drained"), ("ecc_uncorrected 3", "failing")])
def test_nothing_is_placed_on_a_gpu_that_is_failing(nvml, fault, words):
    script = PAIR.format(f"  ecc 1\n  {fault}\n")
    assert nvml(script, "wait", "--gpu-free", "20GiB").out == "1\n"
    fit = nvml(script, "fit", "20GiB")
    assert fit.code == 0 and "fit on GPU 1" in " ".join(fit.out.split()), fit.out
    assert words in " ".join(nvml(script, "fit").out.split()), "the reason stands below the table"
    assert nvml(script, "fit", "20GiB", "--gpu", "0").code == 1
    alone = nvml(script, "wait", "--gpu-free", "20GiB", "--gpu", "0", "--timeout", "200ms")
    assert alone.code == 1 and "timed out" in alone.err


def test_room_of_a_divided_gpu_is_that_of_its_instances(nvml):
    script = "gpu NVIDIA H100\n  total 81920\n  mig 1\n  instance 1g.10gb 1 0 9856 100\n  instance 1g.10gb 2 0 9856 100\n"
    no = nvml(script, "wait", "--gpu-free", "20GiB")
    assert (no.code, no.err) == (1, "whirr: GPU 0 can't have 20.0 GiB free: it has 9.6 GiB in its largest instance\n")
    assert [nvml(script, "wait", "--gpu-free", "9GiB").out for _ in range(2)] == ["0\n", "0\n"]
    assert nvml(script, "wait", "--gpu-free", "9GiB", "--timeout", "200ms").code == 1, "two instances, two who wait"


def test_room_that_no_gpu_can_ever_have_is_not_waited_for(sim):
    one = sim("idle", "wait", "--gpu-free", "25GiB")
    assert (one.code, one.err) == (1, "whirr: GPU 0 can't have 25.0 GiB free: it has 24.0 GiB\n")
    some = sim("idle", "wait", "--gpu-free", "9TiB", gpus=2)
    assert some.code == 1 and some.err.startswith("whirr: no GPU can have 9.0 TiB free: the largest, GPU ")


@pytest.mark.parametrize("wrong", [[], ["--until", "utilisation <"], ["--gpu-free", "lots"], ["--until", "power > 5C"],
                                   ["--until", "process.memory_mb > 1GiB"], ["--gpu-free", "1GiB", "--timeout", "soon"]])
def test_wrong_conditions_are_usage_errors(sim, wrong):
    done = sim("idle", "wait", *wrong)
    assert done.code == 2 and done.err.startswith("whirr: ")


def test_wait_without_a_gpu_fails(whirr, tmp_path):
    assert whirr("--sysroot", tmp_path, "wait", "--gpu-free", "1GiB").code == 1


def test_status_has_the_power_of_all_gpus(sim):
    body = sim("training", "status", "--json", gpus=3).json()
    assert body["totals"]["power_watts"] == pytest.approx(sum(g["power_watts"] for g in body["gpus"]), abs=0.01)
    title = sim("training", "status", gpus=3).out.splitlines()[0]
    assert re.search(r"3 GPUs +\d+ W", title)
    assert "GPUs" not in sim("training", "status", gpus=1).out.splitlines()[0]


def test_fields_are_the_keys_of_json(sim):
    rows = [line.split("\t") for line in sim("training", "status", "--fields", "index, name,activity.code", gpus=2).out.splitlines()]
    body = sim("training", "status", "--json", gpus=2).json()["gpus"]
    assert [row[:2] for row in rows] == [[str(g["index"]), g["name"]] for g in body]
    assert all(row[2] == "saturated" or row[2] == "busy" for row in rows), rows


def test_csv_has_a_header_and_quotes(sim):
    done = sim("mixed", "ps", "--csv", "--fields", "pid,command,container_name", gpus=4)
    rows = list(csv.DictReader(io.StringIO(done.out)))
    body = sim("mixed", "ps", "--json", gpus=4).json()["processes"]
    assert [(int(r["pid"]), r["command"], r["container_name"]) for r in rows] == [
        (p["pid"], p["command"] or "", p["container_name"] or "") for p in body]
    assert len(list(csv.reader(io.StringIO(sim("idle", "status", "--csv").out)))) == 2


def test_a_template_is_filled_for_each_row(sim):
    out = sim("idle", "status", "--template", "gpu {{ index }} {{state}}!", gpus=2).out
    assert out == "gpu 0 ok!\ngpu 1 ok!\n"


@pytest.mark.parametrize("wrong", [["--fields", "powr_watts"], ["--fields", "index,"], ["--template", "{{nothing}}"],
                                   ["--fields", "index", "--json"], ["--template", "x", "--csv"]])
def test_wrong_fields_are_usage_errors(sim, wrong):
    done = sim("idle", "status", *wrong)
    assert (done.code, done.out) == (2, "") and done.err.startswith("whirr: ")


def test_an_unknown_field_has_a_suggestion(sim):
    assert "did you mean 'power_watts'?" in sim("idle", "status", "--fields", "powr_watts").err
    assert "there are utilization_percent," in sim("idle", "status", "--fields", "gpu_utilization").err


@pytest.mark.parametrize("args", [["--line", "--format", "waybar"], ["--fields", "index"], ["--csv"], ["--template", "{{index}}"], ["--format", "tmux", "--line"], ["--templ", "{{index}}"]])
def test_options_of_status_need_no_status(sim, args):
    """The values are not taken for the name of a command; the figures may be of another moment."""
    short, long = sim("idle", *args), sim("idle", "status", *args)
    assert short.code == long.code == 0 and len(short.out.splitlines()) == len(long.out.splitlines()) > 0


@pytest.mark.parametrize("args", [["-w=0.1"], ["-w", "0.1"], ["-w0.1"], ["--watch=0.1"], ["--watch", "0.1"], ["-w", ".1"], ["-w", "0.1s"]])
def test_watch_takes_its_seconds_in_every_form(args):
    for words in (["--line", *args], ["status", "--line", *args], [*args, "--line"]):
        with subprocess.Popen([WHIRR, "--source", "sim:scenario=idle,gpus=1", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True) as p:
            lines = [p.stdout.readline() for _ in range(3)]
            p.terminate()
            assert all("GiB" in line for line in lines), (words, lines, p.stderr.read())


def test_every_csv_has_a_time(sim, whirr):
    for args in (["status"], ["status", "--fields", "index,power_watts"], ["ps"], ["ps", "--fields", "pid"]):
        rows = list(csv.DictReader(io.StringIO(sim("mixed", *args, "--csv").out)))
        assert rows and all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", r["time"]) for r in rows), args
    assert sim("idle", "status", "--csv", "--fields", "index,time").out.splitlines()[0] == "index,time"
    assert sim("idle", "status", "--fields", "index").out == "0\n", "only where it is kept"


def test_single_braces_get_a_hint(sim):
    done = sim("idle", "status", "--template", "{index} {state}")
    assert done.code == 2 and "{{index}}" in done.err
    assert sim("idle", "--template", 'awk {print} {{index}}').out == "awk {print} 0\n"
    assert sim("idle", "--template", 'json: {"a": 1}').code == 0


@pytest.mark.parametrize("column", ["vram", "VRAM", "sm", "watts", "ram", "mem", "enc", "dec", "type", "container", "model", "name", "command", "age", "gpu", "pid", "user", "cpu",
                                    "memory", "utilization", "power", "host-memory"])
def test_ps_sorts_by_the_columns_it_shows(sim, column):
    assert sim("mixed", "ps", "--sort", column).code == 0 and sim("mixed", "top", "--once", "--sort", column).code == 0


def test_vram_is_what_the_column_shows(sim):
    rows = sim("mixed", "ps", "--sort", "VRAM", "--fields", "memory_mb").out.split()
    assert [float(r) for r in rows] == sorted((float(r) for r in rows), reverse=True) and len(rows) > 3


# ---- the end of a program ----

PROGRAM = "import sys; print(flush=True); sys.stdin.read(); sys.exit(3)"


@pytest.fixture
def program(tmp_path):
    """A script that ends with status 3 when its input is closed."""
    path = tmp_path / f"train_{os.getpid()}.py"  # of this worker alone: others wait for programs by name, too
    path.write_text(PROGRAM)
    with subprocess.Popen(["/usr/bin/python3", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.script = path.name
        yield process
        process.stdin.close()


def exit_status_is_known():
    return tuple(int(n) for n in re.findall(r"\d+", platform.release())[:2]) >= (6, 15)


@linux_only("handles of programs")
@pytest.mark.parametrize("name", [True, False])
def test_the_end_of_a_program_is_waited_for(program, name):
    words = [program.script] if name else ["--pid", str(program.pid)]
    with subprocess.Popen([WHIRR, "wait", *words, "--json"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr.readline() == f"Waiting for {program.script}, PID {program.pid}.\n"
        program.stdin.close()
        program.wait()
        (ended,) = json.loads(waiting.stdout.read())["programs"]
        known = 3 if exit_status_is_known() else None
        assert ended == {"pid": program.pid, "name": program.script, "ended": True, "exit_status": known} and waiting.wait() == (known or 0)


def test_a_program_of_the_simulator_is_waited_for(sim):
    assert sim("training", "wait", "train.py", "--timeout", "300ms").err.endswith("whirr: timed out after 300ms\n")


def test_waiting_for_nothing_is_refused(whirr):
    assert "no running program has the name or PID 'nobody.py'" in whirr("wait", "nobody.py").err
    assert "wait for what?" in whirr("wait").err and whirr("wait").code == 2
    assert "for one thing" in whirr("wait", "a", "--idle").err
    for never in (["--idle", "--notify=phone"], ["--when", "power > 9kW", "--notify=phone"]):
        assert "no [notify.phone]" in whirr("--source", "sim:scenario=training", "wait", *never).err
    nobody = whirr("--source", "sim:scenario=training", "wait", "train.py", "--notify")
    assert nobody.code == 1 and "no desktop session here" in nobody.err and "whirr notify add" in nobody.err and not nobody.out, "before the wait, not after it"


def test_a_notifier_that_cannot_be_reached_is_found_before_the_wait(whirr, tmp_path):
    """A connection that is refused, and one that is taken: nothing is sent before the wait is over."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as gone:
        port, free = server.getsockname()[1], gone.getsockname()[1]
        gone.close()
        config = tmp_path / "notify.toml"
        kinds = (("webhook", "http"), ("ntfy", "http"), ("email", "smtp"), ("mqtt", "mqtt"))
        config.write_text("".join(f'[notify.{kind}]\ntype = "{kind}"\nurl = "{scheme}://127.0.0.1:{free}/x"\n' +
                                  ('to = ["a@b.example"]\nfrom = "c@d.example"\n' if kind == "email" else "") for kind, scheme in kinds) +
                          f'[notify.there]\ntype = "webhook"\nurl = "http://127.0.0.1:{port}/x"\n')
        base = ("--config", str(config), "--source", "sim:scenario=training", "wait", "train.py", "--timeout", "300ms")
        for kind, _ in kinds:
            nobody = whirr(*base, f"--notify={kind}")
            assert nobody.code == 1 and f"cannot reach notifier '{kind}'" in nobody.err and "timed out" not in nobody.err, nobody.err
        waited = whirr(*base, "--notify=there")
        assert "timed out after 300ms" in waited.err and "cannot reach" not in waited.err
        server.settimeout(10)
        with server.accept()[0] as connection:
            assert connection.recv(100) == b"", "connected, and nothing sent"
