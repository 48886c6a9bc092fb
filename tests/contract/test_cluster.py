# SPDX-License-Identifier: Apache-2.0
"""Processes of Slurm jobs and of Kubernetes pods: found by their cgroups, shown, exported, and billed."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
import recorded
from isolation import ROOT, run_whirr
from waiting import eventually

POD = "/var/log/containers/vllm-0_ml_server-" + "b2" * 32 + ".log"


@pytest.fixture
def root(tmp_path):
    """python3 runs in Docker for job 4712, vllm in a pod, comfyui in job 4711 as somebody whom this host has no name for."""
    root = pathlib.Path(recorded.expand("container-host", tmp_path / "machine"))
    (root / "proc/4101/environ").write_bytes(b"HOME=/root\0SLURM_JOB_ID=4712\0SLURM_JOB_USER=mallory\0")
    (root / "proc/4404/environ").write_bytes(b"SLURM_JOB_USER=carol\0")
    (root / "proc/4404/cgroup").write_text("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n")
    log = root / POD[1:]
    log.parent.mkdir(parents=True)
    log.touch()
    return root


def test_processes_are_added_up_by_job_and_pod(root):
    def ps(*args):
        return run_whirr("ps", "--sysroot", root, *args)
    rows = json.loads(ps("--json").stdout)["processes"]
    assert {(p["name"], p["user"], p["job"], p["container_name"]) for p in rows} == {
        ("python3", "alice", "4712", None), ("vllm", "root", None, "ml/vllm-0/server"), ("Xorg", "root", None, None), ("comfyui", "carol", "4711", "4711")}
    jobs = {j["job"]: j["memory_mb"] for j in json.loads(ps("--by", "job", "--json").stdout)["jobs"]}
    assert jobs == {"4712": 15872, "4711": 512, None: 8192 + 128}
    pods = ps("--by", "pod").stdout.splitlines()
    assert pods[0].split()[:3] == ["POD", "VRAM", "GiB"]
    assert next(line.split()[:2] for line in pods if line.startswith("ml/vllm-0")) == ["ml/vllm-0", "8.0"]
    assert ps("--by", "nothing").returncode == 2


def test_jobs_and_pods_are_labels_and_have_a_bill(start, root, tmp_path):
    store = f"sqlite:{tmp_path}/history.db"
    daemon = start("--sysroot", root, "--interval", "0.2", "--store", store, source="auto", sampled=True)
    text = daemon.get("/metrics").body.decode()
    memory = [line for line in text.splitlines() if line.startswith("gpu_process_memory_bytes{")]
    assert any('process="vllm"' in line and 'container="server",pod="vllm-0",namespace="ml"' in line for line in memory), memory
    assert any('process="comfyui"' in line and 'hpc_job="4711"' in line for line in memory), memory

    def names(by):
        done = daemon.whirr("report", "--since", "-1h", "--by", by, "--fields", "name")
        return set(done.stdout.split()) if done.returncode == 0 else set()
    eventually(lambda: {"4711", "4712"} <= names("job"), explain=daemon.log)
    eventually(lambda: "ml/vllm-0" in names("pod") and "ml/vllm-0/server" in names("container"), explain=daemon.log)
    assert "JOB" in daemon.whirr("report", "--since", "-1h").stdout


def stat_of(pid, comm, parent):
    return f"{pid} ({comm}) S {parent} 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 9 0 77 1000000 2048 0 " + "0 " * 30 + "\n"


def test_what_one_launcher_has_started_is_a_job_with_ranks(start, root, tmp_path):
    """python3 and comfyui are children of a torchrun; only python3's environment can be read."""
    (root / "proc/900").mkdir()
    (root / "proc/900/stat").write_text(stat_of(900, "torchrun", 1))
    (root / "proc/900/cmdline").write_bytes(b"/usr/bin/python3\0/usr/bin/torchrun\0--nproc-per-node=2\0train.py\0")
    (root / "proc/4404/cgroup").write_text("0::/user.slice/user-1000.slice/session-3.scope\n")
    (root / "proc/4101/environ").write_bytes(b"RANK=1\0WORLD_SIZE=2\0LOCAL_WORLD_SIZE=2\0TORCHELASTIC_RUN_ID=none\0")
    for pid, comm in ((4101, "python3"), (4404, "comfyui")):
        (root / f"proc/{pid}/stat").write_text(stat_of(pid, comm, 900))
    rows = json.loads(run_whirr("ps", "--sysroot", root, "--json").stdout)["processes"]
    assert {(p["name"], p["job"], p["rank"], p["world_size"]) for p in rows if p["job"]} == {
        ("python3", "torchrun:900", 1, 2), ("comfyui", "torchrun:900", None, None)}
    table = run_whirr("ps", "--sysroot", root, "--sort", "job").stdout.splitlines()
    assert {"JOB", "RANK"} <= set(table[0].split()) and {"torchrun:900", "1/2"} <= set(table[1].split())
    jobs = json.loads(run_whirr("ps", "--sysroot", root, "--by", "job", "--json").stdout)["jobs"]
    assert "torchrun:900" in [j["job"] for j in jobs]
    daemon = start("--sysroot", root, "--interval", "0.2", "--store", f"sqlite:{tmp_path}/history.db", source="auto", sampled=True)
    assert 'hpc_job="torchrun:900"' in daemon.get("/metrics").body.decode()
    asked = [p for p in daemon.get("/api/processes").json()["processes"] if p["job"]]
    assert {p["rank"] for p in asked} == {1, None}
    bill = lambda: daemon.whirr("report", "--since", "-1h", "--by", "job", "--fields", "name").stdout.split()
    eventually(lambda: "torchrun:900" in bill(), explain=daemon.log)


