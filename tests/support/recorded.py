# SPDX-License-Identifier: Apache-2.0
"""The recorded machines of tests/machines, for tests that run the program on them."""
import os
import pathlib

import pytest
from isolation import ON_WINDOWS, ROOT, run_whirr

FOLDER = ROOT / "tests" / "machines"
FAKE_SMI = str(ROOT / "tests" / "fakes" / "nvidia-smi")
# Whole recorded trees, an extra where they are available.
FIXTURES = pathlib.Path(os.environ.get("WHIRR_FIXTURES", "/nonexistent"))


def names(holding):
    """Machines with a line that begins with this text: "[/sys/", "[/nvidia-smi"."""
    return sorted(p.stem for p in FOLDER.glob("*.machine") if f"\n{holding}" in p.read_text())


def unpack(file, to):
    if ON_WINDOWS:
        pytest.skip("not on Windows: machines are recorded on Linux")
    done = run_whirr("doctor", "--unpack", str(file), str(to))
    assert done.returncode == 0, done.stderr
    return str(to)


def expand(name, to):
    """Unpacks the machine into the directory `to`, for --sysroot."""
    return unpack(FOLDER / f"{name}.machine", to)


def answers(root):
    """The environment in which whirr runs the nvidia-smi of an unpacked machine."""
    there = (pathlib.Path(root) / "nvidia-smi").is_dir()
    return {"WHIRR_NVIDIA_SMI": FAKE_SMI, "FAKE_SMI_MACHINE": str(root)} if there else {}
