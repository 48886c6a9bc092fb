# SPDX-License-Identifier: Apache-2.0
"""[hook.NAME]: programs that run on findings, and the recipes for them."""
import contextlib
import json
import os
import sqlite3
import subprocess

import pytest
from isolation import ROOT, WHIRR, environment, run_whirr
from waiting import PATIENCE, eventually

HOOKS = ROOT / "packaging" / "hooks"
SOURCE = "sim:scenario=idle,gpus=2,fault=lost@1:2-5"


@pytest.fixture
def program(tmp_path):
    """A program that notes what it was given, and what makes it run."""
    folder = tmp_path / "hook"
    folder.mkdir(mode=0o755)

    def make(text=""):
        path = folder / "program"
        path.write_text(f'#!/bin/sh\ncat >> {folder}/given\necho "$@" >> {folder}/arguments\n{text}\n')
        path.chmod(0o755)
        return path
    make.given = lambda: [json.loads(line) for line in (folder / "given").read_text().splitlines()] if (folder / "given").exists() else []
    make.folder = folder
    return make


@pytest.fixture
def hooked(start, tmp_path):
    """A daemon with this configuration, whose GPU 1 is lost for a few seconds."""
    def run(text, *args, source=SOURCE):
        config = tmp_path / "whirr.toml"
        config.write_text(text)
        return start("--config", str(config), "--interval", "0.2", *args, source=source)
    return run


def hook(path, on='["lost"]', more=""):
    return f'[hook.drain]\non = {on}\nrun = ["{path}", "a b", "$HOME"]\n{more}\n'


def test_a_finding_runs_a_program_with_its_json_and_again_when_it_is_over(hooked, program, tmp_path):
    daemon = hooked(hook(program("echo drained"), on='["ecc", "lost"]'), "--store", f"sqlite:{tmp_path}/history.db")
    eventually(lambda: program.given(), explain=daemon.log)
    fired = program.given()[0]
    assert fired["status"] == "firing" and fired["alert"] == "lost" and fired["gpu_index"] == 1 and fired["severity"] == "critical" and "GPU 1" in fired["why"]
    daemon.wait_log(r"hook drain: .*/program: ended with 0 after .*: drained")
    assert (program.folder / "arguments").read_text().splitlines()[0] == "a b $HOME"  # no shell reads it
    listed = eventually(lambda: [e for e in daemon.json("/api/history/events")["events"] if e["kind"] == "hook"], explain=daemon.log)
    assert "ended with 0" in listed[0]["text"] and listed[0]["gpu_index"] == 1
    with contextlib.closing(sqlite3.connect(tmp_path / "history.db")) as db:
        kept = json.loads(db.execute("SELECT data FROM events WHERE kind = 'hook' ORDER BY at_ms").fetchone()[0])
    assert (kept["hook"], kept["alert"], kept["status"]) == ("drain", "lost", "firing") and kept["program"].endswith("/program") and "ended with 0" in kept["result"]
    assert "outside" not in daemon.log()


def test_the_core_stays_confined(hooked, program):
    daemon = hooked(hook(program()))
    eventually(lambda: program.given(), explain=daemon.log)
    status = (ROOT / f"/proc/{daemon.process.pid}/status").read_text()
    assert "Seccomp:\t2" in status or "confine" in daemon.log()


@pytest.mark.parametrize("on, runs", [('["critical"]', True), ('["warning"]', True), ('"lost"', True), ('["ecc"]', False)])
def test_a_hook_waits_for_codes_or_severities(hooked, program, on, runs):
    daemon = hooked(hook(program(), on=on))
    daemon.wait_log("alert fires.*")
    if runs:
        eventually(lambda: program.given(), explain=daemon.log)
    else:
        daemon.stop()
        assert not program.given()


def test_a_program_that_hangs_is_killed_and_said(hooked, program):
    daemon = hooked(hook(program("sleep 1000 & sleep 1000"), more='timeout = "300ms"'))
    daemon.wait_log(r"hook drain: .*did not finish within 300 ms and was killed")


