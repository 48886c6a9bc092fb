# SPDX-License-Identifier: Apache-2.0
"""The doctor's bundle: what is in it, what is not, and that the machine comes back from it."""
import getpass
import pathlib
import re
import socket

import pytest
import recorded
import shapes

ONE = """
gpu NVIDIA GeForce RTX 4090
  uuid GPU-deadbeef-1111-2222-3333-444444444444
  temperature 71
  gpu_util 78
  process parent compute 17000 75 40
"""


def unpack(path, to):
    recorded.unpack(path, to)
    return [str(p.relative_to(to)) for p in pathlib.Path(to).rglob("*")]


def everything(folder):
    return b"".join(p.read_bytes() for p in pathlib.Path(folder).rglob("*") if p.is_file() and not p.is_symlink())


def test_nvml_answers_come_back_without_the_library(nvml, whirr, tmp_path):
    path, machine = tmp_path / "bundle.machine", tmp_path / "machine"
    result = nvml(ONE, "doctor", "--bundle", str(path))
    assert result.code == 0, result.err
    assert "whirr/recording" in result.out and "read it before you send it" in result.out
    assert path.stat().st_mode & 0o077 == 0
    unpack(path, machine)
    gpus = whirr("--sysroot", str(machine), "--json").json()["gpus"]
    assert len(gpus) == 1
    assert (gpus[0]["temperature_celsius"], gpus[0]["utilization_percent"]) == (71, 78)
    shapes.check_gpu(gpus[0])
    assert whirr("--sysroot", str(machine), "--source", "amdgpu", "--json").json()["gpus"] == []  # who names a source gets no other


def test_nothing_private_is_in_it(nvml, tmp_path):
    path, machine = tmp_path / "bundle.machine", tmp_path / "machine"
    assert nvml(ONE, "doctor", "--bundle", str(path)).code == 0
    names = unpack(path, machine)
    content = everything(machine) + "\n".join(names).encode()
    assert b"deadbeef" not in content
    assert b"pytest" not in content  # the command line of the parent process
    assert socket.gethostname().encode() + b"\n" not in content
    user = re.escape(getpass.getuser().encode())
    found = re.search(rb".{0,40}(?:(?<![\w/.-])" + user + rb"(?![\w/.-])|/home/" + user + rb").{0,40}", everything(machine))  # a user "dev" is not /dev
    assert user == b"root" or not found, found
    assert not any(name.startswith("etc/passwd") for name in names)


def test_private_things_stay_with_consent(nvml, tmp_path):
    path, machine = tmp_path / "bundle.machine", tmp_path / "machine"
    result = nvml(ONE, "doctor", "--bundle", str(path), "--with-private")
    assert result.code == 0 and "as you asked for" in result.out
    unpack(path, machine)
    assert b"deadbeef" in everything(machine)


def test_a_bundle_is_named_as_what_it_is(nvml, tmp_path):
    path = tmp_path / "bundle.tar.gz"
    result = nvml(ONE, "doctor", "--bundle", str(path))
    assert result.code == 2 and "name it FILE.machine" in result.err and not path.exists()


def test_an_existing_file_is_not_overwritten(nvml, tmp_path):
    path = tmp_path / "bundle.machine"
    path.write_text("precious")
    result = nvml(ONE, "doctor", "--bundle", str(path))
    assert result.code == 1 and "exists already" in result.err and path.read_text() == "precious"


def test_a_bundle_without_gpu_is_possible(whirr, bare_machine, tmp_path):
    path, machine = tmp_path / "bundle.machine", tmp_path / "machine"
    assert whirr("--sysroot", str(bare_machine), "doctor", "--bundle", str(path)).code == 0
    unpack(path, machine)
    assert whirr("--sysroot", str(machine), "--json").json()["gpus"] == []


def steady(gpu):
    """What a machine that stands still says again and again; its own identity is replaced in the bundle, and counters of throttling need a second look."""
    return {k: v for k, v in gpu.items() if k not in ("absent", "uuid", "serial", "processes", "instances", "throttle_reasons")}


def status(whirr, root):
    return whirr("--sysroot", str(root), "--full", "--json", **recorded.answers(root)).json()["gpus"]


OF_FILES = recorded.names("[/sys/")
TREES = sorted(p.parent for p in recorded.FIXTURES.glob("*/*/sys") if p.is_dir())


