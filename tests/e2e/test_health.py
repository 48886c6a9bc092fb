# SPDX-License-Identifier: Apache-2.0
"""whirr health, without a daemon: one look at the cards and at the kernel's log."""
import json
import os
import subprocess
import time

import pytest
import recorded
from conftest import NO_OVERRIDE
from isolation import linux_only

CARDS = """
gpu NVIDIA GeForce RTX 4090
  temperature 50
  pci 0000:05:00.0
gpu NVIDIA H200
  profile h200
  pci 0000:41:00.0
"""

XID = "NVRM: Xid (PCI:0000:41:00): {code}, pid=4242, name=python3, Ch 00000008"


@pytest.fixture
def machine(tmp_path):
    """A recorded machine that was booted an hour ago, with a kernel log."""
    root = tmp_path / "machine"
    (root / "proc/sys/kernel/random").mkdir(parents=True)
    (root / "dev").mkdir()
    (root / "var/log").mkdir(parents=True)
    (root / "proc/stat").write_text(f"cpu  1 0 1 8 0 0 0 0 0 0\nbtime {int(time.time()) - 3600}\n")
    (root / "proc/sys/kernel/random/boot_id").write_text("11111111-1111-1111-1111-111111111111\n")
    return root


def record(second, text, sequence=1):
    return f"4,{sequence},{second * 1000000},-;{text}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:41:00.0\n"


def answer(done):
    """The answer; its exit status says the same as its state."""
    body = json.loads(done.out)
    codes = {"healthy": 0, "asleep": 0, "unknown": 3, "degraded": 1, "failing": 2, "lost": 2}
    assert done.code == codes[body["state"]], (done.code, body["state"], done.err)
    return body


def states(body):
    return [g["state"] for g in body["gpus"]]


@linux_only("it has no kernel log to read")
def test_a_healthy_machine_says_so_and_what_it_cannot_know(nvml, machine):
    (machine / "dev/kmsg").write_text(record(1, "Linux version 6.1"))
    done = nvml(CARDS, "--sysroot", str(machine), "health")
    assert done.code == 0 and "healthy" in done.out and "No fault was found" in done.out
    assert "whirr serve" in done.out and "kernel log" not in done.out
    body = answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))
    assert states(body) == ["healthy", "healthy"] and body["remembered"] is False
    assert body["kernel_log"] == {"state": "read", "message": None}


@linux_only("it has no kernel log to read")
def test_an_xid_from_before_the_start_is_found_in_the_kernel_log(nvml, machine):
    (machine / "dev/kmsg").write_text(record(1, "Linux version 6.1") + record(3000, XID.format(code=95), 2))
    body = answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))
    assert states(body) == ["healthy", "failing"] and body["state"] == "failing"
    verdict = body["gpus"][1]
    assert verdict["findings"][0]["xid"] == 95 and verdict["findings"][0]["check"] == "xid"
    assert "10m ago" in verdict["reason"] and "reset" in verdict["action"].lower()
    text = nvml(CARDS, "--sysroot", str(machine), "health").out
    assert "failing" in text and "what to do" in text and "XID 95" in text


@pytest.mark.parametrize("place, line", [
    ("dev/kmsg", "[ 3000.123456] " + XID),
    ("var/log/dmesg", "[ 3000.123456] " + XID),
    ("var/log/kern.log", "2026-11-15T05:10:16.123456+00:00 box kernel: [ 3000.123456] " + XID),
    ("var/log/kern.log", "Nov 15 05:10:16 box kernel: [ 3000.123456] " + XID),
    ("var/log/messages", "Nov 15 05:10:16 box kernel: " + XID),
])
@linux_only("it has no kernel log to read")
def test_the_kernel_log_is_read_in_the_forms_it_is_kept_in(nvml, machine, place, line):
    (machine / place).write_text(line.format(code=46) + "\n")
    body = answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))
    assert body["gpus"][1]["findings"][0]["xid"] == 46


def test_what_happened_before_the_last_boot_is_over(nvml, machine):
    before = "2026-11-14T05:10:16.1+00:00 box kernel: [ 3000.1] " + XID.format(code=79) + "\n"
    boot = "2026-11-15T05:10:16.1+00:00 box kernel: [    0.000000] Linux version 6.1.0-49\n"
    (machine / "var/log/kern.log").write_text(before + boot)
    assert states(answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))) == ["healthy", "healthy"]


@linux_only("it has no kernel log to read")
def test_a_log_full_of_nonsense_harms_nothing(nvml, machine):
    noise = os.urandom(200000) + b"\n" + b"x" * 300000 + b"\nNVRM: Xid (PCI:\nNVRM: Xid ():, \n[999999999999999999999.9] y\n;;;\n"
    (machine / "dev/kmsg").write_bytes(noise + record(5, XID.format(code=74)).encode())
    assert answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))["gpus"][1]["findings"][0]["xid"] == 74


