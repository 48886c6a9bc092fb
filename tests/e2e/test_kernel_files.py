# SPDX-License-Identifier: Apache-2.0
"""AMD, Intel and other cards through the program: recorded machines, a machine of three vendors, and AMD's own tool as fallback."""
import pytest
import recorded
import shapes

# Machine, PCI address, and values of the recorded files.
RECORDED = [
    ("hd7870-si-radeon", "0000:01:00.0", {"temperature_celsius": 27, "fan_percent": 20, "utilization_percent": None}),
    ("phoenix-apu-780m", "0000:64:00.0", {"memory_total_mb": 34073.777344, "memory_kind": "shared", "power_watts": 3.103}),
    ("r7-240-si-amdgpu", "0000:01:00.0", {"clock_graphics_mhz": 400, "power_watts": None, "fan_rpm": None}),
    ("rx5500xt-rdna1", "0000:04:00.0", {"temperature_memory_celsius": None, "pcie_width": 8, "memory_total_mb": None}),
    ("rx580-polaris", "0000:09:00.0", {"utilization_percent": 11, "power_watts": 41.045, "temperature_limit_celsius": 94}),
    ("rx6900xt-rdna2", "0000:0c:00.0", {"uuid": "amd-000000000000100c", "throttle_reasons": [], "fan_rpm": 0}),
    ("rx7900xtx-rdna3", "0000:03:00.0", {"clock_graphics_mhz": 31, "temperature_hotspot_celsius": 61}),
    ("rx9070-rdna4", "0000:03:00.0", {"pcie_generation": 4, "fan_percent": 45.9}),
    ("vega56-gfx9", "0000:0b:00.0", {"fan_rpm": 5, "memory_used_mb": 15.84375}),
    ("arc-a380-i915", "0000:0b:00.0", {"temperature_celsius": 55, "power_limit_watts": 55, "pcie_width": None}),
    ("arc-a380-xe", "0000:08:00.0", {"temperature_memory_celsius": 54, "fan_rpm": 945}),
    ("laptop-rx6700m-0rpm", "0000:03:00.0", {"fan_rpm": 0, "fan_percent": 0, "power_watts": 6, "temperature_hotspot_celsius": 43}),
    ("steamdeck-vangogh", "0000:04:00.0", {"memory_kind": "shared", "fan_rpm": 3120, "power_watts": 9.8, "power_limit_watts": 15}),
    ("cometlake-i915", "0000:00:02.0", {"clock_graphics_mhz": 300, "pcie_generation": None}),
]


@pytest.mark.parametrize("name,address,expected", RECORDED, ids=[row[0] for row in RECORDED])
def test_a_recorded_card_shows_what_its_files_say(whirr, tmp_path, name, address, expected):
    body = whirr("status", "--full", "--json", "--sysroot", recorded.expand(name, tmp_path / "machine")).json()
    gpu = next(g for g in body["gpus"] if g["pci_address"] == address)
    shapes.check_gpu(gpu)
    for key, value in expected.items():
        assert gpu[key] == value, key
        if value is None:
            assert gpu["absent"][key] in ("unsupported", "pending"), key


def test_processes_in_containers_have_their_names_users_and_models(whirr, tmp_path):
    root = recorded.expand("container-host", tmp_path / "machine")
    rows = whirr("ps", "--json", "--sysroot", root).json()["processes"]
    assert {(p["gpu_index"], p["name"], p["user"], p["container"], p["model"]) for p in rows} == {
        (0, "python3", "alice", "docker:a1a1a1a1a1a1", "meta-llama/Llama-3.1-8B"),
        (1, "vllm", "root", "k8s:b2b2b2b2-b2b2-b2b2-b2b2-b2b2b2b2b2b2/b2b2b2b2b2b2", "mistralai/Mistral-7B-v0.1"),
        (1, "Xorg", "root", None, None),
        (1, "comfyui", "4242", None, None)}


def test_a_fan_that_the_platform_runs_is_no_fault(whirr, tmp_path):
    root = recorded.expand("laptop-rx6700m-0rpm", tmp_path / "machine")
    assert [g["state"] for g in whirr("health", "--json", "--sysroot", root).json()["gpus"]] == ["healthy"]
    assert [g["fan_state"] for g in whirr("status", "--json", "--sysroot", root).json()["gpus"]] == ["off"]
    causes = [c["code"] for g in whirr("why", "--json", "--sysroot", root).json()["gpus"] for c in g["causes"]]
    assert not [code for code in causes if code.startswith("fan_")]


