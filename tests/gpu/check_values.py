#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every number that nvidia-smi shows, against whirr's: ours must lie between two readings of nvidia-smi taken before and after.

usage: tests/gpu/check_values.py PATH_OF_WHIRR [--load] [--rounds N] [--source nvml|nvidia-smi]

--load runs a matrix multiplication on the first GPU meanwhile (needs torch). A reading that moves may by chance be outside of two
readings that are a second apart, so each metric has several rounds; it passes when one of them holds. What does not move passes
in the first. Exit status 1 when a metric never held, or when whirr has no value where nvidia-smi has one (or the reverse).
"""
import argparse
import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

# key of whirr: (path in nvidia-smi -q -x, half of its last digit)
NUMBERS = {
    "utilization_percent": ("utilization/gpu_util", 0.5),
    "memory_utilization_percent": ("utilization/memory_util", 0.5),
    "encoder_percent": ("utilization/encoder_util", 0.5),
    "decoder_percent": ("utilization/decoder_util", 0.5),
    "jpeg_percent": ("utilization/jpeg_util", 0.5),
    "ofa_percent": ("utilization/ofa_util", 0.5),
    "memory_total_mb": ("fb_memory_usage/total", 1),
    "memory_reserved_mb": ("fb_memory_usage/reserved", 1),
    "memory_used_mb": ("fb_memory_usage/used", 1),
    "memory_free_mb": ("fb_memory_usage/free", 1),
    "bar1_total_mb": ("bar1_memory_usage/total", 1),
    "bar1_used_mb": ("bar1_memory_usage/used", 1),
    "protected_memory_total_mb": ("cc_protected_memory_usage/total", 1),
    "protected_memory_used_mb": ("cc_protected_memory_usage/used", 1),
    "temperature_celsius": ("temperature/gpu_temp", 0.5),
    "temperature_margin_celsius": ("temperature/gpu_temp_tlimit", 0.5),
    "temperature_memory_celsius": ("temperature/memory_temp", 0.5),
    "fan_percent": ("fan_speed", 0.5),
    "power_watts": ("gpu_power_readings/instant_power_draw|gpu_power_readings/power_draw|power_readings/power_draw", 0.01),
    "power_average_watts": ("gpu_power_readings/average_power_draw", 0.01),
    "power_instant_watts": ("gpu_power_readings/instant_power_draw", 0.01),
    "power_limit_watts": ("gpu_power_readings/current_power_limit|power_readings/enforced_power_limit", 0.01),
    "power_limit_requested_watts": ("gpu_power_readings/requested_power_limit|power_readings/power_limit", 0.01),
    "power_limit_default_watts": ("gpu_power_readings/default_power_limit|power_readings/default_power_limit", 0.01),
    "power_limit_min_watts": ("gpu_power_readings/min_power_limit|power_readings/min_power_limit", 0.01),
    "power_limit_max_watts": ("gpu_power_readings/max_power_limit|power_readings/max_power_limit", 0.01),
    "power_memory_watts": ("gpu_memory_power_readings/average_power_draw", 0.01),
    "power_module_watts": ("module_power_readings/average_power_draw", 0.01),
    "power_module_limit_watts": ("module_power_readings/current_power_limit", 0.01),
    "clock_graphics_mhz": ("clocks/graphics_clock", 0.5),
    "clock_sm_mhz": ("clocks/sm_clock", 0.5),
    "clock_memory_mhz": ("clocks/mem_clock", 0.5),
    "clock_video_mhz": ("clocks/video_clock", 0.5),
    "clock_graphics_max_mhz": ("max_clocks/graphics_clock", 0.5),
    "clock_sm_max_mhz": ("max_clocks/sm_clock", 0.5),
    "clock_memory_max_mhz": ("max_clocks/mem_clock", 0.5),
    "clock_video_max_mhz": ("max_clocks/video_clock", 0.5),
    "clock_boost_max_mhz": ("max_customer_boost_clocks/graphics_clock", 0.5),
    "clock_application_graphics_mhz": ("applications_clocks/graphics_clock", 0.5),
    "clock_application_memory_mhz": ("applications_clocks/mem_clock", 0.5),
    "clock_application_graphics_default_mhz": ("default_applications_clocks/graphics_clock", 0.5),
    "clock_application_memory_default_mhz": ("default_applications_clocks/mem_clock", 0.5),
    "throttle_power_seconds": ("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap", 1),
    "throttle_sync_boost_seconds": ("clocks_event_reasons_counters/clocks_event_reasons_counters_sync_boost", 1),
    "throttle_thermal_seconds": ("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown", 1),
    "pcie_generation": ("pci/pci_gpu_link_info/pcie_gen/current_link_gen", 0),
    "pcie_generation_max": ("pci/pci_gpu_link_info/pcie_gen/max_link_gen", 0),
    "pcie_generation_card_max": ("pci/pci_gpu_link_info/pcie_gen/max_device_link_gen", 0),
    "pcie_width": ("pci/pci_gpu_link_info/link_widths/current_link_width", 0),
    "pcie_width_max": ("pci/pci_gpu_link_info/link_widths/max_link_width", 0),
    "pcie_replays": ("pci/replay_counter", 0),
    "pcie_replay_rollovers": ("pci/replay_rollover_counter", 0),
    "encoder_sessions": ("encoder_stats/session_count", 0),
    "encoder_frames_per_second": ("encoder_stats/average_fps", 0),
    "capture_sessions": ("fbc_stats/session_count", 0),
    "capture_frames_per_second": ("fbc_stats/average_fps", 0),
    "ecc_sram_corrected": ("ecc_errors/volatile/sram_correctable", 0),
    "ecc_sram_uncorrected_parity": ("ecc_errors/volatile/sram_uncorrectable_parity", 0),
    "ecc_sram_uncorrected_secded": ("ecc_errors/volatile/sram_uncorrectable_secded", 0),
    "ecc_dram_corrected": ("ecc_errors/volatile/dram_correctable", 0),
    "ecc_dram_uncorrected": ("ecc_errors/volatile/dram_uncorrectable", 0),
    "ecc_sram_corrected_lifetime": ("ecc_errors/aggregate/sram_correctable", 0),
    "ecc_sram_uncorrected_parity_lifetime": ("ecc_errors/aggregate/sram_uncorrectable_parity", 0),
    "ecc_sram_uncorrected_secded_lifetime": ("ecc_errors/aggregate/sram_uncorrectable_secded", 0),
    "ecc_dram_corrected_lifetime": ("ecc_errors/aggregate/dram_correctable", 0),
    "ecc_dram_uncorrected_lifetime": ("ecc_errors/aggregate/dram_uncorrectable", 0),
    "ecc_sram_uncorrected_l2_lifetime": ("ecc_errors/aggregate_uncorrectable_sram_sources/sram_l2", 0),
    "ecc_sram_uncorrected_sm_lifetime": ("ecc_errors/aggregate_uncorrectable_sram_sources/sram_sm", 0),
    "ecc_sram_uncorrected_mcu_lifetime": ("ecc_errors/aggregate_uncorrectable_sram_sources/sram_microcontroller", 0),
    "ecc_sram_uncorrected_pcie_lifetime": ("ecc_errors/aggregate_uncorrectable_sram_sources/sram_pcie", 0),
    "ecc_sram_uncorrected_other_lifetime": ("ecc_errors/aggregate_uncorrectable_sram_sources/sram_other", 0),
    "retired_pages_single_bit": ("retired_pages/multiple_single_bit_retirement/retired_count", 0),
    "retired_pages_double_bit": ("retired_pages/double_bit_retirement/retired_count", 0),
    "remapped_rows_corrected": ("remapped_rows/remapped_row_corr", 0),
    "remapped_rows_uncorrected": ("remapped_rows/remapped_row_unc", 0),
    "remap_banks_max": ("remapped_rows/row_remapper_histogram/row_remapper_histogram_max", 0),
    "remap_banks_high": ("remapped_rows/row_remapper_histogram/row_remapper_histogram_high", 0),
    "remap_banks_partial": ("remapped_rows/row_remapper_histogram/row_remapper_histogram_partial", 0),
    "remap_banks_low": ("remapped_rows/row_remapper_histogram/row_remapper_histogram_low", 0),
    "remap_banks_none": ("remapped_rows/row_remapper_histogram/row_remapper_histogram_none", 0),
    "device_minor": ("minor_number", 0),
    "module_id": ("platformInfo/module_id", 0),
    "platform_slot": ("platformInfo/slot_number", 0),
    "platform_tray": ("platformInfo/tray_index", 0),
    "platform_host": ("platformInfo/host_id", 0),
}
# The two describe the same with different words on one side: the distance in degrees to a limit, here as a temperature.
TLIMITS = {
    "temperature_shutdown_celsius": "temperature/gpu_temp_max_tlimit_threshold",
    "temperature_limit_celsius": "temperature/gpu_temp_slow_tlimit_threshold",
    "temperature_max_operating_celsius": "temperature/gpu_temp_max_gpu_tlimit_threshold",
}
# Older cards show these as temperatures.
THRESHOLDS = {
    "temperature_shutdown_celsius": "temperature/gpu_temp_max_threshold",
    "temperature_limit_celsius": "temperature/gpu_temp_slow_threshold",
    "temperature_max_operating_celsius": "temperature/gpu_temp_max_gpu_threshold",
    "temperature_target_celsius": "temperature/gpu_target_temperature",
}
SWITCHES = {
    "persistence_mode": "persistence_mode", "display_active": "display_active", "accounting_mode": "accounting_mode",
    "mig_enabled": "mig_mode/current_mig", "mig_enabled_pending": "mig_mode/pending_mig", "ecc_enabled": "ecc_mode/current_ecc",
    "ecc_enabled_pending": "ecc_mode/pending_ecc", "multi_gpu_board": "multigpu_board", "c2c_enabled": "c2c_mode",
    "dram_encryption": "dram_encryption_mode/current_dram_encryption",
    "remapped_rows_pending": "remapped_rows/remapped_row_pending", "remapped_rows_failed": "remapped_rows/remapped_row_failure",
    "channel_repair_pending": "ecc_errors/channel_repair_pending", "tpc_repair_pending": "ecc_errors/tpc_repair_pending",
    "unrepairable_memory": "ecc_errors/unrepairable_memory", "retired_pages_pending": "retired_pages/pending_retirement",
    "ecc_sram_threshold_exceeded": "ecc_errors/aggregate/sram_threshold_exceeded",
}
WORDS = {
    "name": "product_name", "uuid": "uuid", "brand": "product_brand", "architecture": "product_architecture", "serial": "serial",
    "vbios_version": "vbios_version", "part_number": "board_part_number", "board_id": "board_id",
    "inforom_version": "inforom_version/img_version", "gsp_firmware": "gsp_firmware_version",
    "virtualization": "gpu_virtualization_mode/virtualization_mode", "performance_state": "performance_state",
    "addressing_mode": "addressing_mode", "compute_mode": "compute_mode", "recovery_action": "gpu_recovery_action",
}
REASONS = {
    "idle": "gpu_idle", "application clocks setting": "applications_clocks_setting", "power cap": "sw_power_cap",
    "hardware slowdown": "hw_slowdown", "hardware thermal slowdown": "hw_thermal_slowdown",
    "power brake": "hw_power_brake_slowdown", "sync boost": "sync_boost", "software thermal slowdown": "sw_thermal_slowdown",
    "display clock setting": "display_clocks_setting",
}
LOAD = """
import torch, time
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
while True:
    for _ in range(50): a @ a
    torch.cuda.synchronize()
