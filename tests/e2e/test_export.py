# SPDX-License-Identifier: Apache-2.0
"""whirr export: one scrape, to stdout and into a file for the textfile collector."""
import json
import os
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
    assert "\nDCGM_FI_DEV_GPU_TEMP{" in done.out and "\nnvidia_smi_temperature_gpu{" in done.out
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    assert len(list(parser.text_string_to_metric_families(done.out))) > 100
    wrong = whirr("export", *SIM, "--set", "dgcm")
    assert wrong.code == 2 and "dcgm" in wrong.err


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
