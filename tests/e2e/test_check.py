# SPDX-License-Identifier: Apache-2.0
"""whirr check on fake GPUs: a fake NVML to watch, and a fake libcuda that runs the kernels as C (tests/fakes/compute). Its times are modelled: 4 s of a GPU
pass in half a second here."""
import json
import os
import pathlib
import signal
import subprocess

import pytest
from isolation import BUILD, WHIRR, environment, run_whirr
from waiting import eventually, patience

NVML = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
CUDA = BUILD / "tests" / "fakes" / "compute" / "libcuda-compute-fake.so"
GPU = """gpu Fake GPU
  sm 4
  graphics 4
  memory 50
  display_active 0
  pcie_gen 1
  pcie_width 4
  pcie_gen_max 1
  pcie_width_max 4
  throttle 0
  used 0
"""
OPENCL = BUILD / "tests" / "fakes" / "compute" / "libopencl-fake.so"
pytestmark = pytest.mark.skipif(not CUDA.exists(), reason="built for Linux only")


class Box:
    def __init__(self, folder):
        self.folder = folder
        self.gpus(GPU)

    def gpus(self, *gpus):
        (self.folder / "nvml").write_text("driver 580.159.04\n" + "".join(gpus))
        self.count = len(gpus)

    def env(self, fault=None):
        gpus = ",".join(f"GPU-0000000{i}-1111-2222-3333-444444444444@0000:0{i + 1}:00.0" for i in range(self.count))
        return {"WHIRR_NVML_LIBRARY": str(NVML), "WHIRR_FAKE_NVML": str(self.folder / "nvml"), "WHIRR_CUDA_LIBRARY": str(CUDA),
                "WHIRR_FAKE_COMPUTE_GPUS": gpus, "COLUMNS": "400", "WHIRR_FAKE_COMPUTE": fault or "none"}

    def run(self, *args, fault=None):
        return run_whirr(*args, folder=self.folder, **self.env(fault))

    def check(self, *args, fault=None, seconds=4):
        return self.run("--source", "nvml", "check", "--for", f"{seconds}s", *args, fault=fault)


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


def test_a_healthy_gpu(box):
    done = box.check()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GPU 0 Fake GPU: healthy; no error found in" in done.stdout and "what is possible" in done.stdout
    body = json.loads(box.check("--json").stdout)
    run = body["checks"][0]
    assert body["verdict"] == run["verdict"] == "healthy" and run["end"] == "done"
    assert run["memory_covered_bytes"] == run["memory_wanted_bytes"] > 8 << 20
    values = {v["value"]: v for v in run["values"]}
    assert values["read"]["expected"] == pytest.approx(0.1) and values["read"]["basis"] == "physics"
    assert all(t["finished"] and t["wrong"] == 0 and t["place"] is t["got"] is None for t in run["tests"])
    assert all(v[key] != 0 for v in run["values"] for key in ("measured", "spread", "expected")), "what is not known is no 0"


def test_wrong_memory_is_a_finding_until_a_clean_check(box):
    done = box.check(fault="stuck1,word=4242,bit=7")
    assert done.returncode == 2, done.stdout
    assert "its memory returned" in done.stdout and "bit 7 always 1 instead of 0" in done.stdout and "word 0x1092" in done.stdout and "Do " in done.stdout
    health = box.run("--source", "nvml", "health")
    assert health.returncode != 0 or box.run("health", "--direct").returncode == 2
    for args in (["health"], ["why"], ["status"]):
        told = box.run(*args, "--direct")
        assert "its memory returned" in told.stdout or "FAILING" in told.stdout, (args, told.stdout)
    assert box.run("health", "--direct").returncode == 2
    assert "check_failed" in box.run("why", "--json", "--direct").stdout
    # A quick look does not take back what a longer one found; a check of the same kind does.
    assert box.run("check", "--level", "quick", "--direct").returncode == 0
    assert box.run("health", "--direct").returncode == 2
    assert box.check().returncode == 0
    assert box.run("health", "--direct").returncode == 0


@pytest.mark.parametrize("fault, code, says", [
    ("fma,step=500,bit=20,processor=3", 2, "its arithmetic gave"),
    ("whole,bit=3,processor=3", 2, "all from multiprocessor 3"),
    ("tensor,bit=22", 2, "its tensor cores gave"),
    ("link_bit,bit=3", 2, "its PCIe link changed"),
    ("lost,at=500", 2, "it failed during the check"),
    ("crash,at=500", 3, "the compute driver crashed"),
    ("no_device", 3, "CUDA_ERROR_NO_DEVICE"),
    ("exclusive", 3, "CUDA_ERROR_DEVICE_UNAVAILABLE"),
    ("full", 3, "only"),
    ("memory_slow,factor=0.6", 1, "it reads its memory at"),
    ("link_slow,factor=0.5", 1, "is sent data at"),
    ("droop,factor=0.6", 1, "it is unsteady"),
])
def test_faults_end_in_the_right_words(box, fault, code, says):
    done = box.check(fault=fault)
    assert done.returncode == code and says in done.stdout, (done.returncode, done.stdout, done.stderr)
    assert code == 0 or "healthy" not in done.stdout


