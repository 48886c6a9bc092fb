# SPDX-License-Identifier: Apache-2.0
"""The doctor's bundle: what is in it, what is not, and that the machine comes back from it."""
import getpass
import os
import pathlib
import socket
import tarfile

import pytest
import shapes

FIXTURES = os.environ.get("WHIRR_FIXTURES")

ONE = """
gpu NVIDIA GeForce RTX 4090
  uuid GPU-deadbeef-1111-2222-3333-444444444444
  temperature 71
  gpu_util 78
  process parent compute 17000 75 40
"""


def unpack(path, to):
    with tarfile.open(path) as archive:
        names = archive.getnames()
        assert all(not n.startswith("/") and ".." not in n.split("/") for n in names)
        archive.extractall(to)
    return names


def everything(folder):
    return b"".join(p.read_bytes() for p in pathlib.Path(folder).rglob("*") if p.is_file() and not p.is_symlink())


def test_nvml_answers_come_back_without_the_library(nvml, whirr, tmp_path):
    path, machine = tmp_path / "bundle.tar.gz", tmp_path / "machine"
    result = nvml(ONE, "doctor", "--bundle", str(path))
    assert result.code == 0, result.err
    assert "whirr/recording" in result.out and "Look into it before you send it" in result.out
    assert path.stat().st_mode & 0o077 == 0
    unpack(path, machine)
    gpus = whirr("--sysroot", str(machine), "--json").json()["gpus"]
    assert len(gpus) == 1
    assert (gpus[0]["temperature_celsius"], gpus[0]["utilization_percent"]) == (71, 78)
    shapes.check_gpu(gpus[0])


def test_nothing_private_is_in_it(nvml, tmp_path):
    path, machine = tmp_path / "bundle.tar.gz", tmp_path / "machine"
    assert nvml(ONE, "doctor", "--bundle", str(path)).code == 0
    names = unpack(path, machine)
    content = everything(machine) + "\n".join(names).encode()
    assert b"deadbeef" not in content
    assert b"pytest" not in content  # the command line of the parent process
    assert socket.gethostname().encode() + b"\n" not in content
    user = getpass.getuser().encode()
    assert user == b"root" or user not in content
    assert not any(name.startswith("etc/passwd") for name in names)


def test_private_things_stay_with_consent(nvml, tmp_path):
    path, machine = tmp_path / "bundle.tar.gz", tmp_path / "machine"
    result = nvml(ONE, "doctor", "--bundle", str(path), "--with-private")
    assert result.code == 0 and "as you asked for" in result.out
    unpack(path, machine)
    assert b"deadbeef" in everything(machine)


def test_an_existing_file_is_not_overwritten(nvml, tmp_path):
    path = tmp_path / "bundle.tar.gz"
    path.write_text("precious")
    result = nvml(ONE, "doctor", "--bundle", str(path))
    assert result.code == 1 and "exists already" in result.err and path.read_text() == "precious"


def test_a_bundle_without_gpu_is_possible(whirr, bare_machine, tmp_path):
    path, machine = tmp_path / "bundle.tar.gz", tmp_path / "machine"
    assert whirr("--sysroot", str(bare_machine), "doctor", "--bundle", str(path)).code == 0
    unpack(path, machine)
    assert whirr("--sysroot", str(machine), "--json").json()["gpus"] == []


def machines():
    if not FIXTURES or not os.path.isdir(FIXTURES):
        return []
    return sorted(str(p.parent.relative_to(FIXTURES)) for p in pathlib.Path(FIXTURES).glob("*/*/sys") if p.is_dir())


VOLATILE = {"timestamp", "age"}


def steady(gpu):
    """What a machine that stands still says again and again; its own identity is replaced in the bundle."""
    return {k: v for k, v in gpu.items() if k not in ("absent", "uuid", "serial", "processes", "instances")}


@pytest.mark.skipif(not machines(), reason="no folder of recorded machines")
@pytest.mark.parametrize("name", machines() or ["none"])
def test_recorded_machines_come_back_from_their_bundle(whirr, tmp_path, name):
    path, machine, original = tmp_path / "bundle.tar.gz", tmp_path / "machine", os.path.join(FIXTURES, name)
    before = whirr("--sysroot", original, "--full", "--json").json()["gpus"]
    result = whirr("--sysroot", original, "doctor", "--bundle", str(path))
    assert result.code == 0, result.err
    unpack(path, machine)
    after = whirr("--sysroot", str(machine), "--full", "--json").json()["gpus"]
    assert [steady(g) for g in after] == [steady(g) for g in before]
