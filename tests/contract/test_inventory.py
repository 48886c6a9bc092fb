# SPDX-License-Identifier: Apache-2.0
"""Drills: GPUs, NPUs and ports that are gone, replaced, forgotten and back, over restarts of a host."""
import json
import pathlib
import shutil

import pytest
import recorded
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
    whole = host()
    before = {g["gpu_uuid"] for g in gpus(whole)}
    assert len(before) == 4
    for words, said in ((("nosuch",), "Nothing is missing, so there is nothing to forget."), (("--undo", "nosuch"), "Nothing was forgotten, so there is nothing to undo.")):
        done = whole.whirr("forget", *words)
        assert done.returncode == 1 and said in done.stderr, done.stderr
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
    unknown = d.whirr("forget", "GPU-nowhere")
    assert unknown.returncode == 1 and f"Nothing called 'GPU-nowhere' is missing. What is missing: {uuid}." in unknown.stderr, unknown.stderr
    assert states(d).count("missing") == 1
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


# ---- what is no GPU ----

def plug_port(root, device, state="4: ACTIVE"):
    port = root / "sys/class/infiniband" / device / "ports/1"
    port.mkdir(parents=True, exist_ok=True)
    (root / "sys/class/infiniband" / device / "hca_type").write_text("MT4129\n")
    for name, text in (("link_layer", "InfiniBand"), ("state", state), ("rate", "400 Gb/sec (4X NDR)")):
        (port / name).write_text(text + "\n")


@pytest.fixture
def rack(start, tmp_path):
    """A host with two InfiniBand ports and an NPU, which can be started again without them."""
    root = pathlib.Path(recorded.expand("npu-lunarlake-load", tmp_path / "host"))
    running = []
    for device in ("mlx5_0", "mlx5_1"):
        plug_port(root, device)

    def boot():
        if running:
            running[-1].stop()
        d = start.again(running[-1]) if running else start("--sysroot", str(root), *ARGS, source="auto", sampled=False)
        running.append(d)
        d.wait_sampled()
        return d
    boot.root = root
    return boot


def parts(d):
    return {p["name"]: p["state"] for p in d.json("/api/gpu/inventory")["parts"]}


def found(d, code):
    return [c for g in d.json("/api/why")["findings"] for c in [g] if c["code"] == code]


NPU = "0000:00:0b.0"


def test_a_port_that_is_gone_after_a_restart_is_missed_until_it_is_forgotten(rack, tmp_path):
    d = rack()
    assert parts(d) == {"mlx5_0/1": "present", "mlx5_1/1": "present", NPU: "present"} and not found(d, "infiniband")
    refused = d.whirr("forget", "mlx5_1/1")
    assert refused.returncode == 1 and "is there" in refused.stderr
    shutil.rmtree(rack.root / "sys/class/infiniband/mlx5_1")
    d.stop()
    kept = json.loads(next(tmp_path.rglob("health.json")).read_text())
    assert len(kept["parts"]) == 3 and not kept["cards"]  # apart, as older versions take each card for a GPU
    for _ in range(2):
        d = rack()
        assert parts(d) == {"mlx5_0/1": "present", "mlx5_1/1": "missing", NPU: "present"}
        assert "1 InfiniBand port has lost its link" in found(d, "infiniband")[0]["headline"], d.json("/api/why")
        assert "mlx5_1/1" in d.whirr("why", "-v").stdout and "host_infiniband_ports_lost" in d.get("/metrics").body.decode()
    # Without any, too.
    shutil.rmtree(rack.root / "sys/class/infiniband")
    d = rack()
    assert "2 InfiniBand ports have lost their link" in found(d, "infiniband")[0]["headline"] and "ibstat" in d.whirr("why").stdout
    plug_port(rack.root, "mlx5_0")
    d = rack()
    unknown = d.whirr("forget", "mlx5_7/1")
    assert unknown.returncode == 1 and "missing: mlx5_1/1." in unknown.stderr, unknown.stderr
    assert d.whirr("forget", "mlx5_1/1", "--dry-run").returncode == 0 and parts(d)["mlx5_1/1"] == "missing"
    done = d.whirr("forget", "mlx5_1/1")
    assert done.returncode == 0 and "whirr forget --undo mlx5_1/1" in done.stdout, done.stderr
    assert not found(d, "infiniband") and parts(d)["mlx5_1/1"] == "forgotten" and "mlx5_1/1" in d.whirr("forget").stdout
    assert "forgotten" in d.log()
    d = rack()
    assert not found(d, "infiniband") and parts(d)["mlx5_1/1"] == "forgotten"
    # A way back, and it is learned again when it has a link again.
    assert "mlx5_1/1" in d.whirr("undo").stdout and d.whirr("undo", "1").returncode == 0
    eventually(lambda: found(d, "infiniband"), explain=lambda: d.whirr("why").stdout)
    assert d.whirr("forget", "mlx5_1/1").returncode == 0
    plug_port(rack.root, "mlx5_1")
    d = rack()
    assert parts(d)["mlx5_1/1"] == "present" and not found(d, "infiniband")
    plug_port(rack.root, "mlx5_1", "1: DOWN")
    d = rack()
    assert parts(d)["mlx5_1/1"] == "missing" and found(d, "infiniband")


def test_an_npu_that_is_gone_after_a_restart_is_critical_until_it_is_forgotten(rack):
    d = rack()
    assert not found(d, "accelerator_lost") and d.json("/api/why")["severity"] != "critical"
    kept = rack.root / "kept"
    (rack.root / "sys/class/accel/accel0").rename(kept)
    for _ in range(2):
        d = rack()
        lost, = found(d, "accelerator_lost")
        assert lost["severity"] == "critical" and "Intel NPU (Lunar Lake)" in lost["headline"] and parts(d)[NPU] == "missing", lost
        assert d.json("/api/why")["severity"] == "critical" and "Intel NPU (Lunar Lake)" in d.whirr("status").stdout and "whirr forget" in d.whirr("why").stdout
        assert [line for line in series(d, "accelerator_up") if 'kind="npu"' in line and line.endswith(" 0")]
        assert not series(d, "whirr_expected") and not gpus(d)
    assert d.whirr("forget", NPU).returncode == 0
    eventually(lambda: not found(d, "accelerator_lost"), explain=lambda: d.whirr("why").stdout)
    d = rack()
    assert not found(d, "accelerator_lost") and parts(d)[NPU] == "forgotten" and not series(d, "accelerator_up")
    assert d.whirr("forget", "--undo", NPU).returncode == 0
    eventually(lambda: found(d, "accelerator_lost"), explain=lambda: d.whirr("why").stdout)
    kept.rename(rack.root / "sys/class/accel/accel0")
    d = rack()
    assert parts(d)[NPU] == "present" and not found(d, "accelerator_lost")


def test_a_drill_can_take_an_npu_out_of_a_simulated_host(host):
    d = host(source=HOST + ",npus=1")
    assert list(parts(d).values()) == ["present"] and len(gpus(d)) == 4
    d = host("absent@4", source=HOST + ",npus=1")
    assert list(parts(d).values()) == ["missing"] and states(d) == ["present"] * 4
    assert d.json("/api/why")["severity"] == "critical" and found(d, "accelerator_lost")
    assert list(parts(host(source=HOST + ",npus=1")).values()) == ["present"]