def test_one_that_fails_is_said_with_its_words(hooked, program):
    daemon = hooked(hook(program("echo no right to drain >&2; exit 3")))
    daemon.wait_log(r"hook drain: .*ended with 3 after .*no right to drain")


def test_runs_are_counted(hooked, program):
    """GPU 1 is lost and comes back every few seconds: alerts go on, the hook does not."""
    daemon = hooked(hook(program(), on='["lost", "gone", "info"]', more="max_per_hour = 1") + '[[alert]]\nname = "gone"\nwhen = "temperature_celsius > 0"\n')
    daemon.wait_log(r"a hook does not run: it ran max_per_hour times")
    daemon.stop()
    assert len(program.given()) == 1


def test_a_dry_run_runs_nothing(hooked, program):
    daemon = hooked(hook(program(), more="dry_run = true"))
    daemon.wait_log("dry run: this hook would run.*lost")
    daemon.stop()
    assert not program.given()


def test_a_program_that_others_can_write_does_not_run(hooked, program):
    path = program()
    path.chmod(0o777)
    daemon = hooked(hook(path))
    daemon.wait_log(r"hook drain: .*not run: others can write")
    assert not program.given()


def test_nor_does_one_of_a_configuration_that_others_can_write(program, tmp_path):
    config = tmp_path / "open.toml"
    config.write_text(hook(program()))
    config.chmod(0o666)
    done = run_whirr("config", "check", "--config", config)
    assert "others can write" in done.stdout + done.stderr


@pytest.mark.parametrize("text, said", [
    ('[hook.a]\non = ["lsot"]\nrun = ["/bin/true"]\n', "there is no finding, alert or severity 'lsot', did you mean 'lost'?"),
    ('[hook.a]\non = ["lost"]\nrun = ["true"]\n', "whole path"), ('[hook.a]\non = ["lost"]\n', "hook.a.run is missing")])
def test_mistakes_are_found_before_they_matter(tmp_path, text, said):
    (tmp_path / "bad.toml").write_text(text)
    done = run_whirr("config", "check", "--config", tmp_path / "bad.toml")
    assert done.returncode == 1 and said in done.stdout + done.stderr, done


# ---- recipes ----