@pytest.mark.skipif(not OPENCL.exists() or not pathlib.Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no OpenCL for CPUs (Debian: pocl-opencl-icd)")
@pytest.mark.parametrize("fault, says", [
    ("none", None),
    ("flip", "its memory returned 1 wrong word"),
    ("link", "its PCIe link changed"),
    ("lost", "it failed during the check"),
    ("memory", None),
])
def test_a_real_opencl(box, fault, says):
    """Its speed is that of a CPU: only answers are looked at. On a busy machine it gets longer."""
    ours = {**box.env(), "WHIRR_CUDA_LIBRARY": "/none", "WHIRR_OPENCL_LIBRARY": str(OPENCL), "WHIRR_FAKE_OPENCL": fault}
    for seconds in (4, 12, 36):
        done = run_whirr("--source", "nvml", "check", "--for", f"{seconds}s", "--json", folder=box.folder, timeout=patience(120), **ours)
        run = json.loads(done.stdout)["checks"][0]
        assert run["device"]["api"] == "opencl", run
        share = run["memory_covered_bytes"] / run["memory_wanted_bytes"]
        if share == 1 or done.returncode == 2 or fault == "memory":
            break
    if says:
        assert done.returncode == 2 and says in run["words"], run
        return
    assert done.returncode != 2 and all(t["wrong"] == 0 for t in run["tests"]), run
    assert share < 0.5 and "healthy" != run["verdict"] if fault == "memory" else share == 1, run


@pytest.mark.slow
@pytest.mark.parametrize("fault, says", [("hang,at=500", "did not end within 5 s"), ("call_hangs,at=500", "did not return")])
def test_a_gpu_that_stops_answering(box, fault, says):
    done = box.check(fault=fault)
    assert done.returncode == 2 and "stopped answering" in done.stdout and says in done.stdout, done.stdout


def test_no_compute_driver_says_which_package(box):
    done = run_whirr("check", "--direct", folder=box.folder, **{**box.env(), "WHIRR_CUDA_LIBRARY": "libcuda-not-here.so"})
    assert done.returncode == 3 and "libcuda" in done.stdout and "NVIDIA_DRIVER_CAPABILITIES" in done.stdout, done.stdout


def test_a_simulated_gpu_has_nothing_to_test(box):
    done = run_whirr("--source", "sim:scenario=idle", "check")
    assert done.returncode == 3 and "it is simulated" in done.stdout


def test_a_gpu_at_work_is_left_alone(box):
    box.gpus(GPU + "  process parent compute 1000 75 40\n  gpu_util 75\n")
    done = box.check()
    assert done.returncode == 3 and "is using it; to test what is free: --force" in done.stdout
    forced = box.check("--force")
    assert forced.returncode == 0 and "speed not judged (others used it)" in forced.stdout, forced.stdout


def test_all_gpus_at_once_and_the_odd_one_is_named(box):
    box.gpus(GPU, GPU, GPU)
    done = box.check(fault="stuck0,word=99,bit=1,gpu=1")
    assert done.returncode == 2
    lines = [line for line in done.stdout.splitlines() if " GPU " in line[:8]]
    assert ["healthy" in line for line in lines] == [True, False, True], done.stdout


def test_a_hot_gpu_is_stopped(box):
    box.gpus(GPU + "  slowdown 90\n  temperature 86\n")
    done = box.check()
    assert done.returncode == 1 and "too hot: stopped at 86" in done.stdout, done.stdout


def test_a_narrow_link_is_seen_under_load(box):
    box.gpus(GPU.replace("pcie_width_max 4", "pcie_width_max 16"))
    done = box.check()
    assert done.returncode == 1 and "its PCIe link has 4 of 16 lanes" in done.stdout


def test_a_person_stops_it(box):
    """The kernel hangs, so that only a signal ends it; nothing is left behind."""
    with subprocess.Popen([WHIRR, "check", "--direct", "--for", "30m", "--yes"], stdout=subprocess.PIPE, text=True,
                          env=environment(box.folder, **box.env("call_hangs,at=100"))) as whirr:
        folder = box.folder / "system" / "var" / "lib" / "whirr-checks" if os.geteuid() == 0 else box.folder / "checks"
        eventually(lambda: list(folder.glob("*.running")))
        told = run_whirr("why", "--json", "--direct", folder=box.folder, **box.env())
        assert "check_running" in told.stdout
        whirr.send_signal(signal.SIGTERM)
        out = whirr.communicate(timeout=patience(60))[0]
    assert whirr.returncode == 3 and "stopped on request" in out
    assert not list(folder.glob("*.running"))


def test_history_and_own_past(box):
    for _ in range(5):
        assert box.check().returncode == 0
    done = box.check(fault="memory_slow,factor=0.9")
    assert done.returncode == 1 and "beside 5 earlier runs" in done.stdout, done.stdout
    listed = box.run("check", "--history", "--direct")
    assert listed.returncode == 0 and listed.stdout.count("healthy") == 5 and listed.stdout.count("degraded") == 1
    assert len(json.loads(box.run("check", "--history", "--json", "--direct").stdout)["checks"]) == 6


@pytest.mark.parametrize("name", ["gpu.html", "gpu.json"])
def test_a_passport(box, name):
    file = box.folder / name
    made = box.check("--report", file)
    assert made.returncode == 0 and made.stderr.endswith(f"whirr: the report was written to {file}\n"), made.stderr
    text = file.read_text()
    assert "1000000000000" in text and "Fake GPU" in text and ("<script src" not in text and "http" not in text)
    compared = box.check("--compare", file)
    assert compared.returncode == 0 and "Beside the check of" in compared.stdout and "memory read" in compared.stdout
    file.write_text(text.replace("1000000000000", "1000000000001"))
    refused = box.check("--compare", file)
    assert refused.returncode == 3 and "its checksum is wrong" in refused.stderr
    assert box.check("--report", file, "--hash").returncode == 0
    assert "1000000000000" not in file.read_text() and "sha256:" in file.read_text()


def test_wrong_usage_is_not_judged(box):
    for args in (["--for", "0s"], ["--level", "nosuch"], ["--deadline", "1s"], ["--compare", "/nonexistent"]):
        assert box.run("check", "--direct", *args).returncode == 3, args
    assert "--yes" in box.run("check", "--direct", "--level", "full").stderr
