# SPDX-License-Identifier: Apache-2.0
"""Settings of simulated GPUs: the physics answer, commands and a daemon see the same GPU, and everything has a way back."""
import json
import re

from isolation import run_whirr
from waiting import eventually

TRAINING = "sim:scenario=training,gpus=2,model=rtx4090"


def gpu(source=TRAINING, index=0, **env):
    return json.loads(run_whirr("--source", source, "status", "--json", **env).stdout)["gpus"][index]


def test_a_limit_acts_on_the_power_the_clocks_and_later_the_fan():
    before = gpu()
    done = run_whirr("--source", TRAINING, "limit", "300W", "--gpu", "0")
    assert done.returncode == 0 and "power limit 300 W (was 450 W)" in done.stdout, done.stdout + done.stderr
    now = gpu()
    assert now["power_limit_watts"] == 300 and now["power_watts"] <= 301
    assert now["clock_graphics_mhz"] < before["clock_graphics_mhz"] * 0.92
    assert gpu(index=1)["power_limit_watts"] == 450, "only the one that was asked for"
    assert now["temperature_celsius"] > before["temperature_celsius"] - 5, "it cools slowly, from when the limit was set"
    # A minute later, here within a second: it has cooled down, and its fan with it.
    later = eventually(lambda: [g] if (g := gpu(TRAINING + ",speed=60"))["fan_percent"] < before["fan_percent"] - 5 else None)
    assert later[0]["temperature_celsius"] < before["temperature_celsius"]


def test_ending_the_lease_leaves_it_as_it_was():
    before = gpu()
    done = run_whirr("--source", TRAINING, "quiet", "--gpu", "0", "--for", "1h")
    lease = re.search(r"Lease (\w+)", done.stdout)[1]
    assert lease in run_whirr("lease").stdout, "without naming the machine"
    assert "has changed the power limit already" in run_whirr("--source", TRAINING, "limit", "200W", "--gpu", "0").stderr
    ended = run_whirr("lease", "end", lease)
    assert ended.returncode == 0 and "old values are back" in ended.stdout, ended.stderr
    assert gpu()["power_limit_watts"] == before["power_limit_watts"]
    assert "no leases" in run_whirr("lease").stdout


def test_a_change_for_a_time_ends_without_any_process():
    run_whirr("--source", TRAINING, "limit", "300W", "--gpu", "0", "--for", "1s")
    eventually(lambda: gpu()["power_limit_watts"] == 450)
    assert "no leases" in run_whirr("lease").stdout


def test_out_of_range_and_without_rights():
    wrong = run_whirr("--source", TRAINING, "limit", "20W", "--gpu", "0")
    assert wrong.returncode == 1 and "150 W to 600 W" in wrong.stderr
    denied = run_whirr("--source", TRAINING + ",fault=denied", "limit", "300W", "--gpu", "0")
    assert denied.returncode == 1 and "needs root" in denied.stderr
    assert gpu()["power_limit_watts"] == 450


def test_a_fan_set_by_hand_in_the_scenario_can_be_given_back():
    source = "sim:scenario=fan-by-hand"
    assert gpu(source)["fan_percent"] == 30
    assert run_whirr("--source", source, "fan", "auto").returncode == 0
    eventually(lambda: gpu(source + ",speed=60")["fan_percent"] > 40)


def test_the_daemon_of_the_same_machine_sees_it(start):
    d = start("--interval", "0.2", source=TRAINING)
    assert d.whirr("--source", TRAINING, "clocks", "1200", "--gpu", "1").returncode == 0
    eventually(lambda: d.json("/api/gpu/metrics")["gpus"][1]["clock_graphics_mhz"] <= 1200)
    assert d.json("/api/gpu/metrics")["gpus"][0]["clock_graphics_mhz"] > 1500
    eventually(lambda: [lease["what"] for each in d.json("/api/leases")["leases"] for lease in each["settings"]] == ["clocks"])
