# SPDX-License-Identifier: Apache-2.0
"""What limits a program: the same answer by why PID, by its name, in ps, in the answer about the GPU, and from a daemon."""
import pytest

WAITS = {
    "one-thread": ("host_cpu", "computes in Python while the GPU waits (81% of its CPU time)", "DataLoader(num_workers="),
    "busy-thread": ("host_cpu", "keeps one thread busy 99% while the GPU waits", "If it prepares data there"),
    "cpu-optimizer": ("cpu_work", "computes on the CPU in 8 threads (libtorch_cpu) while the GPU waits", "Move what it computes there"),
    "allocating": ("allocation", "in the driver and the kernel, as allocating memory in every step does", "empty_cache"),
    "slow-service": ("peer", "waits for 127.0.0.1:6379 (redis.service, PID 812)", "ps -o pid,stat,%cpu,args -p 812"),
    "partly-on-cpu": ("partly_on_cpu", "on the CPU, about ", "smaller quantization"),
    "slow-loaders": ("loaders", "waits for its 2 loader processes, which can't keep up", "format"),
    "waiting-loaders": ("loaders", "waits for its 2 loader processes, which wait themselves", "prefetch_factor"),
    "slow-disk": ("disk", "reads from disk (1.2 GB/s)", "Read ahead"),
    "checkpoints": ("disk", "saves to disk (400 MB/s)", "Save less often"),
    "slow-nfs": ("network_fs", "waits for /mnt/data, a network file system", "local disk"),
    "cpu-quota": ("cpu_quota", "is held by its container's CPU quota of 1.0 cores for 70% of the time", "Raise the CPU quota"),
    "swapping": ("memory_pressure", "waits for memory of the host", "Free memory"),
    "tiny-kernels": ("launch", "launches kernels that are far too small", "CUDA graphs"),
    "compiling": ("compile", "compiles kernels (ptxas)", "Keep shapes the same"),
    "pageable-copies": ("pcie_in", "moves 20 GB/s to the GPU", "pin_memory=True"),
    "remote-node": ("numa", "copies through a NUMA node", "numactl --cpunodebind=0"),
    "no-tensor-cores": ("compute_no_tensor", "without tensor cores", "allow_tf32 = True"),
    "waiting-kernel": ("kernel_wait", "waits inside a kernel", "whirr ps"),
}


@pytest.mark.parametrize("scenario", WAITS)
def test_a_program_that_keeps_its_gpu_waiting_is_explained(whirr, scenario):
    code, words, advice = WAITS[scenario]
    source = ("--source", f"sim:scenario={scenario}", "--direct")
    answer = whirr("why", "train.py", "--json", *source).json()
    process = answer["processes"][0]
    assert process["limit"]["code"] == code and process["limit"]["share_percent"] == 100
    assert words in process["answer"] and process["evidence"]
    assert any(advice in line for line in process["suggestions"]), process["suggestions"]
    text = " ".join(whirr("why", str(process["pid"]), *source).out.split())
    assert words in text and advice in text


def test_a_gpu_that_waits_is_said_to_wait(whirr):
    text = " ".join(whirr("why", "--source", "sim:scenario=one-thread", "--direct").out.split())
    assert "GPU 0 is mostly waiting: train.py (alice, train-llama) computes in Python while the GPU waits" in text
    assert "let loader processes do that: DataLoader(num_workers=" in text
    text = " ".join(whirr("why", "--source", "sim:scenario=waiting-kernel", "--direct").out.split())
    assert "GPU 0 is busy, but not at work: train.py (alice, train-llama) waits inside a kernel." in text and "% busy, 1% at work" in text


def test_a_process_that_is_not_on_a_gpu_is_not_found(whirr):
    for asked in ("1", "no-such-program"):
        done = whirr("why", asked, "--source", "sim", "--direct")
        assert done.code == 1 and asked in done.err and not done.out


def test_ps_has_the_limit_of_every_process(whirr):
    answer = whirr("ps", "--json", "--source", "sim:scenario=slow-disk", "--direct").json()
    assert answer["processes"][0]["limit"]["code"] == "disk"
    why = whirr("why", "--json", "--source", "sim:scenario=slow-disk", "--direct").json()["gpus"][0]
    assert [(p["pid"], p["limit"]["code"]) for p in why["limits"]] == [(p["pid"], "disk") for p in answer["processes"]]


def test_status_shows_what_was_at_work_and_what_a_program_waits_for(sim):
    out = sim("waiting-kernel", "status", "--direct", COLUMNS="140").out
    assert " WORK " in out and "waits inside a kernel" in out or "WAITING" in out
    assert "waits for disk" in sim("slow-disk", "status", "--direct", COLUMNS="140").out


def test_a_stopped_program_is_called_stopped(sim):
    row = next(line for line in sim("stopped-rank", "ps").out.splitlines() if line.split()[:1] == ["0"])
    assert "  stopped  " in row and "copies" not in row, row
    assert "is stopped." in " ".join(sim("stopped-rank", "why", "--gpu", "0").out.split())
    assert "is stopped and uses nothing of the GPU but its memory" in " ".join(sim("stopped-rank", "why", row.split()[1]).out.split())