def test_a_host_without_gpu_is_fine(whirr, tmp_path):
    root = recorded.expand("no-gpu", tmp_path / "machine")
    assert whirr("status", "--json", "--sysroot", root).json()["gpus"] == []


def write(root, files):
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def card(root, name, driver, address, ids, render, **files):
    base = f"sys/class/drm/{name}/device"
    write(root, {f"{base}/uevent": f"DRIVER={driver}\nPCI_ID={ids}\nPCI_SLOT_NAME={address}\n", f"{base}/drm/renderD{render}/dev": "226:1\n"})
    write(root, {f"{base}/{path.replace('__', '/')}": text for path, text in files.items()})


@pytest.fixture
def three_vendors(tmp_path):
    card(tmp_path, "card2", "amdgpu", "0000:03:00.0", "1002:744C", 130, gpu_busy_percent="37\n", mem_info_vram_total="1073741824\n",
         mem_info_vram_used="536870912\n")
    card(tmp_path, "card0", "i915", "0000:00:02.0", "8086:9B41", 128)
    card(tmp_path, "card1", "nouveau", "0000:01:00.0", "10DE:1B80", 129, hwmon__hwmon1__temp1_input="44000\n")
    write(tmp_path, {
        "proc/4242/comm": "game\n",
        "proc/4242/stat": "4242 (game) S 1 4242 4242 0 -1 4194304 0 0 0 0 10 5 0 0 20 0 1 0 4242 1000000 300\n",
        "proc/4242/fdinfo/5": "drm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram:\t204800 KiB\n"
                              "drm-memory-vram:\t204800 KiB\ndrm-engine-gfx:\t1000 ns\n"})
    (tmp_path / "proc/4242/fd").mkdir()
    (tmp_path / "proc/4242/fd/5").symlink_to("/dev/dri/renderD130")
    return str(tmp_path)


def test_three_vendors_share_a_host(whirr, three_vendors):
    gpus = whirr("status", "--json", "--sysroot", three_vendors).json()["gpus"]
    assert [(g["vendor"], g["source"]) for g in gpus] == [("nvidia", "drm"), ("intel", "intel"), ("amd", "amdgpu")]
    chosen = whirr("status", "--json", "--sysroot", three_vendors, "--gpu", "0000:03:00.0").json()["gpus"]
    assert [g["name"] for g in chosen] == ["AMD Radeon RX 7900 XT/XTX"]
    assert chosen[0]["memory_free_mb"] == 512


def test_processes_of_a_card_have_names(whirr, three_vendors):
    processes = whirr("ps", "--json", "--sysroot", three_vendors).json()["processes"]
    assert [(p["gpu_index"], p["pid"], p["name"], p["memory_mb"], p["type"]) for p in processes] == [(2, 4242, "game", 200, "graphics")]


def test_a_sleeping_card_is_shown_asleep(whirr, tmp_path):
    card(tmp_path, "card0", "amdgpu", "0000:03:00.0", "1002:744C", 128, power__runtime_status="suspended\n", gpu_busy_percent="99\n")
    gpu = whirr("status", "--json", "--sysroot", str(tmp_path)).json()["gpus"][0]
    assert gpu["state"] == "asleep" and gpu["utilization_percent"] is None and gpu["absent"]["utilization_percent"] == "asleep"


def test_amds_own_program_stands_in_where_the_files_are_missing(whirr, tmp_path):
    program = tmp_path / "rocm-smi"
    program.write_text("#!/bin/sh\necho '{\"card0\": {\"PCI Bus\": \"0000:1E:00.0\", \"GPU use (%)\": \"5\", \"Card series\": \"A [Instinct MI100]\"}}'\n")
    program.chmod(0o755)
    (tmp_path / "root").mkdir()
    gpus = whirr("status", "--json", "--sysroot", str(tmp_path / "root"), WHIRR_ROCM_SMI=str(program)).json()["gpus"]
    assert [(g["source"], g["name"], g["pci_address"], g["utilization_percent"]) for g in gpus] == [
        ("rocm-smi", "AMD Instinct MI100", "0000:1e:00.0", 5)]
