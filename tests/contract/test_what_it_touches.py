# SPDX-License-Identifier: Apache-2.0
"""A host full of tripwires: whirr touches nothing of its own accord that docs/SECURITY.md does not list."""
import os
import pathlib
import random
import re
import stat

import pytest
import recorded
from isolation import BUILD, ROOT, run_whirr
from opens import Opens
from tripwires import PROPS, SGLANG, SLOTS, VLLM, script, worker
from waiting import eventually

COMMANDS = (["status"], ["why"], ["ps"], ["health"], ["doctor"])
ASLEEP = PROPS.replace("false", "true")
ROUTER = '{"role": "router", "max_instances": 4, "model_path": "none"}'
TRTLLM = '[{"iter": 1, "numActiveRequests": 1}]'

# What runs, and what it may be asked; everything else is a touch that harms: a port of a process group that gets bytes of another protocol, a
# model that is woken, loaded or kept from sleeping, a list that is emptied by each look.
HOST = [
    dict(name="vllm", args=("serve", "Qwen/Qwen3-8B", "--port", "PORT"), pages={"/metrics": VLLM}, wires=2, child=worker("VLLM::Worker_TP0"), may={"/metrics"}),
    dict(name="vllm", args=("serve", "m"), pages={"/metrics": VLLM}, child=worker("VLLM::EngineCore_DP0"), may=set()),  # its port is not the usual one
    dict(name="vllm", args=("serve", "m", "--headless", "--port", "PORT"), wires=2, child=worker("VLLM::Worker_TP1"), may=set()),
    dict(name="sglang", args=("serve", "--model-path", "m", "--port", "PORT"), pages={"/metrics": SGLANG}, wires=2, child=worker("sglang::scheduler_TP0"), may={"/metrics"}),
    dict(name="llama-server", args=("-m", "/m/x.gguf", "--port", "PORT"), pages={"/props": ASLEEP, "/slots": SLOTS}, may={"/props"}),
    dict(name="llama-server", args=("-m", "/m/x.gguf", "--sleep-idle-seconds", "60", "--port", "PORT"), pages={"/props": PROPS, "/slots": SLOTS}, may=set()),
    dict(name="llama-server", args=("--models-dir", "/m", "--port", "PORT"), pages={"/props": ROUTER, "/slots": SLOTS}, may={"/props"}),
    dict(name="llama-swap", args=("--listen", ":PORT"), pages={"/running": '{"running": []}', "/metrics": VLLM}, child=worker("llama-server"), may=set()),
    dict(name="trtllm-serve", args=("m", "--port", "PORT"), pages={"/metrics": TRTLLM, "/prometheus/metrics": "trtllm_num_requests_running 1\n"}, may={"/prometheus/metrics"}),
    dict(name="torchrun", args=("--nproc-per-node=2", "train.py"), port=False, wires=2, child=worker("train.py"), may=set()),
]


