# SPDX-License-Identifier: Apache-2.0
"""Drivers and kernels that answer with garbage: what cannot be true is absent with that reason, counted, and on no surface."""
import json
import pathlib
import re

import pytest
import recorded
from isolation import ROOT, linux_only, run_whirr

GARBAGE = [4294967295, -2147483648, 2147483647, 9223372036854775807]  # NVML counts in 32 bits and in 64
KEYS = re.findall(r"KEY\((\w+),", (ROOT / "tests/fakes/nvml/fake.h").read_text().split("/* clang-format on */")[0])
# What these say of a GPU is no reading: how many there are of something, modes, what it can do.
NO_READING = {"margin", "fans", "brand", "architecture", "cc_major", "cc_minor", "virtualization", "gpm", "gone", "process_utilization", "addressing", "board", "mig", "mig_private", "sessions"}
LIMITS = {"celsius": (-1 / 2, 150), "percent": (0, 200), "watts": (0, 20000), "mhz": (0, 60000), "volts": (0, 60), "rpm": (0, 50000), "mb": (0, 1 << 26),
          "joules": (0, 1e13), "seconds": (-1, 1e10), "second": (0, 1e15)}


def absurd(body, where=""):
    """Numbers that no GPU or host has, by the unit at the end of the key."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield from absurd(value, f"{where}.{key}")
    elif isinstance(body, list):
        for i, value in enumerate(body):
            yield from absurd(value, f"{where}[{i}]")
    elif isinstance(body, (int, float)) and not isinstance(body, bool):
        key = where.rsplit(".", 1)[-1].split("[")[0]
        least, most = LIMITS.get(key.rsplit("_", 1)[-1], (-1e16, 1e16))
        if key == "cpu_percent" and ".processes" in where:
            most = 1e8
        if not least <= body <= most or body == 4294967295:
            yield where, body


def all_ones(text):
    """Lines with what becomes of such numbers; so many bytes of memory or joules are fine."""
    return [line for line in text.splitlines() if re.search(r"(?<![\w.:-])-1 ?°C|4294967|2147483|922337203|1844674407", line) and "_bytes" not in line and "_joules" not in line][:5]


@linux_only("the driver of 80 GPUs looks at its script with each call, which takes seconds there")
@pytest.mark.parametrize("garbage", GARBAGE)
def test_nvml_with_garbage_in_each_answer(nvml, garbage):
    keys = [key for key in KEYS if key not in NO_READING]
    script = "".join(f"gpu Card {key}\n process parent compute 1000 50 10\n {key} {garbage}\n" for key in keys)
    body = nvml(script, "--json", "--full").json()
    assert len(body["gpus"]) == len(keys) > 60
    assert list(absurd(body)) == []
    found = {gpu["name"].split()[-1]: [key for key, why in gpu["absent"].items() if why == "implausible"] for gpu in body["gpus"]}
    assert found["temperature"] == ["temperature_celsius"] and found["gpu_util"][0] == "utilization_percent", found
    assert {"power", "gpu_util", "graphics", "pcie_width", "ecc", "rpm", "fan"} <= {key for key, names in found.items() if names}, found
    source = next(s for s in body["source_status"] if s["name"] == "nvml")
    assert source["implausible_total"] >= sum(map(len, found.values())) > 10
    for words in (("status",), ("ps",), ("why",), ("health",), ("export",), ("devices",)):
        assert all_ones(nvml(script, *words).out) == [], words
    text = nvml(script, "export").out
    assert re.search(r'^whirr_source_implausible_total\{.*source="nvml".*\} \d\d', text, re.M), text[-2000:]


def test_a_process_has_no_more_than_the_gpu(nvml):
    script = "gpu A\n total 24564\n process parent compute 40000 50 10\n process 1 compute 1000\n row 1 10 37100 4294967295 101 5\n"
    body = nvml(script, "ps", "--json").json()
    mine = {p["pid"]: p for p in body["processes"]}
    big, = [p for pid, p in mine.items() if pid != 1]
    assert big["memory_mb"] is None and big["absent"]["memory_mb"] == "implausible"
    assert mine[1]["memory_mb"] == 1000 and list(absurd(body)) == []


def test_doctor_and_full_name_them(nvml):
    script = "gpu A\n temperature 4294967295\n"
    assert "implausible" in nvml(script, "doctor", "-v").out and "implausible" in nvml(script, "status", "--full").out
    assert "–" in nvml(script, "status").out


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(p.stem for p in recorded.FOLDER.glob("*.machine")))
def test_no_recorded_machine_is_implausible(name, tmp_path):
    root = recorded.expand(name, tmp_path / "machine")
    done = run_whirr("--sysroot", root, "--json", "--full", **recorded.answers(root))
    assert "implausible\"" not in done.stdout and "nan" not in done.stdout
    assert not re.search(r'"implausible_total": ?[1-9]', done.stdout), done.stdout


FILES = re.compile(r"(temp\d+_\w+|in\d_input|fan\d_\w+|power\d_\w+|freq\d_input|pwm\d|energy\d_input|gpu_busy_percent|mem_busy_percent|mem_info_\w+|current_link_\w+|max_link_\w+"
                   r"|act_freq|cur_freq|rp0_freq|gt_\w+_mhz|meminfo|loadavg)$")


@linux_only("it has no such files")
@pytest.mark.parametrize("name", ["rx6900xt-rdna2", "rx7900xtx-rdna3", "arc-a380-i915", "arc-a380-xe", "steamdeck-vangogh", "vega56-gfx9"])
def test_kernel_files_with_garbage(name, tmp_path):
    root = pathlib.Path(recorded.expand(name, tmp_path / "machine"))
    files = [p for p in root.rglob("*") if FILES.match(p.name) and p.is_file() and not p.is_symlink()]
    assert len(files) >= 3
    for garbage in ("4294967295", "-1", "-2147483648", "18446744073709551615", "99999999999999999999", "65535000000"):
        for file in files:
            if garbage in ("4294967295", "65535000000") and "mem" in file.name:
                continue  # as many bytes as some have
            numbers = re.sub(r"(?<![\w.])-?\d+(\.\d+)?", garbage, file.read_text()) if file.name in ("meminfo", "loadavg") else garbage + "\n"
            file.chmod(0o644)
            file.write_text(numbers)
        body = json.loads(run_whirr("--sysroot", str(root), "--json", "--full").stdout)
        assert list(absurd(body)) == [], garbage
        for words in (("status",), ("why",), ("export",)):
            assert all_ones(run_whirr("--sysroot", str(root), *words).stdout) == [], (words, garbage)