@pytest.mark.parametrize("which", OF_FILES + TREES, ids=OF_FILES + [f"tree {p.name}" for p in TREES])
def test_recorded_machines_come_back_from_their_bundle(whirr, tmp_path, which):
    come_back(whirr, tmp_path, which if which in TREES else recorded.expand(which, tmp_path / "original"))


def come_back(whirr, tmp_path, original):
    path, machine = tmp_path / "bundle.machine", tmp_path / "machine"
    before = status(whirr, original)
    result = whirr("--sysroot", str(original), "doctor", "--bundle", str(path))
    assert result.code == 0, result.err
    unpack(path, machine)
    assert [steady(g) for g in status(whirr, machine)] == [steady(g) for g in before]


def processes(gpu):
    """Without what was replaced, or depends on the moment; None where the driver does not list them."""
    return [[p[k] for k in ("pid", "name", "type", "memory_mb", "started_at")] for p in gpu["processes"] or []]


@pytest.mark.parametrize("name", OF_FILES + ["no-gpu", "a100-mig", "h100-mig-load", "rtx4090x4-one-lost"])
def test_a_machine_file_says_the_same_as_the_machine(whirr, tmp_path, name):
    """A bug report becomes a test: what doctor writes as text is a machine of tests/machines."""
    original, path = recorded.expand(name, tmp_path / "original"), tmp_path / "out.machine"
    before = status(whirr, original)
    result = whirr("--sysroot", original, "doctor", "--bundle", str(path), **recorded.answers(original))
    assert result.code == 0 and path.read_text().startswith("# whirr machine 1\n"), result.err
    after = status(whirr, recorded.unpack(path, tmp_path / "again"))
    assert [steady(g) for g in after] == [steady(g) for g in before]
    assert [processes(g) for g in after] == [processes(g) for g in before]
    assert [[i["profile"] for i in g["instances"]] for g in after] == [[i["profile"] for i in g["instances"]] for g in before]
    assert len({g["uuid"] for g in after if g["uuid"]}) == len({g["uuid"] for g in before if g["uuid"]})


def test_a_machine_file_holds_everything_with_consent(whirr, tmp_path):
    original, path = recorded.expand("container-host", tmp_path / "original"), tmp_path / "out.machine"
    assert whirr("--sysroot", original, "doctor", "--bundle", str(path), "--with-private").code == 0
    again = recorded.unpack(path, tmp_path / "again")
    assert status(whirr, again) == status(whirr, original)
    assert "Llama-3.1-8B" in path.read_text() and "alice" in path.read_text()


def test_a_machine_file_holds_nothing_private(whirr, tmp_path):
    for name in ("container-host", "mi300x-kfd-cpx", "rx6900xt-rdna2"):
        original, path = recorded.expand(name, tmp_path / name), tmp_path / f"{name}.machine"
        assert whirr("--sysroot", original, "doctor", "--bundle", str(path)).code == 0
        text = path.read_text()
        for secret in ("alice", "boxes", "Llama", "train.py", "--listen", "100c", "unique_id 4105", "passwd", "a1a1", "b2b2"):
            assert secret not in text, (name, secret)
        # Users that have no name are numbers, and numbers stand for other things, too.
        assert name != "container-host" or "Uid:\t4242\t4242" in text


def test_containers_are_told_apart_by_their_stand_ins(whirr, tmp_path):
    original, path = recorded.expand("container-host", tmp_path / "original"), tmp_path / "out.machine"
    assert whirr("--sysroot", original, "doctor", "--bundle", str(path)).code == 0
    again = recorded.unpack(path, tmp_path / "again")
    containers = [p["container"] for p in whirr("--sysroot", again, "ps", "--json").json()["processes"]]
    assert sorted(c.split(":")[0] for c in containers if c) == ["docker", "k8s"] and len(set(containers)) == 3, containers


def test_a_gpu_that_is_known_by_its_render_node_alone_comes_back(whirr, tmp_path):
    device = tmp_path / "host/sys/class/drm/card1/device"
    (device / "drm/renderD129").mkdir(parents=True)
    (device / "uevent").write_text("DRIVER=nouveau\nPCI_ID=10DE:1B80\nPCI_SLOT_NAME=0000:01:00.0\n")
    come_back(whirr, tmp_path, tmp_path / "host")
    assert len(status(whirr, tmp_path / "machine")) == 1


