# SPDX-License-Identifier: Apache-2.0
"""Processes of Slurm jobs and of Kubernetes pods: found by their cgroups, shown, exported, and billed."""
import json
import pathlib

import pytest
import recorded
from isolation import run_whirr
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
    daemon = start("--sysroot", root, "--interval", "0.2", "--store", store, source="auto")
    text = daemon.get("/metrics").body.decode()
    memory = [line for line in text.splitlines() if line.startswith("gpu_process_memory_bytes{")]
    assert any('process="vllm"' in line and 'container="server",pod="vllm-0",namespace="ml"' in line for line in memory), memory
    assert any('process="comfyui"' in line and 'hpc_job="4711"' in line for line in memory), memory

    def names(by):
        done = daemon.whirr("report", "--since", "-1h", "--by", by, "--fields", "name")
        return done.returncode == 0 and set(done.stdout.split())
    eventually(lambda: names("job") and {"4711", "4712"} <= names("job"), explain=daemon.log)
    assert "ml/vllm-0" in names("pod") and "ml/vllm-0/server" in names("container")
    assert "JOB" in daemon.whirr("report", "--since", "-1h").stdout
