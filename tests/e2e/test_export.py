# SPDX-License-Identifier: Apache-2.0
"""whirr export: one scrape, to stdout and into a file for the textfile collector."""
import json
import os
import re
import shutil
import stat
import subprocess
import threading

import pytest
from conftest import PATIENCE
from isolation import ON_WINDOWS

SIM = ("--source", "sim:gpus=2,scenario=mixed")


def lint(text):
    if not shutil.which("promtool"):
        pytest.skip("no promtool (tools/deps test)")
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True, timeout=PATIENCE)
    return {line.split()[0] for line in done.stderr.decode().splitlines()}


def test_one_scrape_to_stdout(whirr):
    done = whirr("export", *SIM)
    assert done.code == 0 and done.err == ""
    assert lint(done.out) == {"gpu_count", "gpu_other_processes_count", "gpu_process_count", "host_cpu_count"}
    assert 'gpu_temperature_celsius{gpu="0",' in done.out and ',host="' in done.out and "DCGM" not in done.out


def test_openmetrics_and_sets(whirr):
    done = whirr("export", *SIM, "--openmetrics", "--set", "dcgm", "--set", "nvidia_smi")
    assert done.code == 0 and done.out.endswith("# EOF\n") and "# UNIT gpu_temperature_celsius celsius\n" in done.out
    assert "\nDCGM_FI_DEV_GPU_TEMP_CELSIUS{" in done.out and "\nnvidia_smi_temperature_gpu{" in done.out
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    assert len(list(parser.text_string_to_metric_families(done.out))) > 100
    wrong = whirr("export", *SIM, "--set", "dgcm")
    assert wrong.code == 2 and "dcgm" in wrong.err


# What etc/default-counters.csv of dcgm-exporter has switched on, in 4.8 and in 4.9: there 22 fields and the label of the driver are renamed, 11 of them
# with another unit (factor), and one is new. "-": as before.
FIELDS = """SM_CLOCK DEV_SM_CLOCK_HERTZ 1e6|MEM_CLOCK DEV_MEMORY_CLOCK_HERTZ 1e6|MEMORY_TEMP DEV_MEMORY_TEMP_CELSIUS|GPU_TEMP DEV_GPU_TEMP_CELSIUS|POWER_USAGE DEV_BOARD_POWER_WATTS
TOTAL_ENERGY_CONSUMPTION DEV_GPU_ENERGY_JOULES_TOTAL 1e-3|PCIE_REPLAY_COUNTER DEV_PCIE_REPLAY_TOTAL|GPU_UTIL DEV_GPU_UTIL_RATIO 1e-2|MEM_COPY_UTIL DEV_MEMORY_UTIL_RATIO 1e-2
ENC_UTIL DEV_ENC_UTIL_RATIO 1e-2|DEC_UTIL DEV_DEC_UTIL_RATIO 1e-2|XID_ERRORS DEV_XID_ERROR|FB_FREE DEV_FB_FREE_BYTES 1048576|FB_USED DEV_FB_USED_BYTES 1048576
FB_RESERVED DEV_FB_RESERVED_BYTES 1048576|NVLINK_BANDWIDTH_TOTAL DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND 1e6|VGPU_LICENSE_STATUS -|UNCORRECTABLE_REMAPPED_ROWS DEV_ROW_REMAP_UNCORRECTABLE_TOTAL
CORRECTABLE_REMAPPED_ROWS DEV_ROW_REMAP_CORRECTABLE_TOTAL|ROW_REMAP_FAILURE DEV_ROW_REMAP_FAILED|GR_ENGINE_ACTIVE PROF_GR_ENGINE_UTIL_RATIO|PIPE_TENSOR_ACTIVE PROF_TENSOR_UTIL_RATIO
DRAM_ACTIVE PROF_DRAM_UTIL_RATIO|PCIE_TX_BYTES -|PCIE_RX_BYTES -"""
# Commented out there, and frequent in alert files.
MORE = """ECC_SBE_VOL_TOTAL -|ECC_DBE_VOL_TOTAL -|ECC_SBE_AGG_TOTAL -|ECC_DBE_AGG_TOTAL -|POWER_VIOLATION DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL 1e-9|THERMAL_VIOLATION DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL 1e-9
SM_ACTIVE PROF_SM_UTIL_RATIO|SM_OCCUPANCY PROF_SM_OCCUPANCY_RATIO|PIPE_FP64_ACTIVE PROF_FP64_UTIL_RATIO|PIPE_FP32_ACTIVE PROF_FP32_UTIL_RATIO|PIPE_FP16_ACTIVE PROF_FP16_UTIL_RATIO
NVLINK_TX_BYTES -|NVLINK_RX_BYTES -"""
LINKS = "|".join(f"NVLINK_{kind}_ERROR_COUNT_TOTAL DEV_NVLINK_{kind}_ERROR_TOTAL" for kind in ("REPLAY", "RECOVERY", "CRC_FLIT", "CRC_DATA"))
PROFILED = {"GR_ENGINE_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE", "PCIE_TX_BYTES", "PCIE_RX_BYTES", "SM_ACTIVE", "SM_OCCUPANCY", "PIPE_FP64_ACTIVE", "PIPE_FP32_ACTIVE", "PIPE_FP16_ACTIVE", "NVLINK_TX_BYTES", "NVLINK_RX_BYTES"}
NOT_READ = {"DCGM_FI_DEV_VGPU_LICENSE_STATUS"}  # of a vGPU alone


def dcgm_fields(text):
    for old, new, *factor in (row.split() for row in text.replace("\n", "|").split("|")):
        old = f"DCGM_FI_{'PROF' if old in PROFILED else 'DEV'}_{old}"
        yield old, old if new == "-" else "DCGM_FI_" + new, float(factor[0]) if factor else 1.0


