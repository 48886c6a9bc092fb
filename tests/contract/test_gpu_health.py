# SPDX-License-Identifier: Apache-2.0
"""The health of the GPUs as the daemon knows it: with the kernel's log, over restarts and boots, told to everybody who should hear."""
import contextlib
import json
import os
import re
import sqlite3
import time

import pytest
import shapes
from conftest import BUILD, Daemon, eventually

XID = "NVRM: Xid (PCI:0000:05:00): {code}, pid=4242, name=python3, Ch 00000008"
CARD = "gpu NVIDIA H200\n  profile h200\n  pci 0000:05:00.0\n"
FINDING = {"check": str, "code": str, "state": str, "xid": shapes.Null(int), "reason": str, "action": str, "since": shapes.Null(shapes.TIME)}
VERDICT = {"gpu_index": int, "gpu_name": shapes.Null(str), "gpu_uuid": shapes.Null(str), "pci_address": shapes.Null(str), "simulated": bool,
           "state": str, "reason": str, "action": str, "since": shapes.Null(shapes.TIME), "findings": [FINDING],
           "usual": shapes.Null(shapes.USUAL)}
HEALTH = {"timestamp": shapes.Null(shapes.TIME), "state": str, "remembered": bool, "watched_since": shapes.Null(shapes.TIME),
          "kernel_log": {"state": str, "message": shapes.Null(str)}, "gpus": [VERDICT]}


class Machine:
    """A recorded machine whose kernel goes on logging, with a card behind a fake driver."""

    def __init__(self, folder, library):
        self.root, self.folder, self.library, self.daemons = folder / "machine", folder / "home", library, []
        for name in ("proc/sys/kernel/random", "dev"):
            (self.root / name).mkdir(parents=True)
        (self.folder / "config").mkdir(parents=True)
        (self.root / "proc/stat").write_text(f"cpu  1 0 1 8 0 0 0 0 0 0\nbtime {int(time.time()) - 3600}\n")
        (self.root / "dev/kmsg").write_text("")
        self.boot(1)
        self.card()

    def card(self, text=""):
        new = self.root / "script.new"
        new.write_text(CARD + text)
        os.rename(new, self.root / "script")

    def boot(self, number):
        (self.root / "proc/sys/kernel/random/boot_id").write_text(f"{number:08}-1111-1111-1111-111111111111\n")

    def log(self, second, text):
        with open(self.root / "dev/kmsg", "a") as f:
            f.write(f"4,1,{second * 1000000},-;{text}\n SUBSYSTEM=pci\n")

    def start(self, *args):
        env = {"WHIRR_NVML_LIBRARY": str(self.library), "WHIRR_FAKE_NVML": str(self.root / "script")}
        d = Daemon(self.folder, ["--sysroot", str(self.root), "--source", "nvml", "--interval", "0.1", "--listen", "127.0.0.1:0", *args], env)
        self.daemons.append(d)
        eventually(lambda: d.json("/api/gpu/health")["gpus"], explain=d.log)
        return d


@pytest.fixture
def machine(tmp_path):
    library = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
    if not library.exists():
        pytest.skip("the fake NVML library was not built")
    m = Machine(tmp_path, library)
    yield m
    for d in m.daemons:
        d.stop()


def state(d):
    return d.json("/api/gpu/health")["gpus"][0]["state"]


def test_the_shape_and_one_gpu_alone(daemon):
    body = eventually(lambda: (b := daemon.json("/api/gpu/health"))["gpus"] and b)
    shapes.check(body, HEALTH)
    assert body["remembered"] is True and body["kernel_log"]["state"] == "skipped" and len(body["gpus"]) == 2
    assert [g["gpu_index"] for g in daemon.json("/api/gpu/health?gpu=1")["gpus"]] == [1]
    assert daemon.get("/api/gpu/health?gpu=9").status == 404
    text = daemon.whirr("health")
    assert text.returncode == 0 and "SIMULATED" in text.stdout and "single look" not in text.stdout
    shapes.check(json.loads(daemon.whirr("health", "--json").stdout), HEALTH)
    assert daemon.whirr("health", "--nagios").stdout.startswith("GPU HEALTH ")


