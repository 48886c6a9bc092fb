# SPDX-License-Identifier: Apache-2.0
"""Settings of AMD and Intel GPUs, on copies of the kernel's files that can be written: the old values come back, whatever ends the command."""
import json
import pathlib
import signal
import subprocess

import pytest
from isolation import WHIRR, environment
from waiting import eventually

AMD = {
    "uevent": "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:0a:00.0\n",
    "drm/renderD128/dev": "226:128", "drm/card0/dev": "226:0", "gpu_busy_percent": "97", "mem_info_vram_total": str(16 << 30), "mem_info_vram_used": str(4 << 30),
    "power_dpm_force_performance_level": "auto",
    "hwmon/hwmon2/name": "amdgpu", "hwmon/hwmon2/power1_average": "250000000", "hwmon/hwmon2/temp1_input": "61000",
    "hwmon/hwmon2/power1_cap": "260000000", "hwmon/hwmon2/power1_cap_min": "100000000", "hwmon/hwmon2/power1_cap_max": "312000000",
    "hwmon/hwmon2/power1_cap_default": "272000000", "hwmon/hwmon2/pwm1_enable": "2", "hwmon/hwmon2/pwm1": "64", "hwmon/hwmon2/pwm1_max": "255",
    "hwmon/hwmon2/fan1_input": "1200",
}
XE = {
    "uevent": "DRIVER=xe\nPCI_CLASS=30000\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:03:00.0\n",
    "drm/renderD128/dev": "226:128", "drm/card0/dev": "226:0",
    "hwmon/hwmon3/name": "xe", "hwmon/hwmon3/power1_max": "180000000", "hwmon/hwmon3/power1_rated_max": "190000000",
    "tile0/gt0/freq0/act_freq": "2400", "tile0/gt0/freq0/min_freq": "400", "tile0/gt0/freq0/max_freq": "2850",
    "tile0/gt0/freq0/rpn_freq": "400", "tile0/gt0/freq0/rp0_freq": "2850",
}
I915 = {
    "uevent": "DRIVER=i915\nPCI_CLASS=30000\nPCI_ID=8086:56A0\nPCI_SLOT_NAME=0000:03:00.0\n",
    "drm/renderD128/dev": "226:128", "drm/card0/dev": "226:0",
    "hwmon/hwmon3/name": "i915", "hwmon/hwmon3/power1_max": "180000000", "hwmon/hwmon3/power1_rated_max": "190000000",
    "../gt_min_freq_mhz": "300", "../gt_max_freq_mhz": "2450", "../gt_RPn_freq_mhz": "300", "../gt_RP0_freq_mhz": "2450", "../gt_act_freq_mhz": "1200",
}


class Tree:
    def __init__(self, folder, files):
        self.folder, self.card, self.started = folder, folder / "root/sys/class/drm/card0", []
        self.write("../dev", "226:0")
        for name, text in files.items():
            self.write(name, text)
        proc = folder / "root/proc/7"
        (proc / "fd").mkdir(parents=True)
        (proc / "comm").write_text("init\n")
        (proc / "stat").write_text("7 (init) S 1 7 7 0 -1 4194304 0 0 0 0 10 5 0 0 20 0 1 0 4242 1000000 300\n")

    def path(self, name):
        return self.card / name[3:] if name.startswith("../") else self.card / "device" / name

    def write(self, name, text):
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(f"{text}\n")

    def read(self, name):
        return self.path(name).read_text().strip()

    def command(self, *args):
        return [WHIRR, "--sysroot", str(self.folder / "root"), *map(str, args)], environment(WHIRR_LEASE_DIR=str(self.folder / "leases"), WHIRR_CONTROL_SOCKET=str(self.folder / "none"))

    def __call__(self, *args):
        command, env = self.command(*args)
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def start(self, *args):
        command, env = self.command(*args)
        self.started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True))
        return self.started[-1]

    def files(self):
        return list((self.folder / "leases-settings").glob("*.json"))

    def during(self, name, *args):
        """What a file says while a command keeps its change, and afterwards."""
        done = self(*args, "--", "cat", self.path(name))
        assert done.returncode == 0, done.stderr
        assert not self.files()
        return done.stdout.strip(), self.read(name)


