# SPDX-License-Identifier: Apache-2.0
"""whirr why --prove CODE: what decides about a finding, and where the answer would turn. What it claims is tried on the judge itself."""
import json
import subprocess
import time

import pytest
from isolation import BUILD, environment

MAKER = BUILD / "tests" / "fakes" / "history" / "make_history"
SCRIPT = "gpu NVIDIA GeForce RTX 4090\n  temperature {temperature}\n  gpu_util 98\n  power 310000\n  power_limit 450000\n  fan 100\n"


def proof(nvml, code, temperature, *more):
    done = nvml(SCRIPT.format(temperature=temperature), "why", "--prove", code, "--json", *more)
    return done.code, json.loads(done.out)


def reading(body, name):
    return next((r for r in body["readings"] if r["name"] == name), None)


@pytest.mark.slow
def test_the_value_at_which_a_finding_turns_is_the_one_at_which_it_turns(nvml):
    code, body = proof(nvml, "heat_limit", 93)
    assert code == 0 and body["said"] and body["gpu_index"] == 0 and body["area"] == "heat" and "fan_stopped" in body["causes"], body
    temperature = reading(body, "temperature_celsius")
    assert temperature["needed"] and temperature["value"] == 93 and temperature["absent"] is None
    turns = temperature["turns_at"]
    ages = {r["name"]: r["age_seconds"] for r in body["readings"] if r["value"] is not None}
    assert ages and min(ages.values()) >= body["age_seconds"] >= 0, ages
    assert f"at {turns:g} °C instead of 93 °C it would not apply" in temperature["text"]
    assert proof(nvml, "heat_limit", int(turns))[0] == 1
    assert proof(nvml, "heat_limit", int(turns) + 1)[0] == 0


def test_what_is_not_said_says_what_it_would_need(nvml):
    code, body = proof(nvml, "heat_limit", 61)
    assert code == 1 and not body["said"] and body["headline"] is None
    turns = reading(body, "temperature_celsius")["turns_at"]
    assert turns > 61 and "It doesn't apply to GPU 0" in body["answer"]
    done = nvml(SCRIPT.format(temperature=61), "why", "--prove", "heat_limit")
    assert done.code == 1 and f"{turns:g} °C" in done.out and "The GPU is at its temperature limit" in done.out


def test_a_person_gets_rule_readings_and_the_nearest_other_answer(nvml):
    done = nvml(SCRIPT.format(temperature=93), "why", "--prove", "heat_limit")
    assert done.code == 0
    for word in ("It applies to GPU 0", "Rule", "Causes", "Nearest", "READING", "temperature_celsius", "93 °C"):
        assert word in done.out, done.out


@pytest.mark.parametrize("words, message", [
    (["--prove", "heat_limt"], "there is no finding 'heat_limt', did you mean 'heat_limit'?"),
    (["--prove", "heat_limit", "--since", "-1h"], "--prove is about one finding at one moment"),
    (["--prove", "heat_limit", "train.py"], "--prove is about one finding at one moment"),
])
def test_wrong_usage_says_what_to_do(nvml, words, message):
    done = nvml(SCRIPT.format(temperature=61), "why", *words)
    assert done.code == 2 and message in done.err, done


@pytest.mark.skipif(not MAKER.exists(), reason="make_history was not built")
def test_a_stored_moment_is_proved_from_the_history(whirr, tmp_path):
    file, now = tmp_path / "past.db", int(time.time())
    subprocess.run([MAKER, f"sqlite:{file}", "60", "gpus=1,scenario=training,model=rtx4090", "20"], check=True, timeout=60,
                   env={**environment(tmp_path), "MAKE_HISTORY_END": str(now)})
    done = whirr("why", "--prove", "compute_load", "--at", "-30m", "--store", f"sqlite:{file}", "--json")
    body = json.loads(done.out)
    assert done.code == 0 and body["said"] and reading(body, "utilization_percent"), body
    assert body["age_seconds"] < 60
    assert whirr("why", "--prove", "compute_load", "--at", "-3d", "--store", f"sqlite:{file}").code == 1
