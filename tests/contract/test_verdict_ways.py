# SPDX-License-Identifier: Apache-2.0
"""One verdict by every way to ask for it: a recorded machine, a recording, the library, events, and what a command's exit code says."""
import json
import re
import subprocess
import sys

import pytest
from isolation import BUILD, ROOT, environment, run_whirr
from recorded import FIXTURES, FOLDER, answers, expand
from waiting import PATIENCE, eventually

SCENARIOS = ["training,start=300", "overheat,start=600", "ecc-errors,start=300", "fan-stopped,start=300", "bad-link,start=300", "held-context"]
EXIT = {"healthy": 0, "asleep": 0, "degraded": 1, "failing": 2, "lost": 2, "unknown": 3}
PYTHON = """
import json, sys, whirr
with whirr.open(**json.loads(sys.argv[1])) as w:
    print(json.dumps([w.status(), w.explain()]))
"""


def first(body):
    """Severity, code and GPU of the headline."""
    finding = body["finding"] if "finding" in body else next(iter(body["findings"]), None)
    return body["severity"], finding and finding["code"], finding and finding["gpu_index"]


def by_commands(*options, **env):
    """The same of each command; what `health` and `why` exit with must fit."""
    done = {command: run_whirr(command, "--json", *options, **env) for command in ("why", "status", "health")}
    bodies = {command: json.loads(d.stdout) for command, d in done.items()}
    assert done["health"].returncode == EXIT[bodies["health"]["state"]] and done["why"].returncode == done["status"].returncode == 0
    said = {command: first(body) for command, body in bodies.items()}
    unread = any(key.startswith("pcie_") and why == "unread" for gpu in bodies["status"]["gpus"] for key, why in gpu["absent"].items())
    if unread and said["status"] != said["why"]:  # a quick look leaves links out: it names what comes next, and says so where all is calm
        severity, code, _ = said.pop("status")
        assert said["why"][1].startswith("pcie_") or said["why"][0] == "info", said
        assert severity == "info" or code in {f["code"] for f in bodies["why"]["findings"]}, (code, bodies["why"]["findings"])
        assert severity != "info" or re.search("not looked at: .*link", run_whirr("status", *options, **env).stdout)
    return said


def by_library(**options):
    """The same of the library's two answers."""
    library = BUILD / "libwhirr.so.1"
    preload = {}
    if "libasan" in subprocess.run(["objdump", "-p", str(library)], capture_output=True, text=True).stdout:
        preload["LD_PRELOAD"] = " ".join(subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
                                         for name in ("libasan.so", "libubsan.so"))
    done = subprocess.run([sys.executable, "-c", PYTHON, json.dumps(options)], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment(PYTHONPATH=str(ROOT / "python"), WHIRR_LIBRARY=str(library), PYTHONDONTWRITEBYTECODE="1", **preload))
    assert done.returncode == 0, done.stderr
    return dict(zip(("library status", "library why"), map(first, json.loads(done.stdout))))


def assert_one(said):
    assert len(set(said.values())) == 1, json.dumps(said, indent=1)


@pytest.mark.parametrize("name", sorted(p.stem for p in FOLDER.glob("*.machine")))
def test_a_recorded_machine(tmp_path, name):
    root = expand(name, tmp_path / "machine")
    said = by_commands("--sysroot", root, **answers(root))
    if not answers(root):
        said.update(by_library(sysroot=root))
    assert_one(said)


@pytest.mark.parametrize("tree", sorted(str(p.parent.relative_to(FIXTURES)) for p in FIXTURES.glob("*/*/sys") if p.is_dir()))
def test_a_recorded_tree(tree):
    assert_one(by_commands("--sysroot", str(FIXTURES / tree)))


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_recording_says_what_was_said_live(tmp_path, scenario):
    """The first moments, as a look without a daemon has them, too."""
    file = tmp_path / "run.whirr"
    assert run_whirr("record", str(file), "--source", f"sim:scenario={scenario}", "--interval", "0.1", "--duration", "0.5").returncode == 0
    said = {"live " + command: what for command, what in by_commands("--source", f"sim:scenario={scenario}").items()}
    said.update(by_commands("--source", f"replay:{file}"))
    assert_one({command: what for command, what in said.items() if command != "live status"})


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_library_and_events(start, node, scenario):
    d = start("--interval", "0.5", source=f"sim:scenario={scenario}")
    said = {}
    with node("ws.mjs", f"ws://127.0.0.1:{d.port}/ws") as client:
        client.wait("gpu_status_update")

        def agree():
            said.clear()
            said.update(by_library(socket=d.sock))
            said["event"] = first(client.named("gpu_status_update")[-1])
            said["why"] = first(d.json("/api/why"))
            return len(set(said.values())) == 1

        eventually(agree, explain=lambda: json.dumps(said, indent=1) + d.log())  # a sample may lie between two questions