def test_the_name_of_the_host_is_in_no_file_of_the_kernel(whirr, tmp_path):
    device, path = tmp_path / "host/sys/class/drm/card1/device", tmp_path / "bundle.machine"
    (device / "drm/renderD129").mkdir(parents=True)
    (device / "uevent").write_text("DRIVER=nouveau\nPCI_ID=10DE:1B80\nPCI_SLOT_NAME=0000:01:00.0\nLABEL=secretbox\n")
    (tmp_path / "host/proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "host/proc/sys/kernel/hostname").write_text("secretbox\n")
    assert whirr("--sysroot", str(tmp_path / "host"), "doctor", "--bundle", str(path)).code == 0
    assert "LABEL=host" in path.read_text() and "secretbox" not in path.read_text()


@pytest.mark.parametrize("text,words", [
    ("sys = 1\n", "is not a machine file"),
    ("# whirr machine 1\n\nnonsense\n", "line 3: expected 'PATH = VALUE'"),
    ("# whirr machine 1\n/../../x = 1\n", "line 2: a path must not"),
])
def test_a_machine_file_that_makes_no_sense_is_refused(whirr, tmp_path, text, words):
    (tmp_path / "bad.machine").write_text(text)
    result = whirr("doctor", "--unpack", str(tmp_path / "bad.machine"), str(tmp_path / "out"))
    assert result.code == 1 and words in result.err
    assert not (tmp_path / "x").exists() and not (tmp_path.parent / "x").exists()


def test_unpacking_needs_a_file_and_an_empty_directory(whirr, tmp_path):
    good = str(recorded.FOLDER / "no-gpu.machine")
    assert whirr("doctor", "--unpack", good).code == 2
    assert whirr("doctor", "somewhere").code == 2
    result = whirr("doctor", "--unpack", str(tmp_path / "none.machine"), str(tmp_path / "out"))
    assert result.code == 1 and "cannot read" in result.err
    (tmp_path / "mine").write_text("precious")
    result = whirr("doctor", "--unpack", good, str(tmp_path))
    assert result.code == 1 and "is not empty" in result.err


@pytest.mark.parametrize("machine", ["jetson-xavier-nx", "jetson-nano-idle", "rk3588-panthor", "strix-halo-apu", "lunarlake-xe"])
def test_a_board_comes_back_from_its_bundle_with_all_of_its_readings(whirr, tmp_path, machine):
    path, first, again = tmp_path / "bundle.machine", tmp_path / "first", tmp_path / "again"
    recorded.expand(machine, first)
    assert whirr("--sysroot", str(first), "doctor", "--bundle", str(path)).code == 0
    unpack(path, again)
    readings = [[{k: v for k, v in gpu.items() if isinstance(v, (int, float))} for gpu in whirr("--sysroot", str(root), "status", "--full", "--json").json()["gpus"]] for root in (first, again)]
    assert len(readings[0]) == 1 and len(readings[0][0]) >= 9 and readings[0] == readings[1]


def test_what_still_looks_private_is_listed_and_can_be_read_before(whirr, tmp_path):
    """Text that whirr has no stand-in for: a driver's version that holds an address, a unit named after a mailbox."""
    root = pathlib.Path(recorded.expand("rx6600-navi23", tmp_path / "machine"))
    version = next(path for path in root.rglob("vbios_version"))
    version.write_text("built by carol@example.org on 10.20.30.40 in /home/carol\n")
    (tmp_path / "calm").mkdir()
    path = tmp_path / "calm.machine"
    clean = whirr("--sysroot", recorded.expand("rx580-polaris", tmp_path / "clean"), "doctor", "--bundle", path)
    assert clean.code == 0 and "URLs: none" in clean.out and path.exists()
    listed = whirr("--sysroot", root, "doctor", "--bundle", tmp_path / "odd.machine")
    assert "Check these before you send it:" in listed.out and "carol@example.org" in listed.out and re.search(r"line \d+, an? ", listed.out)
    shown = whirr("--sysroot", root, "doctor", "--bundle", "-")
    assert shown.code == 0 and shown.out == (tmp_path / "odd.machine").read_text() and sorted(tmp_path.glob("*.machine")) == [path, tmp_path / "odd.machine"]
