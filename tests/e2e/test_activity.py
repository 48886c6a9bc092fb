# SPDX-License-Identifier: Apache-2.0
"""The one judgement of activity, as people and programs see it."""
import concurrent.futures
import json
import re
import subprocess

import pytest
from conftest import BUILD, environment, eventually

CODES = {"unknown", "lost", "failing", "asleep", "idle", "kept_from_idling", "lightly_loaded", "busy", "saturated"}


@pytest.mark.parametrize("scenario,code", [("idle", "idle"), ("training", "saturated"), ("asleep", "asleep"), ("gpu-lost", "lost")])
def test_every_command_gives_the_same_activity(sim, scenario, code):
    status = sim(scenario, "status", "--json").json()
    why = sim(scenario, "why", "--json").json()
    health = json.loads(sim(scenario, "health", "--json").out)
    assert status["gpus"][0]["activity"]["code"] == why["gpus"][0]["activity"]["code"] == health["gpus"][0]["activity"]["code"] == code
    for gpu in status["gpus"]:
        assert gpu["activity"]["code"] in CODES and gpu["activity"]["words"] == gpu["activity"]["code"].replace("_", " ")


def test_symptoms_stand_beside_it(sim):
    gpu = sim("overheat", "status", "--json").json()["gpus"][0]
    assert {"loud", "hot", "throttling"} <= set(gpu["activity"]["symptoms"])
    assert gpu["activity"]["throttled_by"] == ["software thermal slowdown"]
    assert "THERMAL" in sim("overheat", "status").out, "the worst of them"


def test_a_lost_gpu_comes_first(sim):
    assert sim("gpu-lost", "why", "--json").json()["answer"].startswith("Simulated GPU 0 is lost")


def test_a_recording_brings_its_own_past(whirr, tmp_path):
    """The work ends after 60 s: somebody who looks at second 70 of the recording is told so, not sent to look for dust."""
    maker = BUILD / "tests" / "fakes" / "history" / "ended_work"
    if not maker.exists():
        pytest.skip("ended_work was not built")
    path = tmp_path / "ended.whirr"
    subprocess.run([maker, path], check=True, env=environment(), timeout=60)
    body = whirr("--source", f"replay:{path},at=70", "why", "--json").json()
    first = body["gpus"][0]["causes"][0]
    assert first["code"] == "recent_load" and first["process"] == "python3"


@pytest.mark.slow
def test_watching_remembers_between_answers(whirr, tmp_path):
    maker = BUILD / "tests" / "fakes" / "history" / "ended_work"
    if not maker.exists():
        pytest.skip("ended_work was not built")
    path = tmp_path / "ended.whirr"
    subprocess.run([maker, path], check=True, env=environment(), timeout=60)

    def watched():
        """Sixteen recorded seconds pass in each second: the watch sees the end of the work, and still knows of it afterwards."""
        watch = subprocess.Popen([BUILD / "whirr", "--source", f"replay:{path},speed=16,at=1", "why", "--json", "--watch=0.5"], stdout=subprocess.PIPE,
                                 env=environment(), text=True)
        codes = []
        try:
            for line in watch.stdout:
                codes.append(json.loads(line)["gpus"][0]["causes"][0]["code"])
                if len(codes) == 40 or codes[-4:-3] == ["recent_load"]:
                    break
        finally:
            watch.kill()
            watch.wait()
        return codes

    # On a busy machine the work may be over before the first answer: once more.
    codes = eventually(lambda: (codes := watched())[0] == "compute_load" and codes, explain="the work was never seen")
    # An answer that forgets says "airflow" as soon as the end of the work is not among its own samples.
    assert codes[-4:] == ["recent_load"] * 4, codes


def test_a_server_gpu_at_its_usual_temperature_is_not_hot(sim):
    """71 °C on an H100 is 15 °C below what it may reach, and normal: `why` and the verdict of `whirr` agree."""
    gpu = sim("training,start=300", "why", "--json", gpus=1).json()["gpus"][0]
    assert gpu["activity"]["symptoms"] == [] and "normal for this work" in gpu["answer"], gpu["answer"]
    assert "no trouble seen" in sim("training,start=300", gpus=1).out


def test_many_processes_of_one_program_are_counted(sim):
    gpu = sim("crowd", "why", "--json", gpus=1).json()["gpus"][0]
    assert "processes of server.py · bge-large-en (svc-embed, embeddings) are sharing it" in gpu["answer"], gpu["answer"]


@pytest.mark.slow
def test_a_gpu_whose_driver_asks_for_a_reset_is_failing_everywhere(sim):
    scenario = "ecc-errors,start=300"
    gpu = sim(scenario, "why", "--json", gpus=2).json()["gpus"][0]
    assert gpu["activity"]["code"] == "failing" and gpu["answer"].startswith("Simulated GPU 0 needs a reset: the driver asks for it.")
    assert "reset it or reboot the host" in gpu["suggestions"][0] and "replaced" not in " ".join(gpu["suggestions"])
    for command in ("why",), ("why", "--idle"), ("status", "--full"):
        assert "GPU 0 needs a reset" in sim(scenario, *command, gpus=2).out, command
    assert sim(scenario, "health", gpus=2).code == 2


@pytest.mark.slow
def test_no_answer_is_calm_and_alarmed_at_once(whirr):
    """Of every simulated machine: one severity in one answer, a claim of calm only without a finding, a lost GPU is named first, and
    no advice is given twice in other words."""
    scenarios = [s["name"] for s in whirr("sim", "list", "--json").json()["scenarios"]]

    def is_twice(advice):
        actions = [re.split("[.:;]", line)[0] for line in advice]
        return len(set(actions)) < len(actions)

    def contradictions(scenario):
        body = json.loads(whirr("--source", f"sim:scenario={scenario},start=300", "why", "--json").out)
        first = (body["findings"] or [{"severity": "info"}])[0]
        lost = [f["gpu_index"] for f in body["findings"] if f["code"] == "lost" and f["severity"] == "critical"]
        said = {"calm": (body["calm"] is None) == (body["severity"] != "info"), "severity": first["severity"] == body["severity"],
                "lost": not lost or f"GPU {lost[0]}" in body["answer"].split(".")[0],
                "advice": not any(is_twice(g["suggestions"]) for g in body["gpus"]),
                "gpus": all(g["severity"] in ("info", "notice") or "normal for this work" not in g["answer"] for g in body["gpus"])}
        return [(scenario, what, body["severity"], body["calm"], body["answer"]) for what, holds in said.items() if not holds]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert not [c for found in pool.map(contradictions, scenarios) for c in found]
