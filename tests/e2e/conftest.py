# SPDX-License-Identifier: Apache-2.0
"""Runs the program as people and scripts do."""
import json

import pytest
import targets
from isolation import BUILD, ON_WINDOWS, run_whirr


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self, code=0):
        assert self.code == code, (self.code, self.err)
        return json.loads(self.out)


@pytest.fixture
def whirr():
    return lambda *args, **more: Result(run_whirr(*args, **more))


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
    if ON_WINDOWS:
        pytest.skip("not on Windows: machines are recorded on Linux")
    root = tmp_path / "bare"
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "sys/class/drm").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "proc/sys/kernel/hostname").write_text("bare\n")
    (root / "proc/meminfo").write_text("MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n")
    (root / "proc/stat").write_text("cpu  1 0 1 8 0 0 0 0 0 0\ncpu0 1 0 1 8 0 0 0 0 0 0\n")
    return root


@pytest.fixture
def target():
    """Makes stand-ins for what notifiers send to; all of them end with the test."""
    made = []

    def make(kind=targets.Target):
        made.append(kind())
        return made[-1]

    yield make
    for one in made:
        one.close()
