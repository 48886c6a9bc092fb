# SPDX-License-Identifier: Apache-2.0
"""Settings that promise something: who guards nothing or sees nothing says so, and what names the sources holds with and without a daemon."""
import json

import pytest
from guard_machine import FAST, PATIENCE, attach, machine, needs_fakes, wait_for  # noqa: F401

pytestmark = needs_fakes

SEED = """[worker]
enable_nvml = true
require_nvml = false
auto_evict_for_user_apps = true
process_check_interval_secs = 5
enable_health_monitoring = true
health_check_interval_secs = 10
temperature_threshold_celsius = 85
enable_capacity_tracking = true
"""
NOTHING = "no worker is configured, so nothing is guarded"


def test_evictions_for_no_worker_are_told_everywhere(machine):
    m = machine
    m.config.write_text(SEED)
    m.serve()
    wait_for(lambda: NOTHING in m.log(), m.log)
    assert m.log().count(NOTHING) == 1 and "[guard.worker.NAME]" in m.log()
    status = m.whirr("--config", m.config, "guard", "status")
    assert status.returncode == 0 and NOTHING in status.stderr and "No worker is under guard" in status.stdout
    doctor = m.whirr("--config", m.config, "doctor", "--source", "nvml")
    assert "no worker is configured" in " ".join(doctor.stdout.split())


def test_without_that_wish_no_worker_is_nothing_to_tell(machine):
    m = machine
    m.serve()
    wait_for(lambda: "source started" in m.log(), m.log)
    assert NOTHING not in m.log() and NOTHING not in m.whirr("--config", m.config, "guard", "status").stderr


def test_the_profile_desktop_needs_a_source_that_lists_processes(machine):
    m = machine
    worker = m.process(8000)
    m.env["WHIRR_NVML_LIBRARY"] = str(m.dir / "none.so")
    guard = attach(m, worker, "--profile", "desktop")
    assert guard.wait(PATIENCE) == 1
    assert 'no source lists the processes of a GPU, which profile "desktop" needs' in m.log()
    m.config.write_text(f'[worker]\nprofile = "desktop"\n[guard.worker.a]\nmethods = ["checkpoint"]\nmatch = {{ pid = {worker.pid} }}\n')
    daemon = m.serve()
    assert daemon.wait(PATIENCE) == 1
    assert "which profile \"desktop\" of the worker 'a' needs, stopping" in m.log()


def test_a_desktop_whose_driver_goes_is_troubled(machine):
    m = machine
    worker = m.process(8000)
    m.config.write_text(f'[worker]\n{FAST}profile = "desktop"\n[guard.worker.a]\nmethods = ["checkpoint"]\nmatch = {{ pid = {worker.pid} }}\n')
    m.serve()
    m.until_all("running")
    m.front = "fail * 999\n"
    m.show()
    wait_for(lambda: "cannot determine who is using the GPU" in m.log(), m.log)
    wait_for(lambda: m.health()["guard"]["state"] == "trouble", m.log)
    m.front = ""
    m.show()
    wait_for(lambda: m.health()["guard"]["state"] == "watching", m.log)


@pytest.mark.parametrize("text, expected", [("[worker]\nenable_nvml = false\n", []), ('[sampling]\nsources = ["sim:gpus=3,vendor=nvidia"]\n', ["sim"] * 3), ("", ["nvml"])], ids=["nvml off", "sources", "default"])
def test_the_sources_of_the_configuration_hold_without_a_daemon(machine, text, expected):
    m = machine
    m.config.write_text(text)
    m.env["WHIRR_NVIDIA_SMI"] = str(m.dir / "none")
    done = m.whirr("--config", m.config, "status", "--json", "--direct")
    assert [g["source"] for g in json.loads(done.stdout)["gpus"] if g["vendor"] == "nvidia"] == expected, done
    explicit = m.whirr("--config", m.config, "status", "--json", "--source", "nvml")
    assert [g["source"] for g in json.loads(explicit.stdout)["gpus"]] == ["nvml"]