# ---- the kubelet: a stand-in that speaks HTTP/2 and gRPC ----

def field(number, data):
    """A field of bytes of a protobuf message."""
    def varint(value):
        out = b""
        while value >= 0x80:
            out += bytes([value & 0x7f | 0x80])
            value >>= 7
        return out + bytes([value])
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def pods(*list_of):
    """(namespace, pod, container, resource, devices): a ListPodResourcesResponse. Behind each name stands what a newer kubelet adds."""
    return b"".join(field(1, field(1, pod) + field(2, space) + field(3, field(1, container) + b"\x18\x07" + field(
        2, field(1, resource) + b"".join(field(2, d) for d in devices) + field(3, b"\x0a\x00"))) + field(9, "new")) for space, pod, container, resource, devices in list_of)


def claims(*list_of):
    """(namespace, pod, container, driver, device, CDI name): the same for devices of resource claims (DRA)."""
    return b"".join(field(1, field(1, pod) + field(2, space) + field(3, field(1, container) + field(5, field(2, "one-gpu") + field(3, space) + field(
        4, field(1, field(1, cdi)) + field(2, driver) + field(3, "node-7") + field(4, device))))) for space, pod, container, driver, device, cdi in list_of)


class Kubelet:
    def __init__(self, root):
        self.socket, self.answer = root / "var/lib/kubelet/pod-resources/kubelet.sock", root / "answer"
        self.socket.parent.mkdir(parents=True)
        self.answer.write_bytes(pods())
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["node", ROOT / "tests/fakes/kubelet/kubelet.mjs", self.socket, self.answer], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.process = None


@pytest.fixture
def kubelet():
    """The host of container-host.machine with a kubelet; its path is short, because that of a socket has at most 107 bytes."""
    if not shutil.which("node"):
        pytest.skip("no node (tools/deps test)")
    with tempfile.TemporaryDirectory(prefix="whirr-k-") as folder:
        host = Kubelet(pathlib.Path(recorded.expand("container-host", pathlib.Path(folder) / "m")))
        host.root = pathlib.Path(folder) / "m"
        yield host
        host.stop()


