# SPDX-License-Identifier: Apache-2.0
"""The program nvidia-smi instead of the library: chosen by itself, honest in every way to fail."""
import json
import pathlib
import subprocess

import pytest
import recorded
import shapes
from conftest import ROOT, eventually
from isolation import linux_only

pytestmark = linux_only("its nvidia-smi is a script here")
FAKE = str(ROOT / "tests" / "fakes" / "nvidia-smi")


@pytest.fixture
def smi(whirr):
    def run(*args, mode="ok", **more):
        return whirr(*args, WHIRR_NVIDIA_SMI=FAKE, FAKE_SMI_MODE=mode, **more)

    return run


def test_it_stands_in_for_nvml(smi):
    body = shapes.check(smi("status", "--json", "--full").json(), shapes.METRICS)
    assert body["sources"] == ["nvidia-smi"]
    first = shapes.check_gpu(body["gpus"][0])
    assert (first["name"], first["temperature_celsius"], first["power_watts"]) == ("NVIDIA Fake 0", 40, 10.5)
    assert first["memory_used_mb"] + first["memory_free_mb"] + first["memory_reserved_mb"] == first["memory_total_mb"] == 8192
    assert first["throttle_reasons"] == ["power cap"] and first["temperature_limit_celsius"] == 93
    assert first["energy_joules"] is None and first["absent"]["energy_joules"] == "unsupported"
    assert {(p["pid"], p["type"], p["memory_mb"]) for p in first["processes"]} == {(4242, "compute", 1002), (999991, "graphics", 22)}


def test_versions(smi):
    driver = smi("driver", "--json").json()
    assert (driver["driver_version"], driver["cuda_driver_version"], driver["nvml_version"]) == ("580.1.2", "13.0", "580.1")


def test_a_process_is_looked_up_on_this_machine(smi):
    child = subprocess.Popen(["sleep", "60"])
    try:
        rows = smi("ps", "--json", FAKE_SMI_PID=str(child.pid)).json()["processes"]
    finally:
        child.kill()
        child.wait()
    ours = [row for row in rows if row["pid"] == child.pid]
    assert len(ours) == 1
    # Inside a container only a process that holds a GPU is recognised; elsewhere it is known by name and command.
    if ours[0]["command"]:
        assert ours[0]["name"] == "sleep" and ours[0]["command"] == "sleep 60" and ours[0]["started_at"]


@pytest.mark.parametrize("mode, part", [
    ("no-driver", "driver is not running"),
    ("mismatch", "different versions"),
    ("no-devices", "finds no GPU"),
    ("crash", "139"),
])
def test_failures_are_told_and_are_no_error_of_ours(smi, mode, part):
    result = smi("status", "--json", mode=mode)
    assert result.json()["gpus"] == []
    assert part in " ".join(smi("doctor", mode=mode).out.split())


def test_a_lost_card_stays_listed(smi):
    devices = smi("devices", "--json", mode="lost").json()["devices"]
    assert [d["is_available"] for d in devices] == [True, False]
    assert devices[1]["error_message"] == "GPU is lost" and devices[1]["temperature_c"] is None


@pytest.mark.slow
def test_a_program_that_hangs_is_killed_with_its_children(smi, tmp_path):
    result = smi("status", mode="hang", FAKE_SMI_LOG=str(tmp_path / "log"))  # it would hang for longer than it is waited for here
    assert result.code == 1 and "No GPU was found" not in result.out, result.out
    assert "did not finish within 5 s and was killed" in " ".join((result.out + result.err).split())
    # The stand-in waits for a sleep of its own; neither may be left behind.
    eventually(lambda: not [p for p in pathlib.Path("/proc").glob("[0-9]*/environ") if marks(p, str(tmp_path))])


def marks(path, text):
    try:
        return text.encode() in path.read_bytes()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ok", "old"])
def test_a_slow_program_is_waited_for(smi, tmp_path, mode):
    """Two seconds a run, and a driver that lacks most columns: what it lacks is found out without a run for each."""
    log = tmp_path / "log"
    result = smi("status", "--json", mode=mode, FAKE_SMI_DELAY="2", FAKE_SMI_LOG=str(log))
    assert [g["temperature_celsius"] for g in result.json()["gpus"]] == [40, 41], result.err
    assert len(log.read_text().splitlines()) <= 5


