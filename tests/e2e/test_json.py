# SPDX-License-Identifier: Apache-2.0
"""Every --json body against the contract, on machines of all kinds."""
import json

import pytest
import shapes
from isolation import STOP

SCENARIOS = ["idle", "training", "game-start", "vram-leak", "overheat", "gpu-lost", "mixed", "mig", "asleep"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_status_has_every_key_on_every_machine(sim, scenario):
    body = shapes.check(sim(scenario, "status", "--json").json(), shapes.METRICS)
    assert body["gpus"]
    for gpu in body["gpus"]:
        shapes.check_gpu(gpu)
        assert gpu["simulated"] is True


@pytest.mark.parametrize("command,shape", [("devices", shapes.DEVICES), ("driver", shapes.DRIVER), ("ps", shapes.PS),
                                           ("why", shapes.WHY), ("resources", shapes.RESOURCES)])
def test_other_bodies(sim, command, shape):
    shapes.check(sim("mixed", command, "--json").json(), shape)


def test_full_reads_what_quick_leaves_out(sim):
    quick = sim("training", "status", "--json", gpus=1).json()["gpus"][0]
    full = sim("training", "status", "--full", "--json", gpus=1).json()["gpus"][0]
    assert quick["absent"]["energy_joules"] == "unread"
    assert full["energy_joules"] > 0
    waiting = {key for key, why in full["absent"].items() if why in ("unread", "pending")}
    assert waiting <= {"xid_last"}  # pending until there is one


def test_gpu_option_chooses_by_index_uuid_and_pci(sim):
    gpus = sim("mixed", "status", "--json").json()["gpus"]
    assert len(gpus) > 2
    for which in ("1", gpus[1]["uuid"], gpus[1]["pci_address"]):
        chosen = sim("mixed", "status", "--json", "--gpu", which).json()["gpus"]
        assert [g["index"] for g in chosen] == [1], which


def test_ps_filters_and_sorts(sim):
    rows = sim("mixed", "ps", "--json", "--sort", "memory").json()["processes"]
    memory = [p["memory_mb"] for p in rows]
    assert memory == sorted(memory, reverse=True) and len(rows) > 2
    backwards = sim("mixed", "ps", "--json", "--sort", "memory", "--reverse").json()["processes"]
    assert [p["pid"] for p in backwards] == [p["pid"] for p in reversed(rows)]
    some = sim("mixed", "ps", "--json", "--user", rows[0]["user"]).json()["processes"]
    assert some and all(p["user"] == rows[0]["user"] for p in some)
    assert all(p["gpu_index"] == 0 for p in sim("mixed", "ps", "--json", "--gpu", "0").json()["processes"])
    assert sim("mixed", "ps", "--json", "--name", "no such name").json()["processes"] == []
    assert all(p["type"] != "graphics" for p in sim("mixed", "ps", "--json", "--type", "compute").json()["processes"])


def test_devices_agree_with_status(sim):
    devices = sim("idle", "devices", "--json", gpus=3).json()
    assert devices["count"] == 3 and [d["index"] for d in devices["devices"]] == [0, 1, 2]


def test_watch_prints_one_line_of_json_a_sample(whirr, tmp_path):
    import subprocess
    from conftest import PATIENCE, WHIRR, environment
    with subprocess.Popen([WHIRR, "--source", "sim", "--json", "--watch=0.05"], env=environment(), text=True,
                          stdout=subprocess.PIPE) as process:
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(STOP)
        assert process.wait(PATIENCE) == 0
    times = [line["timestamp"] for line in lines]
    assert times == sorted(times) and len(set(times)) == 3


def test_nothing_is_invented_without_a_gpu(whirr, bare_machine):
    root = ("--sysroot", str(bare_machine))
    status = shapes.check(whirr(*root, "--json").json(), shapes.METRICS)
    assert status["gpus"] == [] and status["host"] == "bare"
    assert whirr(*root, "devices", "--json").json() == {"devices": [], "count": 0}
    driver = shapes.check(whirr(*root, "driver", "--json").json(), shapes.DRIVER)
    assert driver["driver_version"] is None and driver["cuda_available"] is False and driver["error_message"]
    resources = shapes.check(whirr(*root, "resources", "--json").json(), shapes.RESOURCES)
    assert resources["gpu_available"] is False and resources["gpu_vram_gb"] == 0 and resources["gpu_count"] == 0
    assert resources["memory_percent"] == 50
    assert whirr(*root, "ps", "--json").json()["processes"] == []
    why = shapes.check(whirr(*root, "why", "--json").json(), shapes.WHY)
    assert why["gpus"] == [] and why["answer"]


@pytest.mark.parametrize("scenario", ["mixed", "multi-user", "shared-desktop", "idle"])
def test_watts_of_processes_and_what_is_not_attributed_are_the_gpus_watts(whirr, scenario):
    body = whirr("--source", f"sim:scenario={scenario}", "status", "--json").json()
    for gpu in body["gpus"]:
        parts = sum(p["power_watts"] for p in gpu["processes"]) + gpu["not_attributed_watts"]
        assert parts == pytest.approx(gpu["power_watts"], abs=0.01)
    done = whirr("--source", f"sim:scenario={scenario}", "ps")
    if any(gpu["processes"] and gpu["not_attributed_watts"] >= 1 for gpu in body["gpus"]):
        assert "(not attributed)" in done.out
    alone = whirr("--source", f"sim:scenario={scenario}", "ps", "--user", "nobody")
    assert "(not attributed)" not in alone.out


def test_a_host_with_gpus_of_several_vendors_names_each_driver(whirr):
    drivers = whirr("--source", "sim:", "driver", "--json").json()["drivers"]
    assert {"nvidia", "amdgpu"} <= {d["name"] for d in drivers} and len({(d["name"], d["version"]) for d in drivers}) == len(drivers)
    assert "amdgpu" in whirr("--source", "sim:", "driver").out
