# SPDX-License-Identifier: Apache-2.0
"""What is usual for a GPU, learned by the daemon from days of history: said by why and health, and not before there are enough days."""
import contextlib
import glob
import json
import sqlite3
import subprocess
import time

import pytest
import shapes
from conftest import BUILD, environment, eventually

MAKER = BUILD / "tests" / "fakes" / "history" / "make_history"
CLOCK = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib*/faketime/libfaketimeMT.so.1")), None)
GPU = "gpus=1,scenario=training,model=rtx4090"


@pytest.fixture
def after(start, tmp_path):
    """A daemon that finds so many days of steady training, on a GPU whose air stops flowing now."""
    if not MAKER.exists():
        pytest.skip("make_history was not built")

    def run(days, source, before=GPU):
        file = tmp_path / "past.db"
        subprocess.run([MAKER, f"sqlite:{file}", str(days * 1440), before, "60"], check=True, env=environment(tmp_path), timeout=600)
        return start("--interval", "0.2", "--store", f"sqlite:{file}", source=source, WHIRR_STORE_HOST="box")

    return run


def learned(d, holds=lambda gpu: True):
    def usual():
        gpu = d.json("/api/why")["gpus"][0]
        return gpu if gpu["usual"] and holds(gpu) else None
    return eventually(usual, explain=d.log)


@pytest.mark.slow
def test_heat_that_is_not_usual_is_airflow(after):
    d = after(9, f"sim:{GPU},fault=airflow:0,start=900")
    gpu = learned(d, lambda gpu: gpu["usual"]["too_hot"])
    usual = gpu["usual"]
    shapes.check(usual, shapes.USUAL)
    assert usual["days"] >= 9 and usual["confidence"] > 0.6 and usual["began_with"] == "first"
    assert usual["temperature_low_celsius"] <= usual["temperature_celsius"] <= usual["temperature_high_celsius"]
    cause = next(c for c in gpu["causes"] if c["code"] == "airflow")
    words = f"{usual['temperature_celsius']:.0f} °C is usual"
    assert words in cause["text"] + str(cause["evidence"]) and words in gpu["answer"]
    health = d.json("/api/gpu/health")["gpus"][0]
    assert health["usual"]["temperature_celsius"] == pytest.approx(usual["temperature_celsius"], abs=0.5)
    told = json.loads(d.whirr("why", "--json").stdout)["gpus"][0]
    assert told["usual"]["days"] == usual["days"] and words in told["answer"]
    # The past is held against what was usual up to then.
    then = d.json("/api/why?at=-1h")["gpus"][0]
    assert then["usual"]["days"] >= 9 and not then["usual"]["too_hot"] and "usual" not in then["answer"]


def test_an_idle_gpu_that_draws_more_than_usual_says_what_keeps_it_from_idling(after):
    idle = "gpus=1,scenario=idle,model=rtx4090"
    d = after(9, f"sim:{idle.replace('idle', 'held-context')}", before=idle)
    gpu = learned(d, lambda gpu: gpu["idle"])
    shapes.check(gpu["idle"], shapes.IDLE)
    assert gpu["usual"]["idle_power_too_high"] and gpu["idle"]["excess_watts"] > 10
    assert "W is usual when idle" in gpu["idle"]["answer"]
    assert {f["code"] for f in gpu["idle"]["keeps_from_idling"]} == {"memory_clock", "context"}
    told = d.whirr("why").stdout
    assert "the memory clock stays at" in told and "holds a compute context" in told


