# SPDX-License-Identifier: Apache-2.0
"""The machine around the GPUs, from the files of a recorded one."""
import json

from isolation import linux_only

FILES = {
    "proc/sys/kernel/hostname": "recorded\n",
    "proc/stat": "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 50 0 50 350 50 0 0 0\ncpu1 50 0 50 350 50 0 0 0\nintr 1\n",
    "proc/meminfo": "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\nSwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n",
    "proc/loadavg": "3.50 1.00 0.50 1/200 99\n",
    "proc/net/dev": "h\nh\n eth0: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n",
    "proc/diskstats": "8 0 sda 1 0 2 1 1 0 2 1 0 5 1\n",
    "proc/pressure/memory": "some avg10=7.50 avg60=0 avg300=0 total=1\nfull avg10=2.00 avg60=0 avg300=0 total=1\n",
    "sys/block/sda/device/model": "d\n",
    "sys/class/hwmon/hwmon3/name": "k10temp\n",
    "sys/class/hwmon/hwmon3/temp1_input": "61250\n",
    "sys/class/hwmon/hwmon4/name": "power_meter\n",
    "sys/class/hwmon/hwmon4/power1_average": "412500000\n",
    "sys/class/powercap/intel-rapl:0/name": "package-0\n",
    "sys/class/powercap/intel-rapl:0/max_energy_range_uj": "262143328850\n",
    "sys/class/powercap/intel-rapl:0/energy_uj": "1000000\n",
}


@linux_only("it has no such files")
def test_every_reading_comes_from_the_sysroot_and_what_is_not_there_is_absent(whirr, tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    body = whirr("status", "--json", "--sysroot", tmp_path).json()
    machine = body["machine"]
    assert body["host"] == "recorded"
    assert machine["memory_total_mb"] == 16384 and machine["memory_available_mb"] == 4096 and machine["memory_percent"] == 75
    assert machine["swap_used_mb"] == 1024 and machine["load_average_1m"] == 3.5 and machine["cpu_count"] == 2
    assert machine["memory_pressure_percent"] == 7.5 and machine["memory_stall_percent"] == 2 and machine["cpu_temperature_celsius"] == 61.25
    assert machine["cpu_pressure_percent"] is None and machine["absent"]["cpu_pressure_percent"] == "unsupported"
    assert machine["absent"]["network_rx_bytes_per_second"] == "pending" and machine["absent"]["disk_busy_percent"] == "pending"
    assert machine["power_watts"] == 412.5 and machine["absent"]["cpu_power_watts"] == "pending"
    assert set(machine["absent"]) == {key for key, value in machine.items() if value is None}
    text = whirr("resources", "--sysroot", tmp_path).out
    assert "412 W for the whole host" in text or "413 W for the whole host" in text
    assert "work waits 7% of the time for memory" in text and "12.0/16.0 GiB" in text


def test_rates_come_with_the_second_sample(whirr):
    flat = whirr("resources", "--json").json()
    for key in ("cpu_percent", "cpu_core_max_percent", "network_rx_bytes_per_second", "disk_busy_percent"):
        assert flat[key] is None or flat[key] >= 0
    assert flat["cpu_percent"] is not None
    json.dumps(flat, allow_nan=False)
