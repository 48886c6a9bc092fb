# SPDX-License-Identifier: Apache-2.0
"""The doctor on machines with all kinds of trouble."""
import pytest
import recorded


def add_card(root, address, vendor, device, driver=None, power="active"):
    folder = root / "sys/bus/pci/devices" / address
    (folder / "power").mkdir(parents=True)
    (folder / "class").write_text("0x030000\n")
    (folder / "vendor").write_text(f"0x{vendor}\n")
    (folder / "device").write_text(f"0x{device}\n")
    (folder / "power/runtime_status").write_text(power + "\n")
    if driver:
        target = root / "sys/bus/pci/drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(f"../../drivers/{driver}")


def add_nvidia_module(root, version):
    folder = root / "sys/module/nvidia"
    folder.mkdir(parents=True)
    (folder / "version").write_text(version + "\n")


@pytest.fixture
def findings(whirr, bare_machine):
    def look(**env):
        report = whirr("--sysroot", str(bare_machine), "doctor", "--json", **env).json()
        return [(f["urgency"], f["what"], f["fix"] or "") for f in report["findings"]]

    return look


def test_a_card_without_driver_is_urgent(bare_machine, findings):
    add_card(bare_machine, "0000:01:00.0", "10de", "2684")
    urgency, what, fix = findings()[0]
    assert urgency == "urgent" and "0000:01:00.0" in what and "no driver" in what and "nvidia-driver" in fix


def test_nouveau_is_told(bare_machine, findings):
    add_card(bare_machine, "0000:01:00.0", "10de", "2684", "nouveau")
    assert any("nouveau" in what and "Install" in fix for _, what, fix in findings())


def test_a_lent_card_is_only_noted_where_something_else_is_to_fix(bare_machine, findings):
    add_card(bare_machine, "0000:01:00.0", "10de", "2684", "vfio-pci")
    assert [u for u, what, _ in findings() if "vfio-pci" in what] == ["useful"], "where it is the only one, it is the reason"
    add_card(bare_machine, "0000:02:00.0", "10de", "2684")
    assert [u for u, what, _ in findings() if "vfio-pci" in what] == ["note"]


@pytest.mark.parametrize("cards", [[], [("0000:01:00.0", "10de", "2684", "vfio-pci")], [("0000:01:00.0", "1a03", "2000", "ast")]])
def test_where_no_gpu_was_found_there_is_something_to_fix(bare_machine, whirr, cards):
    for card in cards:
        add_card(bare_machine, *card)
    assert "`whirr doctor` shows what to fix" in " ".join(whirr("--sysroot", str(bare_machine)).out.split())
    text = whirr("--sysroot", str(bare_machine), "doctor").out
    to_fix = text.split("What to fix")[1].split("Good to know")[0]
    assert "Nothing" not in to_fix and "  1." in to_fix.replace("1 ", "1. "), text


def test_equal_gpus_and_metrics_that_begin_alike_are_one_entry(whirr):
    text = whirr("--source", "sim:gpus=4,scenario=training", "doctor").out
    everything = whirr("--source", "sim:gpus=4,scenario=training", "doctor", "-v").out
    assert "GPUs 0-3" in text and "_* (" in text and "GPU 1 " not in text
    assert "_* (" not in everything and len(text.splitlines()) < len(everything.splitlines())


def test_a_missing_library_names_the_package(bare_machine, findings):
    add_card(bare_machine, "0000:01:00.0", "10de", "2684", "nvidia")
    add_nvidia_module(bare_machine, "580.159.04")
    urgency, what, fix = findings(WHIRR_NVML_LIBRARY="/nonexistent/libnvidia-ml.so.1")[0]
    assert urgency == "urgent" and "580.159.04" in what and "libnvidia-ml1" in fix


def test_hidden_devices_are_told(bare_machine, findings):
    assert any("hides every NVIDIA GPU" in what for _, what, _ in findings(NVIDIA_VISIBLE_DEVICES="none"))


def test_hidepid_is_told(bare_machine, whirr):
    (bare_machine / "proc/mounts").write_text("proc /proc proc rw,hidepid=invisible 0 0\n")
    out = whirr("--sysroot", str(bare_machine), "doctor").out
    assert "hides processes of others" in out


def test_urgent_findings_come_first(bare_machine, findings):
    add_card(bare_machine, "0000:01:00.0", "10de", "2684", "nouveau")
    add_card(bare_machine, "0000:02:00.0", "1002", "744c")
    order = [u for u, _, _ in findings()]
    assert order == sorted(order, key=["urgent", "useful", "note"].index) and order[0] == "urgent"


def test_sources_say_why_they_are_not_in_use(whirr, bare_machine):
    report = whirr("--sysroot", str(bare_machine), "doctor", "--json").json()
    sources = {s["name"]: s for s in report["sources"]}
    assert {"nvml", "nvidia-smi", "amdgpu", "intel"} <= set(sources)
    assert all(s["message"] for s in sources.values() if s["state"] == "off")
    text = whirr("--sysroot", str(bare_machine), "doctor").out
    assert "not in use" in text and "not asked for" in text and "What to fix" in text


def test_a_lost_gpu_and_unsupported_readings_are_listed(nvml):
    script = "gpu NVIDIA GeForce RTX 4090\n  fail * 15\ngpu NVIDIA H200\n  profile h200\n"
    report = nvml(script, "doctor", "--json").json()
    assert any(f["urgency"] == "urgent" and "lost" in f["what"] for f in report["findings"])
    assert "fan_percent" in report["gpus"][1]["absent"]["unsupported"]
    text = nvml(script, "doctor").out
    assert text.index("What the sources report") < text.index("What to fix")


def test_processes_that_cannot_be_listed_are_a_note(whirr, tmp_path):
    root = recorded.expand("cometlake-i915", tmp_path / "machine")
    out = " ".join(whirr("--sysroot", root, "doctor").out.split())
    assert "Processes can't be listed on 1 of 1 GPUs: unsupported (intel)." in out


def test_a_healthy_machine_has_nothing_to_fix(sim):
    out = sim("idle", "doctor").out
    assert "Nothing." in out.split("What to fix")[1]