@linux_only("it has no kernel log to read")
def test_a_kernel_log_that_is_not_there_is_said(nvml, machine):
    done = nvml(CARDS, "--sysroot", str(machine), "health")
    assert done.code == 0 and "kernel log" in done.out
    assert answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))["kernel_log"]["state"] == "absent"


@linux_only("it has no kernel log to read")
def test_what_was_not_looked_at_is_said(nvml, machine):
    unread = answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))["gpus"][1]
    assert "errors" in unread["looked"] and unread["not_looked"] == "kernel log"
    assert "  not at     kernel log\n" in nvml(CARDS, "--sysroot", str(machine), "health", "-v").out
    (machine / "dev/kmsg").write_text(record(1, "Linux version 6.1"))
    read = answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))["gpus"][1]
    assert read["looked"] == unread["looked"] and read["not_looked"] is None
    text = nvml(CARDS, "--sysroot", str(machine), "health", "-v").out
    assert "  looked at  errors, fan, heat, power" in text and "not at" not in text
    assert "looked at" not in nvml(CARDS, "--sysroot", str(machine), "health").out


@linux_only("it has no kernel log to read")
def test_a_kernel_log_that_may_not_be_read_says_what_to_do(nvml, machine):
    (machine / "dev/kmsg").write_text("")
    (machine / "dev/kmsg").chmod(0)
    body = answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json", through=NO_OVERRIDE))
    assert body["kernel_log"]["state"] == "denied" and "CAP_SYSLOG" in body["kernel_log"]["message"]


@linux_only("it has no kernel log to read")
def test_a_kernel_log_that_the_service_manager_opened_is_read(nvml, tmp_path):
    """OpenFile= of the unit: a descriptor with a name, for the process of that number."""
    log = tmp_path / "log"
    log.write_text(record(1, XID.format(code=74)))
    opened = 'exec 3<"$0"; LISTEN_PID=$(($$ + WRONG)) LISTEN_FDS=1 LISTEN_FDNAMES=kernel-log exec "$@"'
    body = answer(nvml(CARDS, "health", "--json", through=["sh", "-c", opened, str(log)], WRONG="0"))
    assert body["kernel_log"]["state"] == "read" and body["gpus"][1]["findings"][0]["xid"] == 74
    body = answer(nvml(CARDS, "health", "--json", through=["sh", "-c", opened, str(log)], WRONG="1"))  # opened for another reader
    assert body["gpus"][1]["findings"] == []


def test_a_kernel_log_as_standard_input_is_read_without_the_right_to_open_it(nvml):
    """What the drop-in for systemd before 253 relies on."""
    without = ["setpriv", "--bounding-set=-syslog,-sys_admin"]
    if subprocess.run([*without, "true"], capture_output=True).returncode or subprocess.run(["sh", "-c", "true </dev/kmsg"], capture_output=True).returncode:
        pytest.skip("no capabilities to give up, or no kernel log that may be opened")
    if answer(nvml(CARDS, "health", "--json", through=without))["kernel_log"]["state"] != "denied":
        pytest.skip("everybody may read the kernel log here")
    given = ["sh", "-c", 'exec "$@" </dev/kmsg', "sh", *without]
    assert answer(nvml(CARDS, "health", "--json", through=given))["kernel_log"]["state"] == "read"


def test_simulated_cards_have_nothing_to_do_with_this_machines_log(sim):
    body = answer(sim("idle", "health", "--json"))
    assert body["kernel_log"]["state"] == "skipped" and all(g["simulated"] for g in body["gpus"])
    assert "SIMULATED" in sim("idle", "health").out


@pytest.mark.parametrize("fault, says", [("remap_failed 1", "failing memory"), ("field 230 1", "needs a reset")])
def test_a_quick_look_sees_repairs_and_what_the_driver_asks_for(nvml, fault, says):
    out = nvml(f"gpu NVIDIA H200\n  profile h200\n  {fault}\n", "status").out
    assert says in out.splitlines()[0], out


@pytest.mark.parametrize("scenario, code, word", [("idle", 0, "OK"), ("gpu-lost", 2, "CRITICAL")])
def test_nagios_is_one_line_with_performance_data_and_its_exit_codes(sim, scenario, code, word):
    done = sim(scenario, "health", "--nagios", gpus=2)
    assert done.code == code and done.out.count("\n") == 1
    text, _, performance = done.out.partition("|")
    assert text.startswith(f"GPU HEALTH {word} - ")
    values = dict(part.split(";")[0].split("=") for part in performance.split())
    assert set(values) == {"healthy", "degraded", "failing", "lost", "asleep", "unknown"} and sum(map(int, values.values())) == 2


