# SPDX-License-Identifier: Apache-2.0
"""GPUs whose memory is the host's: what is promised is what the host has left."""
import pytest
from recorded import expand

GIB = 1024


@pytest.fixture
def on(whirr, tmp_path):
    def run(machine, *args, available_kib=None):
        root = tmp_path / machine
        if not root.exists():
            expand(machine, root)
        meminfo = root / "proc/meminfo"
        if available_kib is not None:
            lines = [line for line in meminfo.read_text().splitlines() if not line.startswith("MemAvailable")]
            meminfo.write_text("\n".join([*lines, f"MemAvailable: {available_kib} kB", ""]))
        return whirr("--sysroot", str(root), *args, "--json")
    return run


@pytest.mark.parametrize("machine", ["strix-halo-apu", "lunarlake-xe", "jetson-xavier-nx", "rk3588-panthor"])
def test_what_the_host_does_not_have_does_not_fit(on, machine):
    """The limit of amdgpu's GTT is 108 GiB on that host."""
    no = on(machine, "fit", "20GiB", available_kib=4 << 20)
    assert no.json(1)["fits"] is False and "host memory" in no.json(1)["reason"], no.out
    yes = on(machine, "fit", "3GiB", available_kib=4 << 20)
    assert yes.code == 0 and yes.json()["fits"] is True, yes.out
    all_of_it = on(machine, "fit", "4GiB", available_kib=4 << 20) if machine != "strix-halo-apu" else no
    assert all_of_it.code == 1, "some is left to the host"


def test_resources_say_which_memory_it_is(on):
    body = on("strix-halo-apu", "resources").json()
    assert body["gpu_memory_kind"] == "shared" and 62 < body["gpu_total_vram_gb"] < 63
    assert body["gpu_free_vram_gb"] < 5, "not what the limit of GTT leaves"


def test_wait_is_bounded_by_the_host(on):
    done = on("strix-halo-apu", "wait", "--gpu-free", "20GiB", "--timeout", "1s", available_kib=4 << 20)
    assert done.code == 1


@pytest.mark.parametrize("machine, free", [("phoenix-apu-780m", 32658), ("steamdeck-vangogh", 5459)])
def test_an_apu_has_free_what_the_driver_counts_where_the_host_says_nothing(on, machine, free):
    """These recordings have no /proc/meminfo: unused of the carve-out and of GTT."""
    gpu = on(machine, "status").json()["gpus"][0]
    assert int(gpu["memory_free_mb"]) == free and "memory_free_mb" not in gpu["absent"]
