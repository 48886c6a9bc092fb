# SPDX-License-Identifier: Apache-2.0
"""whirr why --idle: what keeps a GPU from idling, on a recorded host with displays, programs and power settings added."""
import os
import pathlib

import pytest
import recorded
import shapes


def edid(width, height, hz, most):
    """A display that prefers one mode and takes refresh rates up to `most`."""
    across, down = width + 160, height + 40
    clock = across * down * hz // 10000
    mode = bytes([clock & 255, clock >> 8, width & 255, 160, (width >> 8) << 4, height & 255, 40, (height >> 8) << 4] + [0] * 10)
    limits = bytes([0, 0, 0, 0xFD, 0, 48, most, 30, 160, 60] + [0] * 8)
    return bytes([0, 255, 255, 255, 255, 255, 255, 0] + [0] * 46) + mode + limits + bytes(128 - 54 - 36)


class Host:
    def __init__(self, root):
        self.root = root
        self.card = next(p.name for p in sorted((root / "sys/class/drm").iterdir()) if p.name.startswith("card"))
        self.device = root / "sys/class/drm" / self.card / "device"

    def write(self, path, content):
        file = self.root / path  # an absolute path stays
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def display(self, connector, display=None, on=True):
        folder = self.root / "sys/class/drm" / f"{self.card}-{connector}"
        self.write(folder / "status", "connected\n" if display else "disconnected\n")
        self.write(folder / "enabled", "enabled\n" if on else "disabled\n")
        self.write(folder / "dpms", "On\n" if on else "Off\n")
        self.write(folder / "edid", display or b"")

    def process(self, pid, name, command, *files):
        folder = self.root / "proc" / str(pid)
        self.write(folder / "comm", name + "\n")
        self.write(folder / "cmdline", command.replace(" ", "\0") + "\0")
        self.write(folder / "status", f"Name:\t{name}\nUid:\t1000\t1000\t1000\t1000\n")
        self.write(folder / "stat", f"{pid} ({name}) S 1 {pid} {pid} 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 880000 0 100 0\n")
        (folder / "fd").mkdir()
        for i, file in enumerate(files):
            os.symlink(file, folder / "fd" / str(3 + i))


@pytest.fixture
def host(tmp_path):
    host = Host(pathlib.Path(recorded.expand("laptop-rx6700m-0rpm", tmp_path / "machine")))
    host.write(host.root / "etc/passwd", "alice:x:1000:1000::/home/alice:/bin/sh\n")
    return host


@pytest.fixture
def audit(whirr, host):
    def run():
        body = whirr("why", "--idle", "--json", "--sysroot", host.root).json()
        shapes.check(body, shapes.WHY)
        return body["gpus"][0]["idle"]

    return run


def texts(findings):
    return [f["text"] for f in findings]


def test_an_unused_gpu_has_nothing_to_explain(whirr, host, audit):
    idle = audit()
    assert idle["keeps_from_idling"] == [] and {"display", "browser", "monitor", "open_device"} <= set(idle["ruled_out"])
    out = whirr("why", "--idle", "--sysroot", host.root).out
    assert "nothing found that keeps it from idling" in out and "Do" not in out.split() and "Cause" not in out


def test_displays_have_their_mode_and_refresh_rate(host, audit):
    host.display("DP-1", edid(2560, 1440, 60, 165))
    host.display("HDMI-A-1", edid(1920, 1080, 60, 60), on=False)
    host.display("DP-2")
    idle = audit()
    assert texts(idle["also"]) == ["DP-1 is on, preferred mode 2560x1440 at 60 Hz (up to 165 Hz)"]  # a recording has no device to ask
    assert idle["keeps_from_idling"] == [] and "display" not in idle["ruled_out"]


