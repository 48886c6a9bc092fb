# SPDX-License-Identifier: Apache-2.0
"""Drills: GPUs that are gone, replaced, forgotten and back, over restarts of a simulated host."""
import json

import pytest
from waiting import eventually

HOST = "sim:scenario=idle,gpus=4"
ARGS = ["--interval", "0.2", "--store", "none"]


def gpus(d):
    return d.json("/api/gpu/inventory")["gpus"]


def states(d):
    return sorted(g["state"] for g in gpus(d))


def series(d, name):
    return [line for line in d.get("/metrics").body.decode().splitlines() if line.startswith(name + "{")]


@pytest.fixture
def host(start):
    """Starts the host again, with a fault."""
    running = []

    def boot(*faults, source=HOST):
        source = ",".join([source, *(f"fault={fault}" for fault in faults)])
        if running:
            running[-1].stop()
            running[-1].args = [source if str(a).startswith("sim:") else a for a in running[-1].args]
        d = start.again(running[-1]) if running else start(*ARGS, source=source)
        running.append(d)
        eventually(lambda: d.json("/api/gpu/health")["gpus"], explain=d.log)
        return d
    boot()
    return boot


def test_a_gpu_that_is_gone_after_a_restart_is_critical_until_it_is_forgotten(host):
    before = {g["gpu_uuid"] for g in gpus(host())}
    assert len(before) == 4
    d = host("absent@2")
    gone = [g for g in gpus(d) if g["state"] == "missing"]
    assert len(gone) == 1 and {g["gpu_uuid"] for g in gpus(d)} == before
    uuid, why = gone[0]["gpu_uuid"], d.json("/api/why")
    assert why["severity"] == "critical" and "no driver lists it" in why["answer"] and "whirr forget" in json.dumps(why), why
    for name, value in (("whirr_expected", 1), ("gpu_up", 0), ("whirr_severity", 3)):
        assert [line for line in series(d, name) if f'uuid="{uuid}"' in line and line.endswith(f" {value}")], series(d, name)
    assert [line for line in series(d, "whirr_finding") if f'uuid="{uuid}"' in line and 'code="lost"' in line and 'gpu="' in line and 'severity="critical"' in line]
    # It is the same over another restart, and without any driver nothing is milder.
    assert states(host("absent@2")) == ["missing", "present", "present", "present"]
    d = host("nodriver")
    assert states(d) == ["missing"] * 4 and d.json("/api/why")["severity"] == "critical" and len(series(d, "whirr_expected")) == 4
    assert d.whirr("health").returncode == 2 and d.whirr("node-health").returncode == 1
    # What is there can't be forgotten, what is gone can.
    d = host("absent@2")
    refused = d.whirr("forget", [g for g in gpus(d) if g["state"] == "present"][0]["gpu_uuid"])
    assert refused.returncode == 1 and "is there" in refused.stderr
    assert d.whirr("forget", "GPU-nowhere").returncode == 1 and states(d).count("missing") == 1
    done = d.whirr("forget", uuid)
    assert done.returncode == 0 and "--undo" in done.stdout, done.stderr
    assert "3 GPUs" in d.whirr("status").stdout and d.whirr("why").returncode == 0
    assert len(series(d, "whirr_expected")) == 3 and states(d) == ["forgotten", "present", "present", "present"]
    assert "forgotten" in d.log() and "/api/gpu/forget" in d.log()
    d = host("absent@2")
    assert d.json("/api/why")["severity"] == "info" and states(d)[0] == "forgotten"
    # A way back, and it is learned again when it is seen again.
    listed = d.whirr("undo").stdout
    assert "forgotten" in listed, listed
    assert d.whirr("undo", "1").returncode == 0 and states(d)[0] == "missing"
    assert d.whirr("forget", uuid).returncode == 0
    assert states(host()) == ["present"] * 4
    assert states(host("absent@2"))[0] == "missing"


def test_a_gpu_in_the_slot_of_another_is_said_as_that(host):
    old = {g["pci_address"]: g["gpu_uuid"] for g in gpus(host())}
    d = host("replaced@1")
    replaced = [g for g in gpus(d) if g["state"] == "replaced"]
    assert len(replaced) == 1 and replaced[0]["gpu_uuid"] == old[replaced[0]["pci_address"]] and replaced[0]["replaced_by"] not in old.values()
    why = d.json("/api/why")
    assert why["severity"] == "warning" and why["findings"][0]["code"] == "replaced" and replaced[0]["gpu_uuid"] in why["answer"], why["answer"]
    assert len(d.json("/api/gpu/devices")["devices"]) == 4
    # Without a driver, it is not there twice.
    d = host("nodriver")
    assert len(d.json("/api/gpu/devices")["devices"]) == 4
    d = host("replaced@1")
    assert d.whirr("forget", "1").returncode == 0  # by the index that both had: the one that is there is not meant
    assert d.json("/api/why")["severity"] == "info" and len(d.json("/api/gpu/devices")["devices"]) == 4


def test_another_simulated_host_misses_nothing(host):
    d = host(source="sim:scenario=idle,gpus=2")
    assert states(d) == ["present"] * 2 and d.json("/api/why")["severity"] == "info"