@pytest.mark.slow
def test_no_server_or_worker_is_asked_what_could_harm_it(nvml, server, tmp_path):
    host = [dict(one, found=server(one["name"], *one["args"], pages=one.get("pages"), wires=one.get("wires", 0), child=one.get("child"), port=one.get("port", True)))
            for one in HOST]
    driver = script(*(one["found"][0] for one in host))
    d = nvml(driver, "--interval", "0.5")
    for command in COMMANDS:
        for where in ([], ["--direct"] if command != ["doctor"] else []):
            done = run_whirr(*command, *where, folder=tmp_path / "commands", WHIRR_SERVER_SOCKET=d.sock, WHIRR_SAMPLING_SOURCES="nvml", WHIRR_FAKE_NVML=str(tmp_path / "script"),
                             WHIRR_NVML_LIBRARY=str(BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"))
            assert done.returncode in (0, 1), done.stderr
    # Twice around: what may be asked was asked again.
    eventually(lambda: all(one["found"][1]().count(page) > 1 for one in host for page in one["may"]), explain=lambda: [one["found"][1]() for one in host])
    for one in host:
        assert set(one["found"][1]()) <= one["may"], (one["name"], one["args"], one["found"][1]())


def sampled_again(d):
    """Several intervals of a tenth of a second."""
    def tenth():
        return (d.json("/api/health")["gpu_monitoring"]["last_sample_at"] or "")[:21]
    first = eventually(tenth)
    eventually(lambda: tenth() > first)
    second = tenth()
    eventually(lambda: tenth() > second)


# ---- a GPU that the kernel has suspended ----

# Kept by the kernel: reading it neither needs nor wakes the device.
IDENTITY = {"uevent", "revision", "vendor", "device", "subsystem_vendor", "subsystem_device", "class", "numa_node", "dev", "runtime_status", "control",
            "mem_info_vram_total", "mem_info_vram_used", "mem_info_vis_vram_total", "mem_info_vis_vram_used", "mem_info_gtt_total", "mem_info_gtt_used"}


def suspend(root):
    """All GPUs of a recorded host sleep, and a process holds each of them; the directories of their devices."""
    places = []
    for i, card in enumerate(sorted(p for p in (root / "sys/class/drm").iterdir() if re.fullmatch(r"card\d+", p.name))):
        device = (card / "device").resolve()
        (device / "power").mkdir(exist_ok=True)
        (device / "power/runtime_status").write_text("suspended\n")
        holder = root / "proc" / str(7000 + i)
        (holder / "fd").mkdir(parents=True)
        (holder / "fdinfo").mkdir()
        (holder / "stat").write_text(f"{7000 + i} (game) S 1 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 880000 0 100 0\n")
        os.symlink(f"/dev/dri/{card.name}", holder / "fd/5")
        (holder / "fdinfo/5").write_text("pos:\t0\n")
        places.append(device)
    return places


@pytest.mark.parametrize("machine", ["laptop-rx6700m-0rpm", "arc-a380-xe", "arc-a380-i915", "hd7870-si-radeon"])
def test_a_suspended_gpu_is_not_touched_beyond_its_identity(start, tmp_path, machine):
    root = pathlib.Path(recorded.expand(machine, tmp_path / "machine"))
    places, opens = suspend(root), Opens(root)
    for command in (*COMMANDS, ["status", "--full", "--json"], ["why", "--idle"]):
        assert run_whirr(*command, "--sysroot", root).returncode in (0, 1)
    d = start("--interval", "0.1", "--sysroot", root, source=None)
    sampled_again(d)
    touched = {path for path in opens.take() if any(place in (root / path).resolve().parents for place in places)}
    opens.close()
    assert touched and {pathlib.Path(path).name for path in touched} <= IDENTITY, touched


def test_nvidias_program_is_not_run_for_a_suspended_gpu(start, tmp_path):
    device = tmp_path / "machine/sys/bus/pci/devices/0000:01:00.0"
    (device / "power").mkdir(parents=True)
    for name, text in (("vendor", "0x10de"), ("class", "0x030000"), ("device", "0x2520"), ("power/runtime_status", "suspended")):
        (device / name).write_text(text + "\n")
    ran, program = tmp_path / "ran", tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho $* >> {ran}\nexit 1\n")
    program.chmod(0o755)
    for command in COMMANDS:
        run_whirr(*command, "--sysroot", tmp_path / "machine", WHIRR_NVIDIA_SMI=str(program))
    d = start("--interval", "0.1", "--sysroot", tmp_path / "machine", source=None, WHIRR_NVIDIA_SMI=str(program))
    sampled_again(d)
    assert [g["state"] for g in d.json("/api/gpu/metrics")["gpus"]] == ["asleep"] and not ran.exists()


# ---- files that are none ----

def make_pipe(file, keep):
    """In its place a pipe: without a writer, or with one that never writes. To open the first, or to read the second, would wait for ever."""
    file.unlink()
    os.mkfifo(file)
    if keep:
        return os.open(file, os.O_RDWR | os.O_NONBLOCK)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["laptop-rx6700m-0rpm", "drm-clients", "arc-a380-xe", "container-host"])
def test_no_pipe_in_the_place_of_a_file_is_waited_for(tmp_path, machine):
    root = pathlib.Path(recorded.expand(machine, tmp_path / "machine"))
    opens = Opens(root)
    for command in COMMANDS:
        run_whirr(*command, "--sysroot", root)
    read = sorted(path for path in opens.take() if stat.S_ISREG((root / path).lstat().st_mode))
    opens.close()
    dice = random.Random(4711)
    dice.shuffle(read)
    for begin in range(0, len(read), 16):  # a few at a time: without all of them nothing would be found
        some = [(root / path, (root / path).read_bytes()) for path in read[begin:begin + 16]]
        held = [make_pipe(file, dice.random() < 0.5) for file, _ in some]
        for command in COMMANDS:
            done = run_whirr(*command, "--sysroot", root, timeout=20)
            assert done.returncode in (0, 1, 2, 3) and not re.search(r"answer(ed)? (for|within)|\bhung\b", done.stdout + done.stderr), (command, some, done.stdout, done.stderr)
        for fd in held:
            if fd is not None:
                os.close(fd)
        for file, content in some:
            file.unlink()
            file.write_bytes(content)


# ---- all that is touched, against the list ----

LIBRARY = BUILD / "tests" / "fakes" / "faults" / "libtouches.so"


NEVER = re.compile(r"/sys/.*/(config|rom|resource\d*(_wc)?|reset|remove|rescan|new_id|bind|unbind)")


def section(heading):
    return re.search(rf"\n### {re.escape(heading)}\n(.*?)(?=\n##)", (ROOT / "docs" / "SECURITY.md").read_text(), re.S)[1]


def paths(heading):
    """Patterns: words in capitals stand for a number or a part of a path, an ellipsis for all that is below."""
    def put(word):
        return {"PID": r"\d+", "UID": r"\d+", "N": r"\d+", "ADDRESS": r"[\da-f:.]+"}.get(word[0], r"[-+@:.\w]+")
    return [re.sub(r"\b[A-Z]+\b", put, re.escape(path)).replace(re.escape("..."), ".*") for path in re.findall(r"`(/[^` ]*)`", section(heading))]


def is_listed(path, patterns):
    """Itself, or as a directory on the way to what is listed."""
    ways = ("/".join(parts[:i]) for parts in (p.split("/") for p in patterns) for i in range(2, len(parts) + 1))
    return not NEVER.fullmatch(path) and any(re.fullmatch(way, path) for way in ways)


def unlisted(log, folder, root=""):
    """Touches that no table has. What is below the test's own directory is whirr's own; on a recorded host it is that host's."""
    programs = set(re.findall(r"`([a-z-]+)`", section("Programs and signals")))
    tables = {"read": paths("Files it reads"), "write": [], "connect": paths("Requests"), "signal": []}
    for kind, what in sorted({tuple(line.split(" ", 1)) for line in log.read_text().splitlines()}):
        recorded_one = root and what.startswith(root)
        path = (what[len(root):] if recorded_one else what.removeprefix("unix:")).rstrip("/")
        own = not recorded_one and str(folder) in what
        if not own and not (pathlib.Path(what).name in programs if kind == "run" else is_listed(path, tables[kind])):
            yield f"{kind} {what}"


@pytest.mark.slow
@pytest.mark.skipif(not LIBRARY.exists(), reason="libtouches was not built")
@pytest.mark.parametrize("machine", [None, "laptop-rx6700m-0rpm", "drm-clients", "arc-a380-xe", "mi300x-kfd-cpx", "container-host", "steamdeck-vangogh"])
def test_every_touch_is_in_the_tables_of_the_documentation(start, tmp_path, machine):
    """Of this host, or of a recorded one."""
    log, root = tmp_path / "touches", recorded.expand(machine, tmp_path / "machine") if machine else ""
    where = ["--sysroot", root] if machine else []
    seen = {"LD_PRELOAD": str(LIBRARY), "WHIRR_TOUCHES": str(log), "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
    for command in (*COMMANDS, ["status", "--full", "--json"], ["why", "--idle"], ["resources", "--json"]):
        assert run_whirr(*command, *where, folder=tmp_path / "home", **seen).returncode in (0, 1, 2, 3)
    d = start("--interval", "0.1", *where, source=None, **seen)
    sampled_again(d)
    d.stop()
    assert log.read_text()
    assert list(unlisted(log, tmp_path, root)) == []