def test_who_has_the_device_open_is_named(whirr, host, audit):
    render = next((host.device / "drm").glob("renderD*")).name
    host.process(501, "firefox", "/usr/lib/firefox/firefox", f"/dev/dri/{render}")
    host.process(502, "Discord", "/opt/Discord/Discord --type=gpu-process", "/dev/null", f"/dev/dri/{render}")
    host.process(503, "nvtop", "nvtop", f"/dev/dri/{host.card}")
    host.process(504, "python3", "python3 idle.py", f"/dev/dri/{render}")
    host.process(505, "gnome-shell", "gnome-shell", f"/dev/dri/{host.card}")
    host.process(506, "systemd-logind", "systemd-logind", f"/dev/dri/{host.card}")
    host.process(507, "bash", "bash", "/dev/null", "/dev/dri/renderD199")
    idle = audit()
    by_pid = {f["pid"]: (f["code"], f["text"]) for f in idle["keeps_from_idling"]}
    assert by_pid == {501: ("browser", "firefox (alice, pid 501) has the GPU open"),
                      502: ("browser", "Discord (alice, pid 502) has the GPU open"),
                      503: ("monitor", "nvtop (alice, pid 503) is polling the GPU"),
                      504: ("open_device", "idle.py (alice, pid 504) has the GPU open")}
    assert texts(idle["also"]) == ["gnome-shell (alice, pid 505) has the GPU open"]
    out = whirr("why", "--idle", "--sysroot", host.root).out
    assert "hardware acceleration" in out and "other monitor" in out


def test_power_saving_that_is_off_comes_with_the_command_that_allows_it(whirr, host, audit):
    host.write("sys/module/pcie_aspm/parameters/policy", "default [performance] powersave powersupersave\n")
    host.write(host.device / "power/control", "on\n")
    idle = audit()
    assert {f["code"] for f in idle["keeps_from_idling"]} == {"aspm", "runtime_pm"}
    assert any(s.endswith("tee /sys/bus/pci/devices/0000:03:00.0/power/control") for s in idle["suggestions"])
    # a GPU that shows a picture is not suspended anyway
    host.display("DP-1", edid(2560, 1440, 60, 165))
    idle = audit()
    assert {f["code"] for f in idle["keeps_from_idling"]} == {"aspm"}
    assert not any("power/control" in s for s in idle["suggestions"])


def test_a_sleeping_gpu_is_not_woken_and_its_holders_are_listed(whirr, host):
    host.write(host.device / "power/runtime_status", "suspended\n")
    host.process(601, "steamwebhelper", "steamwebhelper", f"/dev/dri/{host.card}")
    body = whirr("why", "--idle", "--json", "--sysroot", host.root).json()
    gpu = body["gpus"][0]
    assert gpu["activity"]["code"] == "asleep" and "asleep" in gpu["idle"]["answer"]
    assert [f["pid"] for f in gpu["idle"]["keeps_from_idling"]] == [601]


def test_a_context_a_model_and_a_pinned_memory_clock(sim):
    gpu = sim("held-context", "why", "--idle", "--json").json()["gpus"][0]
    assert {f["code"] for f in gpu["idle"]["keeps_from_idling"]} == {"memory_clock", "context"}
    assert "GPU 0 is kept from idling" in sim("held-context", "why", "--idle").out


def test_a_busy_gpu_has_no_audit_and_without_idle_there_is_none(sim):
    gpu = sim("training", "why", "--idle", "--json", gpus=1).json()["gpus"][0]
    assert gpu["idle"]["keeps_from_idling"] == [] and "look again when it is idle" in gpu["idle"]["answer"]
    assert sim("training", "why", "--json", gpus=1).json()["gpus"][0]["idle"] is None


def test_equal_gpus_share_a_line(sim):
    out = sim("night", "why", "--idle", gpus=8, COLUMNS="80").out
    lines = out.splitlines()
    assert len(lines) <= 12, out
    groups = [line for line in lines if " are idle at " in line]
    assert len(groups) == 1 and "GPUs " in groups[0] and "nothing found that keeps them from" in groups[0], out
    busy = sim("training,start=300", "why", "--idle", gpus=8).out
    assert "GPUs 0-7 are busy: look again when they are idle." in busy and "saturated" not in busy


def test_why_and_its_audit_blame_the_same(sim):
    """A desktop with a forgotten notebook: the displays pin the memory clock alone, the notebook raises both."""
    why = sim("held-context", "why", "--json").json()["gpus"][0]
    assert why["causes"][0]["code"] == "context_held" and "refresh rate" not in " ".join(why["suggestions"])
    audit = sim("held-context", "why", "--idle", "--json").json()["gpus"][0]["idle"]["keeps_from_idling"]
    assert why["causes"][0]["pid"] in [f["pid"] for f in audit]