@pytest.mark.parametrize("scenario, state", [("idle", "healthy"), ("training,start=300", "healthy"), ("fan-stopped,start=300", "failing"),
                                             ("ecc-errors,start=300", "failing"), ("gpu-lost,start=600", "lost")])
def test_exit_codes_follow(start, scenario, state):
    d = start("--interval", "0.5", source=f"sim:scenario={scenario}")

    def follow():
        health = d.whirr("health", "--json")
        body = json.loads(health.stdout)
        return body["state"] == state and health.returncode == d.whirr("health", "--nagios").returncode == EXIT[state]

    eventually(follow, explain=lambda: d.whirr("health").stdout + d.log())
    assert d.whirr("why").returncode == 0


def root_of(findings, code):
    own = {finding["code"]: finding for finding in findings}
    while own[code]["effect_of"] in own:
        code = own[code]["effect_of"]
    return code


@pytest.mark.parametrize("scenario", ["fan-stopped,start=200", "fan-stopped,start=400", "fan-stopped,start=900", "overheat,start=610", "ecc-errors,start=300", "gpu-lost,start=45",
                                      "gpu-lost,start=65", "gpu-error,start=90", "reset-needed,start=90", "repair-pending,start=90", "row-remap,start=90", "retired-page,start=90",
                                      "nvlink-down,start=90", "fan-failing,start=420", "fan-by-hand,start=420"])
def test_health_names_the_first_root_of_why_with_its_advice(tmp_path, scenario):
    """A fan that stopped is the reason, not the heat that it leaves."""
    file, sick = tmp_path / "moment.whirr", 0
    assert run_whirr("record", str(file), "--source", f"sim:scenario={scenario}", "--interval", "0.1", "--duration", "0.3").returncode == 0
    why, health = (json.loads(run_whirr(command, "--json", "--source", f"replay:{file},at=0.2").stdout) for command in ("why", "health"))
    for gpu, said in zip(health["gpus"], why["gpus"]):
        found = [finding for finding in why["findings"] if finding["gpu_index"] == gpu["gpu_index"]]
        listed = [finding.get("code", finding["check"]) for finding in gpu["findings"]]
        if listed:
            sick += 1
            first = next((finding["code"] for finding in found if finding["code"] in listed), None)
            assert first and listed[0] == root_of(found, first), (listed, found)
            assert gpu["action"] == gpu["findings"][0]["action"] and gpu["action"] in said["suggestions"], (gpu, said["suggestions"])
    assert sick or scenario.startswith(("fan-", "gpu-lost")), "nothing was found"


def test_why_says_what_was_looked_at(start):
    """With a daemon and without: the areas, and what is missing."""
    d = start("--interval", "0.5", source="sim:scenario=training,start=300,gpus=1")
    gpu = d.json("/api/why")["gpus"][0]
    assert "errors" in gpu["looked"] and gpu["not_looked"] is None
    for text in (d.whirr("why", "-v").stdout, run_whirr("why", "-v", "--source", "sim:scenario=training,start=300,gpus=1").stdout):
        assert "Looked " + ", ".join(gpu["looked"]) in " ".join(text.split()) and "Not at" not in text


def test_what_could_not_be_looked_at_is_named(tmp_path):
    root = expand("nvidia-odd-cells", tmp_path / "machine")
    unread = [g["not_looked"] for g in json.loads(run_whirr("why", "--json", "--sysroot", root, **answers(root)).stdout)["gpus"]]
    assert all(m.endswith("kernel log") for m in unread)
    log = tmp_path / "machine/dev/kmsg"
    log.parent.mkdir(exist_ok=True)
    log.write_text("4,0,1000000,-;Linux version 6.1\n")
    missing = [g["not_looked"] for g in json.loads(run_whirr("why", "--json", "--sysroot", root, **answers(root)).stdout)["gpus"]]
    text = " ".join(run_whirr("why", "-v", "--sysroot", root, **answers(root)).stdout.split())
    assert any(missing) and text.count("Not at ") == sum(m is not None for m in missing)
    assert all("Not at " + m in text for m in missing if m)


def test_a_simulated_place_is_labelled():
    placed = json.loads(run_whirr("fit", "1GiB", "--json", "--source", "sim:scenario=idle,gpus=1").stdout)["placements"][0]["gpus"]
    assert [g["simulated"] for g in placed] == [True]
    waited = run_whirr("wait", "--gpu-free", "1GiB", "--source", "sim:scenario=idle,gpus=1")
    assert waited.stdout == "0\n" and waited.stderr == "SIMULATED\n"
    assert json.loads(run_whirr("wait", "--gpu-free", "1GiB", "--json", "--source", "sim:scenario=idle,gpus=1").stdout) == {"gpu_index": 0, "simulated": True}