@pytest.mark.slow
def test_a_program_that_is_too_slow_is_not_called_no_gpu(smi):
    result = smi("status", FAKE_SMI_DELAY="8")
    words = " ".join(result.out.split())
    assert result.code == 1 and "No GPU was found" not in words and "can't be read" in words, words
    why = smi("why", "--json", FAKE_SMI_DELAY="8")
    assert why.json(code=1)["severity"] == "critical" and why.json(code=1)["calm"] is None


def test_visible_devices(smi):
    only = smi("devices", "--json", NVIDIA_VISIBLE_DEVICES="GPU-00000001-1111-2222-3333-444444444444").json()
    assert [d["name"] for d in only["devices"]] == ["NVIDIA Fake 1"]
    assert smi("devices", "--json", NVIDIA_VISIBLE_DEVICES="none").json() == {"devices": [], "count": 0}


def test_parameters_are_refused(whirr):
    result = whirr("--source", "nvidia-smi:x=1", "status")
    assert result.code == 2 and "takes no parameters" in result.err


@pytest.mark.parametrize("name", recorded.names("[/nvidia-smi"))
def test_recorded_machines_are_shown(whirr, tmp_path, name):
    root = recorded.expand(name, tmp_path / "machine")
    body = whirr("status", "--full", "--json", "--sysroot", root, **recorded.answers(root)).json()
    assert body["gpus"] and {g["source"] for g in body["gpus"]} == {"nvidia-smi"}
    for gpu in body["gpus"]:
        shapes.check_gpu(gpu)
    assert whirr("--sysroot", root, **recorded.answers(root)).code == 0


def test_a_host_with_a_lost_card_shows_the_other_three(whirr, tmp_path):
    root = recorded.expand("rtx4090x4-one-lost", tmp_path / "machine")
    gpus = whirr("status", "--full", "--json", "--sysroot", root, **recorded.answers(root)).json()["gpus"]
    assert [(g["index"], g["state"], g["temperature_celsius"]) for g in gpus] == [(0, "ok", 50), (1, "ok", 93), (2, "lost", None), (3, "ok", 34)]
    rows = whirr("ps", "--json", "--sysroot", root, **recorded.answers(root)).json()["processes"]
    assert [(p["gpu_index"], p["name"], p["user"], p["model"]) for p in rows] == [
        (0, "ollama", "root", None), (1, "python3", "alice", "meta-llama/Llama-3.1-8B")]


def test_a_divided_card_shows_who_works_on_which_instance(whirr, tmp_path):
    root = recorded.expand("h100-mig-load", tmp_path / "machine")
    gpu, = whirr("status", "--full", "--json", "--sysroot", root, **recorded.answers(root)).json()["gpus"]
    assert [i["profile"] for i in gpu["instances"]] == ["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"]
    assert {(p["pid"], p["memory_mb"]) for p in gpu["processes"]} == {(21180, 2296), (21181, 1272), (21198, 7484)}


@pytest.mark.slow
def test_what_there_is_no_time_for_is_pending(smi):
    """Two runs fit into the time of a start; a third is not begun, and what only it tells comes later. A busy machine may need another try."""
    body = eventually(lambda: (b := json.loads(smi("status", "--json", FAKE_SMI_DELAY="4").out))["gpus"] and b)
    assert [(g["name"], g["temperature_celsius"]) for g in body["gpus"]] == [("NVIDIA Fake 0", 40), ("NVIDIA Fake 1", 41)]
    assert body["gpus"][0]["processes"] is None and body["gpus"][0]["absent"]["processes"] == "pending"


def test_shares_that_the_program_does_not_know_say_so(smi):
    processes = smi("status", "--json", "--full").json()["gpus"][0]["processes"]
    assert processes
    for process in processes:
        assert "unread" not in process["absent"].values(), process["absent"]
        assert process["absent"]["utilization_percent"] == "unsupported"