@pytest.fixture
def tree(tmp_path):
    made = []

    def make(files):
        made.append(Tree(tmp_path, files))
        return made[-1]

    yield make
    for one in made:
        for process in one.started:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=60)


def test_amd_limit_fan_and_level_come_back(tree):
    amd = tree(AMD)
    cap = "hwmon/hwmon2/power1_cap"
    assert amd.during(cap, "limit", "200W") == ("200000000", "260000000"), "what was requested before, not what is stock"
    assert amd.during(cap, "limit", "75%") == ("204000000", "260000000")
    assert amd.during("hwmon/hwmon2/pwm1", "fan", "40%")[0] == "102"
    assert amd.read("hwmon/hwmon2/pwm1_enable") == "2", "the fan is automatic again"
    assert amd.during("power_dpm_force_performance_level", "clocks", "low") == ("low", "auto")
    refused = amd("limit", "90W")
    assert refused.returncode == 1 and "100 W to 312 W" in refused.stderr and amd.read(cap) == "260000000"
    answer = json.loads(amd("quiet", "--dry-run", "--json").stdout)
    assert [(c["what"], c["now"], c["new"]) for c in answer["changes"]] == [("power_limit", "260 W", "190 W")]


@pytest.mark.parametrize("args,written", [
    (["limit", "200W"], {"hwmon/hwmon2/power1_cap": "200000000"}), (["fan", "40%"], {"hwmon/hwmon2/pwm1_enable": "1", "hwmon/hwmon2/pwm1": "102"}),
    (["clocks", "low"], {"power_dpm_force_performance_level": "low"}),
], ids=["limit", "fan", "clocks"])
def test_the_command_that_a_dry_run_names_does_the_same(tree, args, written):
    amd = tree(AMD)
    change, = json.loads(amd(*args, "--dry-run", "--json").stdout)["changes"]
    assert {name: AMD[name] for name in written} == {name: amd.read(name) for name in written}
    subprocess.run(["sh", "-c", change["command"].replace("/sys/", f"{amd.folder}/root/sys/")], check=True)
    assert {name: amd.read(name) for name in written} == written


@pytest.mark.parametrize("files,low,high,fastest", [
    (XE, "tile0/gt0/freq0/min_freq", "tile0/gt0/freq0/max_freq", "2850"), (I915, "../gt_min_freq_mhz", "../gt_max_freq_mhz", "2450"),
], ids=["xe", "i915"])
def test_intel_limit_and_clocks_come_back(tree, files, low, high, fastest):
    intel = tree(files)
    limit = "hwmon/hwmon3/power1_max"
    assert intel.during(limit, "limit", "120W") == ("120000000", "180000000")
    assert intel.during(high, "clocks", "800-1200") == ("1200", fastest)
    assert intel.during(low, "clocks", "800-1200") == ("800", files[low])
    for nothing in ("0", "0W", "0%"):
        assert intel("limit", nothing).returncode != 0 and intel.read(limit) == "180000000", "0 would switch the limit off"
    fan = intel("fan", "40%")
    assert fan.returncode == 1 and "fan" in fan.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("files,name", [(AMD, "hwmon/hwmon2/power1_cap"), (XE, "hwmon/hwmon3/power1_max")], ids=["amd", "xe"])
def test_a_signal_puts_it_back(tree, files, name, number):
    gpu = tree(files)
    process = gpu.start("limit", "150W", "--for", "10m")
    eventually(lambda: gpu.read(name) == "150000000" and gpu.files() and '"step":"active"' in gpu.files()[0].read_text())
    process.send_signal(number)
    process.wait(60)
    assert gpu.read(name) == files[name] and not gpu.files()


def test_after_kill_9_the_next_command_puts_it_back_and_another_programs_value_stays(tree):
    amd = tree(AMD)
    cap = "hwmon/hwmon2/power1_cap"
    for found, left in ((None, "260000000"), ("222000000", "222000000")):
        amd.write(cap, "260000000")
        process = amd.start("limit", "150W", "--for", "10m")
        eventually(lambda: amd.files() and '"step":"active"' in amd.files()[0].read_text())
        if found:
            amd.write(cap, found)
        process.kill()
        process.wait(60)
        assert amd("fan", "auto").returncode == 0
        assert amd.read(cap) == left and not amd.files()
