# SPDX-License-Identifier: Apache-2.0
"""The systemd units: understood by systemd, and as closed as they are meant to be."""
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import AS_ROOT, BUILD, ROOT, WHIRR

SYSTEM, USER = BUILD / "packaging" / "whirr.service", BUILD / "packaging" / "systemd" / "user" / "whirr.service"


def analyze(*args):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    return subprocess.run(["systemd-analyze", *args], capture_output=True, text=True)


@pytest.mark.parametrize("unit", [SYSTEM, USER], ids=["system", "user"])
def test_systemd_understands_the_unit(unit, tmp_path):
    # With a program that is there: where it will be installed is not known here.
    here = tmp_path / "whirr.service"
    here.write_text(re.sub(r"ExecStart=\S+", f"ExecStart={WHIRR}", unit.read_text()))
    done = analyze("verify", "--man=no", str(here))
    old = int(re.search(r"systemd (\d+)", analyze("--version").stdout).group(1)) < 253  # a generator does it there
    complaints = [l for l in done.stderr.splitlines() if "whirr.service" in l and not (old and "'OpenFile'" in l)]
    assert complaints == [], complaints


def test_the_unit_can_not_write_into_other_processes():
    """CAP_SYS_PTRACE would let it."""
    denied = " ".join(re.findall(r"^SystemCallFilter=~(.*)$", SYSTEM.read_text(), re.M)).split()
    assert {"process_vm_writev", "pidfd_getfd", "@debug"} <= set(denied)
    listed = analyze("syscall-filter", "@debug").stdout
    assert "ptrace" in listed
    # Of these one is let through again, behind the line that takes them away: the samples of addresses.
    assert re.findall(r"^SystemCallFilter=(.*)$", SYSTEM.read_text(), re.M)[-1] == "perf_event_open" and "perf_event_open" in listed


def exposure(unit):
    done = analyze("security", "--offline=true", str(unit))
    return float(re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout).group(1))


def test_the_system_unit_is_closed():
    assert exposure(SYSTEM) <= 2.0
    text = SYSTEM.read_text()
    assert re.search(r"^CapabilityBoundingSet=CAP_SYS_PTRACE CAP_PERFMON$", text, re.M) and re.search(r"^User=whirr$", text, re.M)


def generate(folder, version):
    """The drop-in that the generator makes for this version of systemd; "" none."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    (programs / "systemctl").write_text(f"#!/bin/sh\necho 'systemd {version} ({version}.39-1~deb12u1)'\n")
    (programs / "systemctl").chmod(0o755)
    made = folder / "made"
    subprocess.run([ROOT / "packaging" / "systemd" / "whirr-kernel-log", made, made, made], check=True, env={"PATH": f"{programs}:/usr/bin:/bin"})
    dropin = made / "whirr.service.d" / "kernel-log.conf"
    return dropin.read_text() if dropin.exists() else ""


def test_the_kernel_log_is_standard_input_only_where_systemd_can_not_open_it(tmp_path):
    assert generate(tmp_path / "new", 253) == generate(tmp_path / "newer", 257) == ""
    assert ("StandardInput=file:/dev/kmsg" in generate(tmp_path / "old", 252)) == pathlib.Path("/dev/kmsg").is_char_device()


def test_packages_enable_nothing_and_write_nothing_into_the_administrators_place():
    """The user's unit would run in every session of the host, beside the system's."""
    debian = ROOT / "packaging" / "debian"
    assert re.search(r"^override_dh_installsystemduser:\n(?!\t)", (debian / "rules").read_text(), re.M)
    assert re.search(r"^override_dh_installsystemd:\n(?!\t)", (debian / "rules").read_text(), re.M)  # nor does debhelper
    for script in [*debian.glob("*.p*"), ROOT / "packaging" / "rpm" / "whirr.spec"]:
        text = re.sub(r"^ *(#|rm -f (.*\\\n)*).*", "", script.read_text(), flags=re.M)  # links of the administrator's own `systemctl enable`
        assert "/etc/systemd" not in text and not re.search(r"systemctl.* (enable|preset)\b(?!.*\\')", re.sub(r"echo .*", "", text)), script
    assert (ROOT / "packaging" / "systemd" / "90-whirr.preset").read_text().splitlines()[-1] == "disable whirr.service"


@pytest.mark.parametrize("script, arguments, calls", [
    ("postinst", ["configure", ""], ["--system daemon-reload"]),  # installed: started only by who asks for it
    ("postinst", ["configure", "0.1.0"], ["--system daemon-reload", "--quiet try-restart whirr.service whirr-control.service"]),  # not what was stopped
    ("prerm", ["upgrade", "0.2.0"], []),
    ("prerm", ["remove"], ["--quiet disable --now whirr.service whirr-control.socket whirr-control.service"]),
    ("postrm", ["remove"], ["--system daemon-reload"]),
])
def test_a_package_restarts_what_runs_and_stops_what_it_removes(script, arguments, calls, tmp_path):
    (tmp_path / "systemctl").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n')
    (tmp_path / "systemctl").chmod(0o755)
    text = (ROOT / "packaging" / "debian" / f"whirr.{script}").read_text().replace("/run/systemd/system", str(tmp_path))
    done = subprocess.run(["sh", "-c", text, "sh", *arguments], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True)
    said = (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else []
    assert (done.returncode, said) == (0, calls), done.stderr


@pytest.mark.parametrize("more, most", [("local-only", 1.8), ("kernel-log", 2.0)])
def test_what_may_be_added_to_the_unit_does_not_open_it(more, most, tmp_path):
    unit = tmp_path / "whirr.service"
    added = {"local-only": (ROOT / "packaging" / "systemd" / "local-only.conf").read_text(), "kernel-log": "[Service]\nStandardInput=file:/dev/kmsg\n"}
    unit.write_text(SYSTEM.read_text() + added[more])
    assert exposure(unit) <= most
    done = analyze("verify", "--man=no", str(unit))
    assert not re.search(r"whirr\.service:\d+: (?!.*'OpenFile')", done.stderr), done.stderr


def test_root_gives_up_what_it_does_not_need(start):
    if subprocess.run([*AS_ROOT, "true"], capture_output=True).returncode:
        pytest.skip("not root, and no user namespaces")
    d = start(through=AS_ROOT)
    status = pathlib.Path(f"/proc/{d.process.pid}/status").read_text()
    effective = int(re.search(r"CapEff:\s+(\w+)", status).group(1), 16)
    for given_up in (0, 12, 16, 17, 21):  # CHOWN, NET_ADMIN, SYS_MODULE, SYS_RAWIO, SYS_ADMIN
        assert not effective & 1 << given_up
    for thread in pathlib.Path(f"/proc/{d.process.pid}/task").iterdir():
        assert re.search(r"CapEff:\s+(\w+)", (thread / "status").read_text()).group(1) == f"{effective:016x}"


def test_the_unit_sees_processes_of_others_in_a_proc_that_hides_them():
    """ProtectProc=invisible with CAP_SYS_PTRACE: what the unit relies on."""
    script = "mount -t proc -o hidepid=invisible proc /proc; sleep 60 & exec setpriv --reuid 12345 --regid 12345 --clear-groups {} test -e /proc/$!/comm"
    results = []
    for grant in ("", "--inh-caps +sys_ptrace --ambient-caps +sys_ptrace"):
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", script.format(grant)], capture_output=True, text=True)
        if "unshare" in done.stderr or "mount" in done.stderr:
            pytest.skip("no mount namespaces here")
        results.append(done.returncode == 0)
    assert results == [False, True]