@pytest.fixture
def recipe(tmp_path):
    """Runs one with stand-ins for programs that note their calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "calls").write_text("")

    def run(name, stand_ins, alert=None, **env):
        for program, text in stand_ins.items():
            (folder / program).write_text(f'#!/bin/sh\necho {program} "$@" >> {tmp_path}/calls\n{text}\n')
            (folder / program).chmod(0o755)
        (tmp_path / "calls").write_text("")
        done = subprocess.run([HOOKS / name], input=json.dumps(alert), capture_output=True, text=True, timeout=PATIENCE,
                              env=environment(PATH=f"{folder}:{os.path.dirname(WHIRR)}:/usr/bin:/bin", NODE_NAME="node-7", **env))
        return done.returncode, (tmp_path / "calls").read_text().splitlines()
    run.folder = tmp_path
    return run


def alert(status="firing", code="lost", gpu=1, uuid="GPU-2c4e0000-aaaa"):
    return {"status": status, "alert": code, "severity": "critical", "gpu_index": gpu, "gpu_uuid": uuid, "summary": 'it said "status": "resolved"; $(rm -rf /)'}


KUBECTL = """case "$*" in
"get nodes "*) cat {folder}/nodes; printf '%s||8||\\n' "$(cat {folder}/held)" ;;
*jsonpath*cordoned*) cat {folder}/held 2>/dev/null || true ;;
*jsonpath*unschedulable*) cat {folder}/off 2>/dev/null || true ;;
"annotate --overwrite"*) echo "$5" | sed 's/.*=//' > {folder}/held ;;
"annotate "*) rm {folder}/held ;;
cordon*) echo true > {folder}/off ;;
uncordon*) rm {folder}/off ;;
esac"""


def test_cordon_and_back_by_two_alerts(recipe):
    kubectl = {"kubectl": KUBECTL.format(folder=recipe.folder)}
    off = recipe.folder / "off"
    (recipe.folder / "nodes").write_text("||8||\n" * 3)
    settled = {"WHIRR_SETTLE_MINUTES": "0"}
    assert recipe("cordon", kubectl, alert(), **settled)[0] == 0 and off.exists()
    assert recipe("cordon", kubectl, alert(code="ecc", gpu=3))[0] == 0 and (recipe.folder / "held").read_text() == "lost.1_-_ecc.3\n"
    assert recipe("cordon", kubectl, alert("resolved"))[0] == 0 and off.exists()
    code, calls = recipe("cordon", kubectl, alert("resolved", "ecc", 3))
    assert code == 0 and not off.exists() and not (recipe.folder / "held").exists() and "kubectl uncordon node-7" in calls


@pytest.mark.parametrize("nodes, more, cordons", [
    ("lost.1||8||\n" + "||8||\n" * 17 + "||||\n" * 9, {}, False), ("lost.1||8||\n" + "||8||\n" * 18, {}, True), ("lost.1||8||\n|lost:NoSchedule|8||\n" + "||8||\n" * 18, {}, False),
    ("lost.1||8||\n|lost:NoSchedule|8||\n" + "||8||\n" * 18, {"WHIRR_MAX_DRAINED": "15"}, True), ("||8||\n" * 19, {"WHIRR_SETTLE_MINUTES": "999999999"}, False)],
    ids=["19 with GPUs", "20 with GPUs", "two of 21", "15 percent", "new version"])
def test_the_brake_of_cordon(recipe, nodes, more, cordons):
    """Marked before it is counted, and the mark goes where it is held back: 19 nodes allow one, 20 allow two."""
    (recipe.folder / "nodes").write_text(nodes)
    code, calls = recipe("cordon", {"kubectl": KUBECTL.format(folder=recipe.folder)}, alert(), **dict({"WHIRR_SETTLE_MINUTES": "0"}, **more))
    held = (recipe.folder / "held").exists()
    assert (code, held, (recipe.folder / "off").exists()) == ((0, True, True) if cordons else (75, False, False)), calls


def test_what_others_cordoned_stays_cordoned(recipe):
    (recipe.folder / "off").write_text("true\n")
    for status in ("firing", "resolved"):
        code, calls = recipe("cordon", {"kubectl": KUBECTL.format(folder=recipe.folder)}, alert(status))
        assert code == 0 and all(" get node " in f"{c} " for c in calls), calls


def test_a_reset_waits_until_nothing_is_on_the_gpu(recipe):
    busy = f'case "$*" in *query*) if [ -e {recipe.folder}/seen ]; then :; else : > {recipe.folder}/seen; echo 4711; fi ;; esac'
    code, calls = recipe("reset", {"nvidia-smi": busy}, alert(), WHIRR_RESET_PAUSE="0.05")
    assert code == 0 and calls[-1] == "nvidia-smi -i GPU-2c4e0000-aaaa --gpu-reset" and len(calls) == 3, calls
    for other in (alert("resolved"), alert(uuid=None), alert(uuid="GPU-1; reboot"), alert(uuid="0000:01:00.0")):
        assert recipe("reset", {"nvidia-smi": ""}, other) == (0, []), other


def test_slurm_and_nomad_go_by_the_judgement_of_the_node(recipe):
    source = {"WHIRR_NODE_HEALTH": "--source sim:scenario=idle,gpus=2,fault=lost@1 --settle 0"}
    well = {"WHIRR_NODE_HEALTH": "--source sim:scenario=idle,gpus=2"}
    code, calls = recipe("slurm", {"scontrol": "[ $1 = update ] || echo NodeName=x State=IDLE"}, alert(), **source)
    assert code == 0 and any(c.startswith("scontrol update NodeName=") and "State=DRAIN" in c for c in calls), calls
    state = {"WHIRR_NOMAD_STATE": str(recipe.folder / "nomad")}
    assert recipe("nomad", {"nomad": ""}, **well, **state) == (0, [])
    assert recipe("nomad", {"nomad": ""}, **source, **state) == (0, ["nomad node eligibility -disable -self"])
    assert recipe("nomad", {"nomad": ""}, **source, **state) == (0, [])
    assert recipe("nomad", {"nomad": ""}, **well, **state) == (0, ["nomad node eligibility -enable -self"])