def test_an_error_in_the_kernels_log_reaches_every_surface(machine, node):
    file = machine.folder / "history.db"
    d = machine.start("--store", f"sqlite:{file}")
    assert state(d) == "healthy" and re.search(r'state="healthy",host="[^"]+"\} 1$', d.get("/metrics").body.decode(), re.M)
    with node("ws.mjs", f"ws://127.0.0.1:{d.port}/ws") as client:
        client.wait("gpu_status")
        machine.log(3590, XID.format(code=95))
        told = client.wait("gpu_health")[0]
    assert (told["state"], told["before"], told["gpu_index"]) == ("failing", "healthy", 0) and "XID 95" in told["reason"]
    verdict = d.json("/api/gpu/health")["gpus"][0]
    assert verdict["findings"][0]["xid"] == 95 and "reset" in verdict["action"].lower()
    metrics = [line for line in d.get("/metrics").body.decode().splitlines() if line.startswith("whirr_gpu_health{")]
    assert len(metrics) == 6 and [line for line in metrics if line.endswith(" 1")] == [line for line in metrics if 'state="failing"' in line]
    d.wait_log("health of a GPU changed.*failing")

    def stored():
        with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:  # no table yet
            return db.execute("SELECT severity, text FROM events WHERE kind = 'health'").fetchall()

    (severity, text), = eventually(stored)
    assert severity == "critical" and text.startswith("GPU 0 is failing: XID 95")


def test_what_is_known_survives_a_restart_and_a_boot_resets(machine):
    machine.log(2000, XID.format(code=95))
    machine.log(3000, XID.format(code=95))
    first = machine.start()
    eventually(lambda: "2 times" in first.json("/api/gpu/health")["gpus"][0]["reason"], explain=first.log)
    assert state(first) == "failing"
    first.stop()
    again = machine.start()
    body = again.json("/api/gpu/health")["gpus"][0]
    # The same lines of the log are no further errors.
    assert body["state"] == "failing" and "2 times" in body["reason"]
    again.stop()
    # Another boot: its log is a new one, and the card was reset.
    machine.boot(2)
    (machine.root / "dev/kmsg").write_text("")
    after = machine.start()
    assert state(after) == "healthy"
    # The same fault again after a reset is worse: the advice is to have the card replaced.
    machine.log(100, XID.format(code=95))
    eventually(lambda: state(after) == "failing")
    assert "replaced" in after.json("/api/gpu/health")["gpus"][0]["action"]


def test_a_card_that_is_gone_after_a_restart_is_lost(machine):
    machine.card(text="gpu NVIDIA H200\n  profile h200\n  pci 0000:06:00.0\n")
    first = machine.start()
    assert len(first.json("/api/gpu/health")["gpus"]) == 2
    first.stop()
    machine.card()
    d = machine.start()
    eventually(lambda: "GPU 1 is lost" in d.get("/api/alerts").body.decode(), explain=d.log)
    body = d.json("/api/gpu/health")
    assert [g["state"] for g in body["gpus"]] == ["healthy", "lost"] and body["gpus"][1]["pci_address"] == "0000:06:00.0"


def test_a_damaged_memory_is_moved_aside(machine):
    (machine.folder / "whirr").mkdir()
    (machine.folder / "whirr/health.json").write_text('{"version": 1, "cards": [')
    d = machine.start()
    assert state(d) == "healthy" and d.wait_log("starting over")
    assert (machine.folder / "whirr/health.json.damaged").exists()
    d.stop()
    kept = json.loads((machine.folder / "whirr/health.json").read_text())
    assert kept["cards"][0]["pci_address"] == "0000:05:00.0"
    assert (machine.folder / "whirr/health.json").stat().st_mode & 0o777 == 0o600
