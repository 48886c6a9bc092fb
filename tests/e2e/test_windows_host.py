# SPDX-License-Identifier: Apache-2.0
"""The host as Windows tells it, under Wine, which passes the calls on to this machine: the same CPUs and memory, and nothing invented."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import PATIENCE, ROOT, WHIRR, environment

WINDOWS = str(ROOT / "tests" / "windows" / "whirr")  # whirr.exe under Wine
PROGRAM = pathlib.Path(os.environ.get("WHIRR_EXE", ROOT / "build-windows" / "whirr.exe"))
pytestmark = [pytest.mark.skipif(not shutil.which("wine") or not PROGRAM.exists(), reason="no wine, or no build-windows/whirr.exe"), pytest.mark.xdist_group("wine")]


def resources(program):
    done = subprocess.run([program, "resources", "--json"], env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=True)
    return json.loads(done.stdout)


def test_cpus_and_memory_are_those_of_the_machine():
    here, there = resources(WHIRR), resources(WINDOWS)
    assert there["cpu_count"] == here["cpu_count"]
    assert there["memory_total_gb"] == pytest.approx(here["memory_total_gb"], rel=0.01)
    assert 0 < there["available_memory_gb"] <= there["memory_total_gb"]
    assert 0 <= there["cpu_percent"] <= there["cpu_core_max_percent"] <= 100


def test_what_the_system_does_not_tell_is_absent_and_not_zero():
    there = resources(WINDOWS)
    for name in ("load_average_1m", "cpu_temperature_c", "cpu_pressure_percent", "memory_pressure_percent", "io_pressure_percent"):
        assert there[name] is None, name
    for name in ("disk_read_bytes_per_second", "swap_used_gb"):  # Wine gives neither
        assert there[name] is None, name