def test_a_memory_clock_that_never_falls_is_no_cause(sim):
    """HBM has one clock: a GPU that idles as it should is not said to be kept from it."""
    gpu = sim("night", "why", "--idle", "--json", gpus=4).json()["gpus"][3]
    assert gpu["activity"]["code"] == "idle" and gpu["idle"]["keeps_from_idling"] == []
    assert "memory_clock" in [f["code"] for f in gpu["idle"]["also"]]


def test_gpus_whose_utilization_cannot_be_read_are_not_called_idle(whirr, tmp_path):
    root = recorded.expand("mi210-kfd", tmp_path / "machine")
    audit = whirr("why", "--idle", "--sysroot", root).out
    assert "Can't tell whether GPUs 0-7 are idle: their utilization can't be read." in " ".join(audit.split())
    assert "Cause" not in audit
    assert "unknown: nothing can be read" in whirr("why", "--sysroot", root).out
    assert "no readings: whirr doctor" in whirr("--sysroot", root).out.splitlines()[0]
    health = whirr("health", "--sysroot", root).out
    assert "GPUs 0-7 AMD Instinct MI210  unknown" in health and "GPU 3" not in health


def test_what_draws_the_desktop_holds_no_compute_context(whirr, tmp_path):
    root = recorded.expand("rtx4080s", tmp_path / "machine")
    gpu = whirr("why", "--idle", "--json", "--sysroot", root, **recorded.answers(root)).json()["gpus"][0]
    assert gpu["idle"]["keeps_from_idling"] == [] and "context" in gpu["idle"]["ruled_out"]


def test_a_lost_gpu_says_so_and_is_not_waited_for(whirr, tmp_path):
    root = recorded.expand("nvidia-odd-cells", tmp_path / "machine")
    out = whirr("why", "--idle", "--sysroot", root, **recorded.answers(root)).out
    assert "GPU 2 is lost: the driver can't reach it" in out and "GPU 3 can't be read" in out
    if os.geteuid() == 0:  # who sees everything is not sent to look again as root
        assert "other users" not in whirr("why", "--sysroot", root, **recorded.answers(root)).out


def test_idle_is_about_now(whirr):
    result = whirr("why", "--idle", "--at", "-2h")
    assert result.code == 2 and "--idle can't be combined with --at or --since" in result.err


def test_a_recorded_host_is_not_mixed_with_this_one(whirr, tmp_path, sim):
    recording = tmp_path / "a.whirr"
    assert sim("idle", "record", str(recording), "--duration", "0.3", "--interval", "0.1", gpus=1).code == 0
    out = whirr("--source", f"replay:{recording}", "why", "--idle")
    assert out.code == 0 and "has the GPU open" not in out.out


def test_displays_that_the_driver_does_not_show_are_not_ruled_out(nvml, host):
    """Several branches of NVIDIA's driver leave `enabled` at "disabled" while a monitor is on."""
    host.write(host.device / "uevent", (host.device / "uevent").read_text().replace("DRIVER=amdgpu", "DRIVER=nvidia"))
    host.write(host.device / "vendor", "0x10de\n")
    host.write(host.device / "power/control", "on\n")
    host.display("DP-1", edid(2560, 1440, 60, 165))
    host.write(host.root / "sys/class/drm" / f"{host.card}-DP-1" / "enabled", "disabled\n")
    card = "gpu NVIDIA GeForce RTX 4090\n  pci 0000:03:00.0\n  gpu_util 0\n  power 20000\n  display_active "

    def audit(active):
        return nvml(card + active + "\n", "why", "--idle", "--json", "--sysroot", host.root).json()["gpus"][0]["idle"]

    unseen = audit("na")
    assert "display" not in unseen["ruled_out"] and "could not be seen" in unseen["answer"], unseen
    assert not any("power/control" in s for s in unseen["suggestions"]), "it may show a picture"
    on = audit("1")
    assert "display" not in on["ruled_out"] and "a display is on; which one, the driver doesn't show" in texts(on["also"]), on
    off = audit("0")
    assert "display" in off["ruled_out"] and any("power/control" in s for s in off["suggestions"]), off