def test_what_a_held_context_adds_to_the_idle_power_is_measured(start, tmp_path):
    if not MAKER.exists():
        pytest.skip("make_history was not built")
    file, idle = tmp_path / "past.db", "gpus=1,scenario=idle,model=rtx4090"
    held, now = idle.replace("idle", "held-context"), int(time.time())
    for source, end in (idle, now - 3600), (held, now):  # an hour without it, an hour with it
        subprocess.run([MAKER, f"sqlite:{file}", "60", source, "30"], check=True, timeout=120,
                       env={**environment(tmp_path), "MAKE_HISTORY_END": str(end)})
    with contextlib.closing(sqlite3.connect(file)) as db:  # the desktop did not come with it
        db.execute("UPDATE processes SET first_seen_ms = first_seen_ms - 7200000 WHERE name = 'Xorg'")
        db.commit()
    d = start("--interval", "0.2", "--store", f"sqlite:{file}", source=f"sim:{held}", WHIRR_STORE_HOST="box")
    step = learned(d, lambda gpu: gpu["usual"]["idle_power_by_process"])["usual"]["idle_power_by_process"][0]
    assert step["watts"] > step["watts_before"] + 10
    gpu = json.loads(d.whirr("why", "--idle", "--json").stdout)["gpus"][0]
    shapes.check(gpu["idle"], shapes.IDLE)
    shapes.check(gpu["usual"], shapes.USUAL)
    found = {f["code"]: f for f in gpu["idle"]["keeps_from_idling"]}
    assert found["context"]["pid"] == step["pid"]
    assert found["context"]["watts"] == pytest.approx(step["watts"] - step["watts_before"], abs=0.01)
    assert f"({step['watts']:.0f} W since it came, {step['watts_before']:.0f} W before)" in found["context"]["text"]
    assert found["memory_clock"]["watts"] > 10 and " W at this clock, " in found["memory_clock"]["text"]
    assert "W since it came" in " ".join(d.whirr("why", "--idle").stdout.split())


def test_too_few_days_call_nothing_usual(after):
    d = after(3, f"sim:{GPU},fault=airflow:0,start=900")
    gpu = learned(d)
    assert gpu["usual"]["confidence"] == 0 and gpu["usual"]["days"] <= 4 < gpu["usual"]["days_needed"]
    assert gpu["usual"]["temperature_celsius"] is None and "usual" not in gpu["answer"]


def test_without_a_history_nothing_is_known(daemon):
    assert all(gpu["usual"] is None for gpu in daemon.json("/api/why")["gpus"])
    assert all(gpu["usual"] is None for gpu in daemon.json("/api/gpu/health")["gpus"])


@pytest.fixture
def served(start, tmp_path):
    """A daemon that finds half an hour of a model server on each of so many days. Its time runs 15 times as fast."""
    if not MAKER.exists() or not CLOCK:
        pytest.skip("make_history was not built, or there is no libfaketime (Debian: faketime)")

    def run(days, scenario):
        file, now = tmp_path / "past.db", int(time.time())
        for day in range(days, 0, -1):
            subprocess.run([MAKER, f"sqlite:{file}", "30", "gpus=1,scenario=serving", "30"], check=True, timeout=120,
                           env={**environment(tmp_path), "MAKE_HISTORY_END": str(now - day * 86400)})
        return start("--interval", "0.2", "--store", f"sqlite:{file}", source=f"sim:gpus=1,scenario={scenario}", WHIRR_STORE_HOST="box",
                     LD_PRELOAD=CLOCK, FAKETIME="+0 x15", ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
    return run


def slow(d):
    return [f for f in d.json("/api/why")["findings"] if f["code"] == "model_slow"]


def watched(d):
    """The server has been watched for long enough: for more than a minute and a half."""
    def tokens():
        return d.json("/api/processes")["processes"][0]["generated_tokens"]
    first = eventually(tokens, explain=d.log)
    eventually(lambda: tokens() - first > 900 * 120, explain=d.log)


def test_a_model_that_is_served_slower_than_usual_is_found_everywhere(served):
    d = served(8, "slow-serving")
    found = eventually(lambda: slow(d), explain=lambda: (d.json("/api/why")["findings"], d.log()))[0]
    assert found["severity"] == "warning" and found["gpu_index"] == 0
    assert "tokens/s for 12 requests; " in found["headline"] and " is usual for this model here (8 days)" in found["headline"]
    said, usual = int(found["headline"].split(" generates ")[1].split()[0]), int(found["headline"].split("; ")[1].split()[0])
    assert 360 <= said <= 440 and 850 <= usual <= 950
    assert "tokens/s" in d.whirr("why").stdout and "whirr history" in d.whirr("why").stdout
    assert any('code="model_slow"' in line and line.endswith(" 1") for line in d.get("/metrics").body.decode().splitlines() if line.startswith("whirr_finding{"))


def test_a_model_that_is_as_fast_as_ever_is_no_finding(served):
    d = served(8, "serving")
    watched(d)
    assert not slow(d)
    assert d.json("/api/why")["gpus"][0]["usual"], "the history was learned from"
