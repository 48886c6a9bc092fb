# SPDX-License-Identifier: Apache-2.0
"""NPUs and accelerators: beside the GPUs on every way that shows them, and in no sum of GPUs."""
import json
import pathlib

import pytest
import recorded
from isolation import run_whirr


@pytest.fixture
def laptop(tmp_path):
    """Graphics and an NPU, both of the same processor."""
    root = pathlib.Path(recorded.expand("lunarlake-xe", tmp_path / "host"))
    npu = pathlib.Path(recorded.expand("npu-lunarlake-load", tmp_path / "npu"))
    (root / "sys/class/accel").parent.mkdir(parents=True, exist_ok=True)
    (npu / "sys/class/accel").rename(root / "sys/class/accel")
    (npu / "proc/4711").rename(root / "proc/4711")
    return root


def status(root, *args):
    done = run_whirr("--sysroot", str(root), *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_npu_is_shown_and_counts_as_no_gpu(laptop):
    told = json.loads(status(laptop, "--json"))
    assert len(told["gpus"]) == 1 and "kind" not in told["gpus"][0]
    npu, = told["accelerators"]
    assert npu["kind"] == "npu" and npu["name"] == "Intel NPU (Lunar Lake)" and npu["vendor"] == "intel"
    assert npu["clock_graphics_mhz"] == 1400 and npu["memory_used_mb"] == 416 and npu["memory_kind"] == "shared"
    assert npu["utilization_percent"] is None and npu["absent"]["utilization_percent"] == "pending"
    assert [p["pid"] for p in npu["processes"]] == [4711]
    assert told["totals"]["memory_total_mb"] == told["gpus"][0]["memory_total_mb"]
    assert told["totals"]["process_count"] == len(told["gpus"][0]["processes"])
    table = status(laptop)
    assert "1 GPU" in table and "npu  Intel NPU (Lunar Lake)  1400 MHz" in table and "classify.py" in table
    assert "npu  Intel NPU" in status(laptop, "devices") and "npu" not in status(laptop, "--gpu", "0")
    assert len(json.loads(status(laptop, "devices", "--json"))["devices"]) == 1
    assert "0000:00:0b.0" not in status(laptop, "doctor").split("What the sources report")[0]


def test_a_daemon_hands_it_on_and_a_recording_keeps_it(laptop, start, tmp_path):
    d = start("--sysroot", str(laptop), "--interval", "0.5", source="auto", sampled=False)
    d.wait_sampled()
    npu, = d.json("/api/gpu/metrics")["accelerators"]
    assert npu["kind"] == "npu" and npu["name"] == "Intel NPU (Lunar Lake)"
    asked, = json.loads(d.whirr("--json").stdout)["accelerators"]
    assert asked["kind"] == "npu" and asked["clock_graphics_mhz"] == 1400 and asked["processes"][0]["pid"] == 4711
    series = d.ask("GET", "/metrics").body.decode()
    assert [line for line in series.splitlines() if line.startswith("accelerator_up{") and 'kind="npu"' in line and line.endswith(" 1")]
    assert [line for line in series.splitlines() if line.startswith("accelerator_memory_used_bytes{") and line.endswith(" 436207616")]
    assert not [line for line in series.splitlines() if line.startswith("gpu_") and "NPU" in line]
    recording = str(tmp_path / "recording")
    done = run_whirr("record", recording, "--interval", "0.1", "--duration", "0.3", "--sysroot", str(laptop))
    assert done.returncode == 0, done.stderr
    played = json.loads(run_whirr("--source", f"replay:{recording}", "--json").stdout)
    assert [a["kind"] for a in played["accelerators"]] == ["npu"] and len(played["gpus"]) == 1


def test_a_bundle_shows_it_again(laptop, tmp_path):
    bundle = tmp_path / "bug.machine"
    done = run_whirr("doctor", "--bundle", str(bundle), "--sysroot", str(laptop))
    assert done.returncode == 0, done.stderr
    assert "npu_busy_time_us = 48211544" in bundle.read_text()
    again = json.loads(status(recorded.unpack(bundle, tmp_path / "again"), "--json"))
    npu, = again["accelerators"]
    assert npu["kind"] == "npu" and npu["memory_used_mb"] == 416 and [p["pid"] for p in npu["processes"]] == [4711]


def test_without_a_gpu_it_is_shown_all_the_same(tmp_path):
    root = recorded.expand("tenstorrent-n150", tmp_path / "host")
    table = status(root)
    assert "No GPU was found" in table and "accelerator  Tenstorrent n150  1000 MHz" in table
    told = json.loads(status(root, "--json"))
    assert told["gpus"] == [] and told["accelerators"][0]["kind"] == "accelerator"
    assert not told["totals"]["process_count"]
