# SPDX-License-Identifier: Apache-2.0
"""GPUs that a host should have and no driver shows: critical everywhere, and said as what it is."""
import json
import os

import pytest
from conftest import BUILD, Daemon, eventually
from isolation import linux_only, run_whirr

pytestmark = linux_only("the PCI bus is one of Linux")
LIBRARY = BUILD / "tests" / "fakes" / "nvml" / "libnvidia-ml-fake.so"
TOOLS = ["ps", "status", "health"]
FOUR = "".join(f"gpu NVIDIA H200\n  profile h200\n  pci 0000:0{n}:00.0\n" for n in range(1, 5))


class Host:
    """A recorded host with a PCI bus, and a fake driver."""

    def __init__(self, folder):
        self.root, self.home, self.daemons = folder / "machine", folder / "home", []
        for name in ("proc/sys/kernel/random", "sys/class/drm", "sys/bus/pci/devices", "dev"):
            (self.root / name).mkdir(parents=True)
        (self.home / "config").mkdir(parents=True)
        (self.root / "proc/sys/kernel/random/boot_id").write_text("00000001-1111-1111-1111-111111111111\n")
        self.plug("0000:00:1f.0", vendor="0x1a03", driver="ast", boot_vga="1")  # the screen of a server's board
        self.environment = {"WHIRR_NVML_LIBRARY": str(LIBRARY), "WHIRR_FAKE_NVML": str(self.root / "script")}
        self.script(FOUR)

    def script(self, text):
        new = self.root / "script.new"
        new.write_text(text)
        os.rename(new, self.root / "script")

    def plug(self, address, driver="nvidia", vendor="0x10de", boot_vga="0"):
        device = self.root / "sys/bus/pci/devices" / address
        device.mkdir()
        for name, text in (("class", "0x030200"), ("vendor", vendor), ("device", "0x2335"), ("boot_vga", boot_vga)):
            (device / name).write_text(text + "\n")
        if driver:
            (device / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")

    def start(self):
        d = Daemon(self.home, ["--sysroot", str(self.root), "--interval", "0.1", "--listen", "127.0.0.1:0", "--store", "none"], self.environment)
        self.daemons.append(d)
        eventually(lambda: d.json("/api/health")["gpu_monitoring"]["last_sample_at"], explain=d.log)
        return d

    def ask(self, *args):
        done = run_whirr("--sysroot", self.root, *args, folder=self.home, **self.environment)
        return done.returncode, done.stdout


@pytest.fixture
def host(tmp_path):
    if not LIBRARY.exists():
        pytest.skip("the fake NVML library was not built")
    h = Host(tmp_path)
    yield h
    for d in h.daemons:
        d.stop()


WAYS = {
    "library": ({"WHIRR_NVML_LIBRARY": "libnvidia-ml-not-here.so"}, "", "libnvidia-ml-not-here.so"),
    "mismatch": ({}, "fail nvmlInit_v2 18\n", "different versions"),
    "driver": ({}, "fail nvmlInit_v2 9\n", "not loaded"),
    "off the bus": ({}, "", "no longer on the PCI bus"),
}


@pytest.mark.parametrize("way", WAYS)
def test_all_gpus_gone_after_a_restart_is_critical_on_every_surface(host, way):
    for n in range(1, 5):
        host.plug(f"0000:0{n}:00.0")
    first = host.start()
    eventually(lambda: len(first.json("/api/gpu/devices")["devices"]) == 4, explain=first.log)
    first.stop()
    environment, script, words = WAYS[way]
    host.environment.update(environment)
    host.script(script or "driver 580.1\n")
    if way == "off the bus":
        for n in range(1, 5):
            os.rename(host.root / "sys/bus/pci/devices" / f"0000:0{n}:00.0", host.root / f"gone{n}")
    d = host.start()
    devices = eventually(lambda: d.json("/api/gpu/devices")["devices"], explain=d.log)
    assert [x["is_available"] for x in devices] == [False] * 4 and words in devices[0]["error_message"], devices
    why = d.json("/api/why")
    assert (why["severity"], why["calm"]) == ("critical", None) and words in why["answer"], why["answer"]
    metrics = d.get("/metrics").body.decode()
    assert len([line for line in metrics.splitlines() if line.startswith("whirr_finding{") and 'severity="critical"' in line]) == 4, metrics
    assert len([line for line in metrics.splitlines() if line.startswith("whirr_severity{") and line.endswith(" 3")]) >= 4, metrics
    assert {g["state"] for g in d.json("/api/gpu/health")["gpus"]} <= {"failing", "lost"}
    for command, code in ((("why",), 1), (("health",), 2), (("node-health",), 1), (("status",), 0), (("--line",), 0)):
        done = d.whirr(*command)
        assert done.returncode == code and "No GPU was found" not in done.stdout, (command, done.returncode, done.stdout)
        assert "▲" in done.stdout or command[0] in ("health", "node-health"), done.stdout


def test_gpus_on_the_bus_without_a_driver_are_not_no_gpu(host):
    """No daemon ever ran here: the bus is the only witness."""
    host.environment["WHIRR_NVML_LIBRARY"] = "libnvidia-ml-not-here.so"
    host.plug("0000:01:00.0", driver=None)
    code, text = host.ask("why", "--json")
    body = json.loads(text)
    assert (code, body["severity"], body["calm"]) == (1, "critical", None) and "(nvidia) is not loaded" in body["answer"], body["answer"]
    assert host.ask("health")[0] == 2 and host.ask("node-health")[0] == 1


@pytest.mark.parametrize("plugged", [(), (("0000:01:00.0", "vfio-pci", "0x10de", "0"),), (("0000:07:00.0", None, "0x1002", "1"),)],
                         ids=["nothing", "of a virtual machine", "graphics of a board"])
def test_a_host_without_a_gpu_of_its_own_stays_calm(host, plugged):
    host.environment["WHIRR_NVML_LIBRARY"] = "libnvidia-ml-not-here.so"
    for address, driver, vendor, boot_vga in plugged:
        host.plug(address, driver, vendor, boot_vga)
    code, text = host.ask("why", "--json")
    body = json.loads(text)
    assert (code, body["severity"], body["gpus"]) == (0, "info", []), body
    assert "No GPU was found" in host.ask("status")[1] and host.ask("health")[0] == 3


def test_lists_that_could_not_be_looked_at_are_not_empty_lists(host):
    """Four states that an empty list alone does not tell apart."""
    def processes(script, **environment):
        host.script(script)
        host.environment.update(environment)
        return json.loads(host.ask("ps", "--json")[1])

    nothing = processes("gpu NVIDIA H200\n  profile h200\n")
    assert (nothing["processes"], nothing["absent"], nothing["not_listed"]) == ([], {}, []) and nothing["answer"] == "No process is using a GPU."
    fails = processes("gpu NVIDIA H200\n  profile h200\n  fail * 999\n")
    assert fails["absent"] == {"processes": "failed"} and "could not be looked at" in fails["answer"], fails
    assert [g["gpu_index"] for g in fails["not_listed"]] == [0]
    denied = processes("gpu NVIDIA H200\n  profile h200\n  " + "\n  ".join(
        f"fail nvmlDeviceGet{kind}RunningProcesses{version} 4" for kind in ("Compute", "Graphics", "MPSCompute") for version in ("", "_v2", "_v3")) + "\n")
    assert denied["absent"] == {"processes": "denied"} and "denied" in denied["answer"], denied
    no_gpu = processes("driver 580.1\n", WHIRR_NVML_LIBRARY="libnvidia-ml-not-here.so")
    assert (no_gpu["processes"], no_gpu["absent"]) == ([], {}) and "No GPU was found" in no_gpu["answer"], no_gpu


def test_memory_that_nobody_visible_holds_is_told_by_all_who_list_processes(start, tmp_path):
    """Not seen is not the same as not there: why, ps, top, the API and the plain page have one sentence for it."""
    args = ("--source", "sim:scenario=vram-unowned,gpus=1,start=500")
    sentence = "GPU 0: 20.5 GiB of its memory is in use and no visible process holds it."
    say = {command: " ".join(run_whirr(*args, *command.split(), folder=tmp_path).stdout.split()) for command in ("why", "ps", "ps --json", "top --once")}
    d = start(source=args[1])
    say["API"], say["page"] = d.get("/api/processes").body.decode(), d.get("/plain").body.decode()
    assert all(sentence in words for words in say.values()), say
    assert all("No process" not in words for words in say.values()), say
    quiet = run_whirr("--source", "sim:scenario=idle,gpus=1", "ps", folder=tmp_path).stdout
    assert quiet == "SIMULATED\nNo process is using a GPU.\n", "and where nothing is, all say that, too"


def test_assistants_read_what_could_not_be_looked_at(host, tmp_path):
    """The same four states as texts of MCP: never empty, and never the same."""
    calls = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             *({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name, "arguments": {}}} for n, name in enumerate(TOOLS, 1))]
    (tmp_path / "calls").write_text("".join(json.dumps(call) + "\n" for call in calls))

    def texts(script, **environment):
        host.script(script)
        host.environment.update(environment)
        with (tmp_path / "calls").open() as stdin:
            done = run_whirr("--sysroot", host.root, "mcp", folder=host.home, stdin=stdin, **host.environment)
        answers = {a["id"]: a["result"] for a in map(json.loads, done.stdout.splitlines())}
        return [answers[n]["content"][0]["text"] for n, _ in enumerate(TOOLS, 1)]

    h200 = "gpu NVIDIA H200\n  profile h200\n  pci 0000:01:00.0\n"
    states = {"nothing": texts(h200), "denied": texts(h200 + "  fail * 4\n")}
    states["no gpu"] = texts("driver 580.1\n", WHIRR_NVML_LIBRARY="libnvidia-ml-not-here.so")
    host.plug("0000:01:00.0")
    states["no driver"] = texts("driver 580.1\n")
    for n, tool in enumerate(TOOLS):
        said = [words[n] for words in states.values()]
        assert all(text.strip() for text in said) and len(set(said)) == len(said), (tool, said)
        assert "No GPU was found" in states["no gpu"][n] and "No GPU was found" not in states["no driver"][n], (tool, said)
