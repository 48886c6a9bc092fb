# SPDX-License-Identifier: Apache-2.0
"""Runs the program as people and scripts do. WHIRR_BIN names it; nothing outside the test's own folders is touched."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WHIRR_BIN", ROOT / "build" / "whirr")).resolve().parent
sys.path.insert(0, str(ROOT / "tests" / "contract"))

WHIRR = os.environ.get("WHIRR_BIN", str(BUILD / "whirr"))


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        assert self.code == 0, self.err
        return json.loads(self.out)


def environment(**changes):
    """A machine without GPU libraries, whatever this one has."""
    env = {
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "TZ": "UTC", "COLUMNS": "80",
        "WHIRR_NVML_LIBRARY": "libnvidia-ml-not-here.so", "WHIRR_CUDA_LIBRARY": "libcuda-not-here.so",
        "WHIRR_NVIDIA_SMI": "/nonexistent/nvidia-smi",
    }
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    # Looking for leaks takes seconds a run on some processors; test_leaks.py does it for all commands once.
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    env.update(changes)
    return {name: value for name, value in env.items() if value is not None}


@pytest.fixture
def whirr():
    def run(*args, timeout=60, stdin=None, **env):
        done = subprocess.run([WHIRR, *args], env=environment(**env), capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL if stdin is None else stdin, errors="surrogateescape")
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        return Result(done)

    return run


@pytest.fixture
def sim(whirr):
    """whirr on a simulated machine."""
    def run(scenario, *args, gpus=None, **more):
        parameters = f"sim:scenario={scenario}" + (f",gpus={gpus}" if gpus else "")
        return whirr("--source", parameters, *args, **more)

    return run


@pytest.fixture
def nvml(whirr, tmp_path):
    """whirr on a fake NVIDIA driver that answers from a script."""
    library = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
    if not library.exists():
        pytest.skip("the fake NVML library was not built")

    def run(script, *args, driver="", **more):
        path = tmp_path / "script"
        path.write_text(script)
        chosen = library.with_name(f"libnvidia-ml-fake{driver}.so")
        return whirr("--source", "nvml", *args, WHIRR_NVML_LIBRARY=str(chosen), WHIRR_FAKE_NVML=str(path), **more)

    return run


@pytest.fixture
def bare_machine(tmp_path):
    """A recorded machine without any GPU."""
    root = tmp_path / "bare"
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "sys/class/drm").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "proc/sys/kernel/hostname").write_text("bare\n")
    (root / "proc/meminfo").write_text("MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n")
    (root / "proc/stat").write_text("cpu  1 0 1 8 0 0 0 0 0 0\ncpu0 1 0 1 8 0 0 0 0 0 0\n")
    return root
