# SPDX-License-Identifier: Apache-2.0
"""The whole way from a (fake) NVIDIA driver to the text."""
import json
import os
import subprocess

import pytest
import shapes
from isolation import BUILD, WHIRR, environment, linux_only

TWO = """
driver 580.159.04
nvml 13.580.159.04
cuda 13000
gpu NVIDIA GeForce RTX 4090
  temperature 71
  power 280100
  gpu_util 78
  used 18000
  fans 1
  fan 62
  throttle 0x4
  process parent compute 17000 75 40
gpu NVIDIA H200
  profile h200
"""


def test_values_arrive_unchanged(nvml):
    body = shapes.check(nvml(TWO, "status", "--json").json(), shapes.METRICS)
    assert body["sources"] == ["nvml"]
    first = shapes.check_gpu(body["gpus"][0])
    assert (first["temperature_celsius"], first["power_watts"], first["utilization_percent"]) == (71, 280.1, 78)
    assert first["fan_percent"] == 62 and first["throttle_reasons"] == ["power cap"]
    assert first["simulated"] is False and first["vendor"] == "nvidia"
    assert [p["memory_mb"] for p in first["processes"]] == [17000]
    passive = shapes.check_gpu(body["gpus"][1])
    assert passive["fan_percent"] is None and passive["absent"]["fan_percent"] == "unsupported"


@pytest.mark.slow
def test_a_driver_that_starts_slowly_is_waited_for(nvml):
    """Without persistence mode, a host with many GPUs takes seconds for the first call."""
    body = nvml("hang nvmlInit_v2 8\n" + TWO, "status", "--json").json()
    assert [g["temperature_celsius"] for g in body["gpus"]] == [71, 38]


@pytest.mark.slow
@linux_only("the terminal is one of Linux")
def test_a_terminal_shows_what_is_waited_for(tmp_path):
    (tmp_path / "script").write_text("hang nvmlInit_v2 3\n" + TWO)
    library = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
    terminal, its_end = os.openpty()
    done = subprocess.run([WHIRR, "--source", "nvml", "status"], stdout=subprocess.PIPE, stderr=its_end, check=True,
                          env=environment(WHIRR_NVML_LIBRARY=str(library), WHIRR_FAKE_NVML=str(tmp_path / "script")))
    os.close(its_end)
    assert b"waiting for the GPU driver" in os.read(terminal, 4096) and b"RTX 4090" in done.stdout
    os.close(terminal)


@linux_only("the process is one of Linux")
def test_secrets_of_a_command_are_shown_only_when_asked_for(nvml):
    with subprocess.Popen(["sh", "-c", "read line", "worker", "--api-key", "hunter2hunter2"], stdin=subprocess.PIPE) as process:
        script = f"gpu NVIDIA RTX 4090\n  process {process.pid} compute 17000 75 40\n"
        assert "hunter2" not in nvml(script, "ps", "--json").out
        assert "hunter2hunter2" in nvml(script, "ps", "--json", "--show-secrets").out


@linux_only("the process is one of Linux")
def test_a_process_cannot_write_to_the_terminal_by_its_name(nvml):
    """Control characters, also above ASCII, and the direction of the text."""
    evil = "\x1b]0;owned\x07\x9b31m\u202e\u2066x"
    with subprocess.Popen([evil, "infinity"], executable="/bin/sleep", stdout=subprocess.DEVNULL) as process:
        try:
            for command in (["ps"], ["why", "-v"], ["status", "--full"], ["top", "--once", "--size", "160x40"]):
                out = nvml(f"gpu NVIDIA RTX 4090\n  process {process.pid} compute 17000 75 40\n", *command).out
                assert not set(evil) & set(out) - set("]0;owned31mx"), command
                assert command != ["ps"] or "?]0;owned??31m??x" in out
        finally:
            process.kill()


ENDED = "gpu NVIDIA H200\n  profile h200\n  gpu_util 2\n  graphics 1980\n  power 626000\n"


def test_a_gpu_whose_work_just_ended_shows_the_power_of_now(nvml):
    """The driver's usual reading is a mean over a second; the one of this instant is what stands beside the utilization."""
    script = ENDED + "  field 186.0 121000\n"
    out = nvml(script, "status").out
    assert "121/700" in out and "626" not in out and "○ idle" in out
    gpu = nvml(script, "status", "--json", "--full").json()["gpus"][0]
    assert gpu["power_watts"] == gpu["power_instant_watts"] == 121


def test_an_average_that_outlives_the_work_is_not_called_calm(nvml):
    script = ENDED + "  field 186.0 fail 3\n"
    out = nvml(script, "status").out
    assert "GPU 0 draws 626 W while idle: work that just ended, or can't be seen" in out and "nothing unusual" not in out
    why = nvml(script, "why").out
    assert "clocks" not in why and "normal" not in why and "as expected" not in why, why


def test_driver_body(nvml):
    driver = nvml(TWO, "driver", "--json").json()
    assert driver == {"driver_version": "580.159.04", "cuda_driver_version": "13.0", "nvml_version": "13.580.159.04",
                      "cuda_available": True, "error_message": None,
                      "drivers": [{"name": "nvidia", "version": "580.159.04", "source": "nvml"}]}


def test_a_lost_gpu_stays_listed_and_affects_no_other(nvml):
    script = TWO + "again 0\n  fail * 15\n"
    devices = shapes.check(nvml(script, "devices", "--json").json(), shapes.DEVICES)["devices"]
    assert [d["is_available"] for d in devices] == [False, True]
    assert devices[0]["error_message"] and devices[0]["temperature_c"] is None
    text = nvml(script, "status")
    assert text.code == 0 and "lost" in text.out.lower() and "H200" in text.out


def test_denied_processes_are_null_with_a_reason(nvml):
    script = "fail nvmlDeviceGetComputeRunningProcesses 4\nfail nvmlDeviceGetGraphicsRunningProcesses 4\n" + TWO
    gpu = nvml(script, "status", "--json").json()["gpus"][0]
    if gpu["processes"] is None:
        assert gpu["absent"]["processes"] in ("denied", "failed")


def test_text_shows_a_dash_for_what_is_absent(nvml):
    out = nvml(TWO, "status").out
    assert "–" in out and "71 °C" in out and "280/450" in out and "POWER W" in out


@linux_only("pages are its own business")
@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="this kernel has no huge pages for programs")
@pytest.mark.parametrize("command, huge", [(["status"], True), (["why"], True), (["record", "FILE", "--duration", "0.2", "--interval", "0.1"], False)])
def test_one_look_starts_in_huge_pages(nvml, tmp_path, command, huge):
    """What runs on keeps to small ones, and so to the memory that is really used."""
    flags = tmp_path / "flags"
    assert nvml(TWO, *(str(tmp_path / "r") if word == "FILE" else word for word in command), WHIRR_FAKE_NVML_MEMORY=str(flags)).code == 0
    assert ("hg" in flags.read_text().split()) is huge