def check_pods(daemon):
    """vllm-0 has GPU 1 and works on it, idle-0 has GPU 0."""
    named = 'container="server",pod="vllm-0",namespace="ml"'

    def scraped():
        """In one scrape: a kubelet that is asked again may be slow, and is then said to be."""
        lines = daemon.get("/metrics").body.decode().splitlines()
        info = [line for line in lines if line.startswith("gpu_pod_info{")]
        up = [line.split()[-1] for line in lines if line.startswith("whirr_kubelet_up{")] == ["1"]
        return up and any(named in line for line in lines if line.startswith("gpu_process_memory_bytes{")) and info
    info = eventually(scraped, explain=daemon.log)
    assert len(info) == 2 and any('gpu="0"' in line and 'pod="idle-0"' in line for line in info) and any('gpu="1"' in line and named in line for line in info), info


def test_the_kubelet_says_which_pods_have_gpus(start, kubelet):
    """Pods are series whether they use their GPU or not; a process is named where its own pod has the GPU it is on, and only there."""
    kubelet.answer.write_bytes(pods(
        ("ml", "vllm-0", "server", "amd.com/gpu", ["0000:63:00.0", "0000:63:00.0::1"]), ("ml", "idle-0", "main", "amd.com/gpu", ["0000:03:00.0"]),
        ("net", "proxy", "main", "example.com/nic", ["0000:03:00.0"])))
    (kubelet.root / "proc/4202/environ").write_bytes(b"PATH=/bin\0HOSTNAME=vllm-0\0")
    kubelet.start()
    daemon = start("--sysroot", kubelet.root, "--interval", "0.2", source="auto", sampled=True)

    check_pods(daemon)

    def process():
        found = next(p for p in daemon.json("/api/processes")["processes"] if p["name"] == "vllm")
        return found["container_name"] == "ml/vllm-0/server" and "container_name" not in found["absent"]
    eventually(process, explain=daemon.log)


def test_devices_of_claims_and_files_have_pods_too(start, kubelet):
    """Dynamic resource allocation names a device by its address; a device plugin may name it by its file."""
    kubelet.answer.write_bytes(claims(("ml", "vllm-0", "server", "gpu.amd.com", "0000-63-00-0-0x744c", "amd.com/gpu=0000-63-00-0-0x744c")) +
                               pods(("ml", "idle-0", "main", "gpu.intel.com/xe", ["card0-1"])))
    (kubelet.root / "proc/4202/environ").write_bytes(b"HOSTNAME=vllm-0\0")
    kubelet.start()
    daemon = start("--sysroot", kubelet.root, "--interval", "0.2", source="auto", sampled=True)
    check_pods(daemon)


def test_a_pod_without_the_gpu_is_not_taken_for_the_one_that_has_it(start, kubelet):
    kubelet.answer.write_bytes(pods(("ml", "train-7", "main", "amd.com/gpu", ["0000:63:00.0"])))
    (kubelet.root / "proc/4202/environ").write_bytes(b"HOSTNAME=vllm-0\0")
    kubelet.start()
    daemon = start("--sysroot", kubelet.root, "--interval", "0.2", source="auto", sampled=True)
    eventually(lambda: b'pod="train-7"' in daemon.get("/metrics").body, explain=daemon.log)
    assert next(p for p in daemon.json("/api/processes")["processes"] if p["name"] == "vllm")["container_name"] is None


def test_a_kubelet_that_refuses_is_seen(start, kubelet):
    kubelet.answer.write_text("refuse")
    kubelet.start()
    daemon = start("--sysroot", kubelet.root, "--interval", "0.2", source="auto", sampled=True)
    daemon.wait_log("the kubelet does not say which pods have GPUs.*gRPC status 8: rate limit")
    eventually(lambda: re.search(rb"^whirr_kubelet_up{.*} 0$", daemon.get("/metrics").body, re.MULTILINE), explain=daemon.log)