"""


def smi():
    text = subprocess.run(["nvidia-smi", "-q", "-x"], check=True, capture_output=True, text=True).stdout
    return {gpu.findtext("uuid"): gpu for gpu in ET.fromstring(text).findall("gpu")}


def whirr(path, source):
    text = subprocess.run([path, "--source", source, "status", "--json", "--full", "--direct"], check=True, capture_output=True, text=True).stdout
    return {gpu["uuid"]: gpu for gpu in json.loads(text)["gpus"] if gpu["source"] == source}


def cell(gpu, paths):
    for path in paths.split("|"):
        text = gpu.findtext(path)
        if text is not None and text.strip() not in ("", "N/A", "[N/A]", "Unknown Error") and "deprecated" not in text:
            return text.strip()
    return None


def number(gpu, paths):
    text = cell(gpu, paths)
    found = re.match(r"-?[0-9.]+", text or "")
    if not found:
        return None
    value = float(found.group())
    return value / 1e6 if text.endswith(" us") else value


def switch(text):
    return None if text is None else text in ("Enabled", "Yes")


def plain(text):
    return None if text is None else re.sub(r"[^a-z0-9]", "", str(text).lower())


class Report:
    def __init__(self):
        self.held, self.missed = {}, {}

    def note(self, key, holds, what):
        if holds:
            self.held[key] = what
        else:
            self.missed[key] = what

    def between(self, key, ours, first, last, slack):
        if first is None and last is None:
            self.note(key, ours is None, f"whirr says {ours}, nvidia-smi nothing")
            return
        if ours is None or first is None or last is None:
            self.note(key, False, f"whirr says {ours}, nvidia-smi {first} and {last}")
            return
        low, high = min(first, last) - slack, max(first, last) + slack
        self.note(key, low <= ours <= high, f"{ours} in {low:g} .. {high:g}")


def compare(report, ours, before, after):
    for key, (path, slack) in NUMBERS.items():
        report.between(key, ours.get(key), number(before, path), number(after, path), slack + 1e-6)
    for key, path in TLIMITS.items():
        away = number(before, path)
        limit = number(before, THRESHOLDS[key])
        if away is not None:
            base = [number(g, "temperature/gpu_temp") + number(g, "temperature/gpu_temp_tlimit") for g in (before, after)]
            # The distance is told from the hottest spot, which runs ahead of the sensor under load: by 8 degrees at 70.
            report.between(key, ours.get(key), min(base) - away, max(base) - away, 10)
        else:
            report.between(key, ours.get(key), limit, limit, 0.5)
    report.between("temperature_target_celsius", ours.get("temperature_target_celsius"),
                   number(before, THRESHOLDS["temperature_target_celsius"]), number(after, THRESHOLDS["temperature_target_celsius"]), 0.5)
    for key, path in SWITCHES.items():
        theirs = [switch(cell(g, path)) for g in (before, after)]
        report.note(key, ours.get(key) in theirs, f"{ours.get(key)}, nvidia-smi {theirs}")
    for key, path in WORDS.items():
        theirs = [plain(cell(g, path)) for g in (before, after)]
        report.note(key, plain(ours.get(key)) in theirs, f"{ours.get(key)}, nvidia-smi {cell(before, path)}")
    address = cell(before, "pci/pci_bus_id").lower()[-12:]
    report.note("pci_address", ours["pci_address"] == address, f"{ours['pci_address']}, nvidia-smi {address}")
    reasons(report, ours, before, after)
    processes(report, ours, before, after)


def reasons(report, ours, before, after):
    for word, tag in REASONS.items():
        seen = set()
        for gpu in (before, after):
            for stem in ("clocks_event_reasons/clocks_event_reason_", "clocks_throttle_reasons/clocks_throttle_reason_"):
                text = gpu.findtext(stem + tag)
                if text:
                    seen.add(text == "Active")
        if seen:
            report.note("throttle_reasons: " + word, (word in (ours.get("throttle_reasons") or [])) in seen, f"{ours.get('throttle_reasons')}")


def processes(report, ours, before, after):
    def table(gpu):
        rows = {}
        for p in gpu.findall("processes/process_info"):
            memory = number(p, "used_memory")
            rows[int(p.findtext("pid"))] = (memory, p.findtext("type"))
        return rows
    first, last, mine = table(before), table(after), {p["pid"]: p for p in ours["processes"]}
    report.note("processes: who", set(first) & set(last) <= set(mine) <= set(first) | set(last), f"{sorted(mine)}, nvidia-smi {sorted(first)}")
    for pid in set(first) & set(last) & set(mine):
        report.between("processes: memory", mine[pid]["memory_mb"], first[pid][0], last[pid][0], 1)
        kind = {"C": "compute", "G": "graphics", "C+G": "both", "M+C": "compute"}.get(first[pid][1])
        report.note("processes: type", mine[pid]["type"] == kind, f"{mine[pid]['type']}, nvidia-smi {first[pid][1]}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("whirr")
    options.add_argument("--load", action="store_true")
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--source", default="nvml")
    arguments = options.parse_args()
    if arguments.source == "nvidia-smi":
        # It prints whole MiB; ours is what makes the four numbers add up.
        NUMBERS["memory_reserved_mb"] = (NUMBERS["memory_reserved_mb"][0], 3)
    load = None
    if arguments.load:
        load = subprocess.Popen([sys.executable, "-c", LOAD])
        time.sleep(8)
    try:
        reports = {}
        for _ in range(arguments.rounds):
            before = smi()
            ours = whirr(arguments.whirr, arguments.source)
            after = smi()
            if set(ours) != set(before):
                print(f"FAIL  whirr lists {sorted(ours)}, nvidia-smi {sorted(before)}")
                return 1
            for uuid, gpu in ours.items():
                compare(reports.setdefault(uuid, Report()), gpu, before[uuid], after[uuid])
            if all(set(r.missed) <= set(r.held) for r in reports.values()):
                break
    finally:
        if load:
            load.kill()
            load.wait()
    failures = 0
    for uuid, report in reports.items():
        for key in sorted(set(report.held) | set(report.missed)):
            good = key in report.held
            failures += not good
            print(f"{'ok   ' if good else 'FAIL '} {key}: {report.held[key] if good else report.missed[key]}")
        present = sum(1 for key in report.held if not report.held[key].startswith("whirr says None"))
        print(f"{uuid}: {len(report.held)} hold ({present} with a value), {len(set(report.missed) - set(report.held))} do not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
