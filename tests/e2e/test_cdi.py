# SPDX-License-Identifier: Apache-2.0
"""whirr in a container of a real podman that is given a driver by a CDI specification, as NVIDIA's toolkit writes them: the library is mounted where no loader
looks, and NVIDIA_VISIBLE_DEVICES is void. The container has whirr and its libraries, and nothing else; its podman has mounts of its own, so that nothing stays."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from isolation import BUILD, WHIRR

FAKE = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
LIBRARY = "/usr/local/nvidia/lib64/libnvidia-ml.so.1"
# crun refuses a host with both kinds of control groups: inside of these mounts there is one.
PODMAN = """mount -t tmpfs none /run && mkdir -p /run/cdi && cp "$1"/*.json /run/cdi/ || exit 9
[ ! -d /sys/fs/cgroup/unified ] || { umount -R -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; }
folder=$1; shift
exec podman --root "$folder/root" --runroot "$folder/run" --storage-driver vfs --cgroup-manager cgroupfs --events-backend file run --rm --network none \\
    --cgroups disabled --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --security-opt seccomp=unconfined "$@"
"""


def specification(name, visible):
    """One device of kind nvidia.com/gpu that mounts the driver's library."""
    mount = {"hostPath": str(FAKE), "containerPath": LIBRARY, "options": ["ro", "nosuid", "nodev", "bind"]}
    edits = {"env": [f"NVIDIA_VISIBLE_DEVICES={visible}"], "mounts": [mount]}
    return {"name": name, "containerEdits": edits}


@pytest.fixture(scope="module")
def contained():
    if not shutil.which("podman") or not shutil.which("unshare"):
        pytest.skip("podman is not installed (tools/deps test)")
    if not FAKE.exists():
        pytest.skip("the fake NVML library was not built")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wcdi", dir="/tmp"))  # short: sockets are in it
    root = folder / "rootfs"
    libraries = re.findall(r"/\S+", subprocess.run(["ldd", WHIRR], capture_output=True, text=True).stdout)
    for source, to in [(WHIRR, "/bin/whirr"), *((one, one) for one in libraries)]:
        (root / to[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / to[1:])
    for name in ("proc", "sys", "dev", "tmp", "etc", "run"):
        (root / name).mkdir(exist_ok=True)
    devices = [specification("all", "void"), specification("none", "none")]
    (folder / "nvidia.json").write_text(json.dumps({"cdiVersion": "0.3.0", "kind": "nvidia.com/gpu", "devices": devices}))
    (folder / "podman.sh").write_text(PODMAN)

    def run(*args, device=None):
        more = ["--device", f"nvidia.com/gpu={device}"] if device else []
        namespaces = "-m" if os.geteuid() == 0 else "-Urm"
        return subprocess.run(["unshare", namespaces, "sh", str(folder / "podman.sh"), str(folder), *more, "--rootfs", str(root), "/bin/whirr", *args],
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    first = run("--version")
    if first.returncode != 0 or not first.stdout.startswith("whirr"):
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"no container can be started here: {first.stderr.strip()[-200:]}")
    yield run
    shutil.rmtree(folder, ignore_errors=True)


def test_a_gpu_that_a_cdi_specification_passes_in_is_shown(contained):
    done = contained("--json", device="all")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [gpu["name"] for gpu in told["gpus"]] and {gpu["source"] for gpu in told["gpus"]} == {"nvml"}
    doctor = contained("doctor", device="all").stdout
    assert LIBRARY in doctor.replace("\n", " "), doctor


def test_none_hides_what_void_does_not(contained):
    assert json.loads(contained("--json", device="none").stdout)["gpus"] == []


def test_without_a_device_the_doctor_says_how_podman_passes_one_in(contained):
    told = json.loads(contained("doctor", "--json").stdout)
    fix, = [f["fix"] for f in told["findings"] if f["what"] == "No GPU is passed into this container."]
    assert "podman: `--device nvidia.com/gpu=all`" in fix