@linux_only("it has no kernel log to read")
def test_nagios_warns_of_a_degraded_card(nvml, machine):
    (machine / "dev/kmsg").write_text(record(3000, XID.format(code=74)))
    done = nvml(CARDS, "--sysroot", str(machine), "health", "--nagios")
    assert done.code == 1 and done.out.startswith("GPU HEALTH WARNING - GPU 1 degraded: XID 74")


def test_nagios_without_a_gpu_is_unknown(whirr, bare_machine):
    done = whirr("--sysroot", str(bare_machine), "health", "--nagios")
    assert done.code == 3 and done.out.startswith("GPU HEALTH UNKNOWN - no GPU was found")
    plain = whirr("--sysroot", str(bare_machine), "health")
    assert plain.code == 3 and "No GPU" in plain.out
    assert whirr("--sysroot", str(bare_machine), "health", "--json").code == 3


def test_wrong_usage(whirr):
    assert whirr("health", "--json", "--nagios").code == 3
    assert whirr("health", "--nagios", "--watch").code == 3
    assert whirr("health", "--nagois").code == 3
    assert whirr("health", "surplus").code == 3
    assert whirr("health", "--watch=often").code == 3
    assert whirr("health", "--config", "/nonexistent.toml").code == 3
    assert whirr("health", "--source", "nosuch").code == 3
    assert whirr("--sysroot", "/nonexistent", "health").code == 3
    assert whirr("--socket", "/nonexistent", "health").code == 3
    assert whirr("--source", "sim:gpus=1", "health", "--gpu", "7").code == 3
    assert whirr("--source", "sim:gpus=1", "health", "--gpu", "7", "--nagios").code == 3


def test_trouble_that_has_not_lasted_yet_is_not_called_healthy_without_a_word(sim):
    done = sim("bad-link", "health")
    assert "healthy so far" in done.out and "seen now   GPU 0: its PCIe link has 4 of 16 lanes under load" in done.out and "No fault" not in done.out, done
    assert "so far" not in sim("idle", "health").out


def test_one_gpu_alone(sim):
    body = answer(sim("gpu-lost", "health", "--json", "--gpu", "1", gpus=2))
    assert [g["gpu_index"] for g in body["gpus"]] == [1] and body["state"] == "healthy"


@linux_only("it has no kernel log to read")
def test_a_hang_that_another_vendors_driver_tells_of(nvml, machine):
    lines = [record(3000 + 60 * i, "somedriver 0000:41:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in python3 [4242]", i) for i in range(3)]
    (machine / "dev/kmsg").write_text("".join(lines))
    verdict = answer(nvml(CARDS, "--sysroot", str(machine), "health", "--json"))["gpus"][1]
    assert verdict["state"] == "degraded" and verdict["findings"][0]["check"] == "driver_fault" and verdict["findings"][0]["xid"] is None
    assert "hung" in verdict["reason"] and "3 times" in verdict["reason"]


def test_recorded_machines_have_a_verdict(whirr, tmp_path):
    """AMD and Intel cards: what their drivers tell is judged, what they do not tell judges nothing."""
    judged = 0
    for name in recorded.names("[/sys/"):
        body = json.loads(whirr("--sysroot", recorded.expand(name, tmp_path / name), "health", "--json").out)
        for gpu in body["gpus"]:
            judged += 1
            assert gpu["state"] in ("healthy", "unknown", "asleep", "degraded"), (name, gpu)
            assert gpu["reason"] and gpu["action"]
    assert judged > 20


@pytest.mark.parametrize("scenario, code", [("idle", 0), ("asleep", 0), ("gpu-lost", 2)])
def test_the_exit_status_is_the_verdict(sim, scenario, code):
    assert sim(scenario, "health", gpus=2).code == code
    assert sim(scenario, "health", "--json", gpus=2).code == code


@linux_only("it has no kernel log to read")
def test_a_degraded_gpu_is_told_by_status_1(nvml, machine):
    (machine / "dev/kmsg").write_text(record(3000, XID.format(code=74)))
    assert nvml(CARDS, "--sysroot", str(machine), "health").code == 1
    assert nvml(CARDS, "--sysroot", str(machine), "health", "--gpu", "0").code == 0


def test_a_recording_is_not_judged_by_this_hosts_kernel_log(nvml, whirr, machine, tmp_path):
    (machine / "dev/kmsg").write_text(record(3000, XID.format(code=79)))
    file = str(tmp_path / "cards.whirr")
    assert nvml(CARDS, "--sysroot", str(machine), "record", file, "--interval", "0.1", "--duration", "0.3").code == 0
    body = answer(whirr("health", "--json", "--source", f"replay:{file}", "--sysroot", str(machine)))
    assert body["kernel_log"]["state"] == "skipped"
    assert not [f for g in body["gpus"] for f in g["findings"] if f["check"] == "xid"]