def dcgm_series(text):
    """Of GPU 0: the value by name, with what the labels of all are called."""
    lines = [line for line in text.splitlines() if line.startswith("DCGM_") and 'gpu="0"' in line]
    return {line.split("{")[0]: float(line.split()[-1]) for line in lines}, {label for line in lines for label in re.findall(r'[{,](\w+)="', line)}


def test_fields_of_dcgm_exporter_before_and_since_4_9(whirr):
    """Both of one sample."""
    h100 = ("--source", "sim:gpus=2,scenario=training,model=h100")
    done = whirr("export", *h100, "--set", "dcgm", "--set", "dcgm-4.8")
    assert done.code == 0, done.err
    both = dcgm_series(done.out)[0]
    missing = {name for old, new, _ in dcgm_fields(FIELDS) for name in (old, new) if name not in both}
    assert missing == NOT_READ and "DCGM_FI_DEV_FB_CAPACITY_BYTES" in both, missing
    for old, new, factor in (row for row in (*dcgm_fields(FIELDS), *dcgm_fields(MORE)) if row[0] not in NOT_READ):
        assert both[new] == pytest.approx(both[old] * factor, rel=1e-6), (old, new)
    assert both["DCGM_FI_DEV_XID_ERROR"] == 0  # as there: none so far
    heads = [line for line in done.out.splitlines() if line.startswith("# TYPE DCGM_")]
    assert len(heads) == len(set(heads))  # one family each, also of names that stayed
    for name, label, wrong in (("dcgm", "DCGM_FI_SYSTEM_DRIVER_VERSION", "DCGM_FI_DEV_GPU_TEMP"), ("dcgm-4.8", "DCGM_FI_DRIVER_VERSION", "DCGM_FI_DEV_GPU_TEMP_CELSIUS")):
        series, labels = dcgm_series(whirr("export", *h100, "--set", name).out)
        assert label in labels and wrong not in series and "DCGM_FI_PROF_PCIE_TX_BYTES" in series, name


def test_errors_of_nvlinks_by_kind_and_a_license_are_there_where_the_driver_knows_them(nvml):
    """Each link of the fake has 1, 2, 3 and 4 errors of the kinds, and one has seven replays more; as Blackwell answers, there are none."""
    export = lambda script: dcgm_series(nvml(script, "export", "--set", "dcgm", "--set", "dcgm-4.8").out)[0]  # noqa: E731
    seen = export("gpu NVIDIA H100-20C\n field 91 4\n nvlinks_active 4\n nvlink_errors 7\n virtualization 2\n license 1\n")
    assert [(seen[old], seen[new]) for old, new, _ in dcgm_fields(LINKS)] == [(11, 11), (8, 8), (12, 12), (16, 16)]
    assert seen["DCGM_FI_DEV_VGPU_LICENSE_STATUS"] == 1
    assert export("gpu NVIDIA H100-20C\n virtualization 2\n license 0\n")["DCGM_FI_DEV_VGPU_LICENSE_STATUS"] == 0
    for script in ("gpu NVIDIA B200\n field 91 18\n nvlinks_active 18\n license 0\n", "gpu NVIDIA H100-20C\n virtualization 2\n", "gpu X\n virtualization 1\n license 1\n"):
        missing = {name for old, new, _ in dcgm_fields(LINKS) for name in (old, new)} | NOT_READ
        assert not missing & set(export(script)), script


def test_a_collector_never_sees_half_of_a_file(whirr, tmp_path):
    file = tmp_path / "whirr.prom"
    assert whirr("export", *SIM, "--output", str(file)).code == 0
    assert (ON_WINDOWS or stat.S_IMODE(file.stat().st_mode) == 0o644) and file.read_text().startswith("# HELP ")
    seen, over = [], threading.Event()

    def collect():
        while not over.is_set():
            seen.append(file.read_text())

    reader = threading.Thread(target=collect)
    reader.start()
    for _ in range(5):
        assert whirr("export", *SIM, "-o", str(file)).code == 0
    over.set()
    reader.join()
    assert all("whirr_build_info" in text and text.endswith("\n") for text in seen)
    assert os.listdir(tmp_path) == ["whirr.prom"]


def test_a_file_that_cannot_be_written_is_left_alone(whirr, tmp_path):
    done = whirr("export", *SIM, "-o", str(tmp_path / "none" / "whirr.prom"))
    assert done.code == 1 and done.err.startswith("whirr: cannot write '") and "No such file" in done.err
    assert whirr("export", *SIM, "--json").code == 2


def test_targets_for_service_discovery(whirr, tmp_path):
    config = tmp_path / "whirr.toml"
    config.write_text('[hosts.gpu1]\n[hosts.gpu2]\naddress = "http://10.0.0.2:80"\n[hosts.six]\naddress = "https://[fe80::1]/"\n'
                      '[hosts.here]\naddress = "127.0.0.1:9999"\n[hosts.lab]\naddress = "ssh://alice@lab"\n')
    config.chmod(0o600)
    done = whirr("export", "--targets", "--config", str(config))
    assert done.code == 0 and "hosts.lab is left out" in done.err
    found = {entry["labels"]["host"]: (entry["targets"], entry["labels"]["__scheme__"]) for entry in json.loads(done.out)}
    assert found == {"gpu1": (["gpu1:9447"], "https"), "gpu2": (["10.0.0.2:80"], "http"), "six": (["[fe80::1]:9447"], "https"),
                     "here": (["127.0.0.1:9999"], "http")}
