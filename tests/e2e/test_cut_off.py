# SPDX-License-Identifier: Apache-2.0
"""Containers that lose their GPUs when systemd reads its units again: from inside, and from the host."""
import pytest
from isolation import BUILD

FAKE = BUILD / "tests" / "fakes"
ID = "0123456789abcdef" * 4
SCOPE = f"docker-{ID}.scope"


def lost(tmp_path):
    (tmp_path / "script").write_text("fail nvmlInit_v2 999\ngpu X\n")
    return {"WHIRR_NVML_LIBRARY": str(FAKE / "nvml" / "libnvidia-ml-fake.so"), "WHIRR_FAKE_NVML": str(tmp_path / "script")}


def denied(tmp_path):
    return lost(tmp_path) | {"LD_PRELOAD": str(FAKE / "faults" / "libdenied.so"), "WHIRR_FAKE_DENIED": "/dev/nvidiactl",
                             "ASAN_OPTIONS": "verify_asan_link_order=0"}


def test_a_program_in_it_learns_why_the_driver_does_not_start(whirr, tmp_path):
    said = whirr("--source", "nvml", "status", **denied(tmp_path))
    assert "lost its GPUs" in said.out + said.err and "/dev/nvidiactl" in said.out + said.err
    said = whirr("--source", "nvml", "status", **lost(tmp_path))
    assert "lost its GPUs" not in said.out + said.err, "the device cgroup refuses nothing here"


@pytest.fixture
def host(bare_machine, whirr):
    """A host with NVIDIA's driver and one container that was given its devices."""
    module = bare_machine / "sys/module/nvidia"
    module.mkdir(parents=True)
    (module / "version").write_text("580.1\n")
    process = bare_machine / "proc/4711"
    (process / "root/dev").mkdir(parents=True)
    (process / "root/dev/nvidiactl").write_text("")
    (process / "cgroup").write_text(f"0::/system.slice/{SCOPE}\n")

    class Host:
        root = bare_machine

        def unit(self, text, *later):
            folder = bare_machine / "run/systemd/transient"
            (folder / f"{SCOPE}.d").mkdir(parents=True, exist_ok=True)
            (folder / SCOPE).write_text(text)
            for i, more in enumerate(later):
                (folder / f"{SCOPE}.d" / f"50-{i}.conf").write_text(more)

        def said(self):
            found = whirr("--sysroot", str(bare_machine), "doctor", "--json").json()["findings"]
            return [(f["urgency"], f["what"], f["fix"]) for f in found if "0123456789ab" in f["what"]]

    return Host()


STRICT = "[Scope]\nDevicePolicy=strict\nDeviceAllow=\nDeviceAllow=/dev/char/1:3 rwm\nDeviceAllow=char-* m\n"


def test_the_host_knows_what_systemd_would_forget(host):
    assert host.said() == [], "nothing is known about its unit"
    host.unit(STRICT)
    ((urgency, what, fix),) = host.said()
    assert urgency == "useful" and "next `systemctl daemon-reload`" in what and "nvidia.com/gpu=all" in fix and "cgroupfs" in fix
    (host.root / "proc/4711/root/dev/nvidiactl").unlink()
    assert host.said() == [], "this container was given no GPU"


@pytest.mark.parametrize("more", ["DeviceAllow=/dev/char/195:0 rw\n", "DeviceAllow=/dev/nvidia0 rw\n", "DeviceAllow=char-nvidia rwm\n", "DevicePolicy=auto\n"])
def test_what_systemd_knows_of_stays(host, more):
    host.unit(STRICT + more)
    assert host.said() == []
    host.unit(STRICT, "[Scope]\n" + more)
    assert host.said() == [], "also what was set later"


def test_a_later_list_replaces_the_first(host):
    host.unit(STRICT + "DeviceAllow=/dev/char/195:0 rw\n", "[Scope]\nDeviceAllow=\nDeviceAllow=/dev/char/1:3 rwm\n")
    assert [u for u, _, _ in host.said()] == ["useful"]


def test_cgroup_v1_shows_that_it_happened(host):
    (host.root / "proc/4711/cgroup").write_text(f"5:devices:/system.slice/{SCOPE}\n0::/system.slice/{SCOPE}\n")
    folder = host.root / "sys/fs/cgroup/devices/system.slice" / SCOPE
    folder.mkdir(parents=True)
    (folder / "devices.list").write_text("c 1:3 rwm\nc 195:* m\n")
    ((urgency, what, _),) = host.said()
    assert urgency == "urgent" and "lost its GPUs" in what
    for allowed in ("c 195:0 rw\n", "a *:* rwm\n"):
        (folder / "devices.list").write_text("c 1:3 rwm\n" + allowed)
        assert host.said() == []
