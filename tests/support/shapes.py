# SPDX-License-Identifier: Apache-2.0
"""The JSON shapes that clients rely on, key by key with their types, and a checker that names every difference."""
import re

NUMBER = (int, float)
TIME = "time"
REASONS = {"unsupported", "denied", "asleep", "failed", "pending", "unread"}
TIME_RE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Null:
    """This type, or null."""

    def __init__(self, kind):
        self.kind = kind


class OneOf:
    def __init__(self, *words):
        self.words = words


DEVICE = {
    "index": int, "name": str, "total_memory_mb": Null(int), "free_memory_mb": Null(int), "used_memory_mb": Null(int),
    "utilization_percent": Null(int), "temperature_c": Null(int), "is_available": bool, "error_message": Null(str),
}
DEVICES = {"devices": [DEVICE], "count": int}
DRIVER = {
    "driver_version": Null(str), "cuda_driver_version": Null(str), "nvml_version": Null(str), "cuda_available": bool,
    "error_message": Null(str), "drivers": [{"source": str, "name": str, "version": Null(str)}],
}
PROCESS = {
    "pid": int, "name": Null(str), "command": Null(str), "user": Null(str), "type": Null(OneOf("compute", "graphics", "both")),
    "memory_mb": Null(NUMBER), "utilization_percent": Null(NUMBER), "power_watts": Null(NUMBER), "cpu_percent": Null(NUMBER),
    "host_memory_mb": Null(NUMBER), "container": Null(str), "display_name": Null(str), "container_name": Null(str), "job": Null(str), "rank": Null(int), "world_size": Null(int), "parent_pid": Null(int), "parent_name": Null(str), "started_at": Null(TIME),
}
GPU = {
    "index": int, "uuid": Null(str), "pci_address": Null(str), "vendor": str, "name": Null(str), "source": str, "simulated": bool,
    "state": OneOf("ok", "asleep", "error", "lost"), "error_message": Null(str),
    **{key: Null(NUMBER) for key in (
        "utilization_percent memory_utilization_percent memory_total_mb memory_used_mb memory_free_mb temperature_celsius "
        "temperature_hotspot_celsius temperature_memory_celsius temperature_limit_celsius power_watts power_limit_watts energy_joules "
        "fan_percent fan_rpm clock_graphics_mhz clock_memory_mhz encoder_percent decoder_percent pcie_generation pcie_width "
        "pcie_rx_bytes_per_second pcie_tx_bytes_per_second sm_active_percent tensor_active_percent dram_active_percent "
        "ecc_corrected ecc_uncorrected").split()},
    "performance_state": Null(str), "throttle_reasons": Null([str]), "instances": list, "leases": list, "processes": Null([PROCESS]), "absent": dict,
}
METRICS = {"timestamp": TIME, "host": str, "sources": [str], "gpus": [GPU]}
SUMMARY = {
    "timestamp": TIME, "host": str, "gpu_count": int, "available": bool, "sources": [str], "answer": Null(str),
    "totals": {"memory_used_mb": Null(NUMBER), "memory_total_mb": Null(NUMBER), "power_watts": Null(NUMBER),
               "process_count": Null(int)},
    "gpus": [{
        "index": int, "name": Null(str), "vendor": str, "state": str, "utilization_percent": Null(NUMBER),
        "memory_used_mb": Null(NUMBER), "memory_total_mb": Null(NUMBER), "temperature_celsius": Null(NUMBER),
        "fan_percent": Null(NUMBER), "power_watts": Null(NUMBER), "power_limit_watts": Null(NUMBER), "process_count": Null(int),
        "top_process": Null({"pid": int, "name": Null(str), "user": Null(str), "memory_mb": Null(NUMBER),
                             "utilization_percent": Null(NUMBER)}),
    }],
}
STATS_ROW = {
    "gpu_index": int, "gpu_name": str, "temperature_celsius": Null(float), "power_watts": Null(float), "memory_used_mb": Null(float),
    "memory_total_mb": Null(float), "gpu_utilization_percent": Null(float), "memory_utilization_percent": Null(float),
}
RESOURCES = {
    "cpu_percent": Null(NUMBER), "memory_percent": NUMBER, "available_memory_gb": NUMBER, "memory_total_gb": NUMBER,
    "gpu_vram_gb": NUMBER, "gpu_available": bool, "gpu_name": Null(str), "gpu_total_vram_gb": Null(NUMBER), "gpu_memory_kind": Null(str),
    "gpu_used_vram_gb": Null(NUMBER), "gpu_free_vram_gb": Null(NUMBER), "gpu_utilization_percent": Null(NUMBER),
    "gpu_temperature_c": Null(NUMBER), "gpu_count": int, "gpu_source": Null(str), "network_rx_bytes_per_second": Null(NUMBER),
    "network_tx_bytes_per_second": Null(NUMBER),
}
PS = {"processes": [{**PROCESS, "gpu_index": int}]}
CAUSE = {"code": str, "text": str, "confidence": NUMBER, "evidence": [str], "pid": Null(int), "process": Null(str)}
DRIFT = {"text": str, "celsius_per_month": NUMBER, "fan_percent_per_month": NUMBER, "power_watts": NUMBER, "since": TIME, "until": TIME,
         "days": int, "strong": bool}
USUAL = {"confidence": NUMBER, "days": int, "days_needed": int, "since": TIME, "began_with": str, "temperature_celsius": Null(NUMBER),
         "temperature_low_celsius": Null(NUMBER), "temperature_high_celsius": Null(NUMBER), "at_more_power": bool, "ambient_celsius": Null(NUMBER),
         "fan_percent": Null(NUMBER),
         "idle_power_watts": Null(NUMBER), "idle_power_high_watts": Null(NUMBER), "utilization_percent": Null(NUMBER), "too_hot": bool,
         "fan_too_fast": bool, "fan_too_slow": bool, "idle_power_too_high": bool, "drift": Null(DRIFT),
         "idle_power_by_memory_clock": Null({"clock_mhz": NUMBER, "watts": NUMBER, "low_clock_mhz": NUMBER, "low_watts": NUMBER}),
         "idle_power_by_process": [{"pid": int, "since": TIME, "watts": NUMBER, "watts_before": NUMBER}]}
FINDING = {"code": str, "text": str, "pid": Null(int), "watts": Null(NUMBER)}
IDLE = {"answer": str, "keeps_from_idling": [FINDING], "also": [FINDING], "ruled_out": [str], "excess_watts": Null(float),
        "hidden_processes": int, "suggestions": [str]}
REMEDY = {"number": int, "code": str, "root": str, "kind": str, "text": str, "command": Null(str), "who": str, "affects": [str], "expected": Null(dict),
          "cost": Null(str), "undo": Null(str)}
WHY = {"answer": str, "gpus": [{"gpu_index": int, "answer": str, "causes": [CAUSE], "suggestions": [str], "remedies": [REMEDY], "usual": Null(USUAL),
                                   "idle": Null(IDLE), "after_resume": Null(str)}]}


def problems(value, shape, where="body"):
    """All differences of `value` from `shape`, as sentences. Additional keys are allowed."""
    if isinstance(shape, Null):
        return [] if value is None else problems(value, shape.kind, where)
    if isinstance(shape, OneOf):
        return [] if value in shape.words else [f"{where} is {value!r}, not one of {shape.words}"]
    if shape == TIME:
        return [] if isinstance(value, str) and TIME_RE.fullmatch(value) else [f"{where} is {value!r}, not a time"]
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{where} is not an object"]
        found = [f"{where}.{key} is missing" for key in shape if key not in value]
        return found + [p for key in shape if key in value for p in problems(value[key], shape[key], f"{where}.{key}")]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where} is not an array"]
        return [p for i, item in enumerate(value) for p in problems(item, shape[0], f"{where}[{i}]")]
    kinds = shape if isinstance(shape, tuple) else (shape,)
    right = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    return [] if right else [f"{where} is {value!r}, not {' or '.join(k.__name__ for k in kinds)}"]


def check(value, shape):
    found = problems(value, shape)
    assert not found, "\n".join(found)
    return value


def check_gpu(gpu):
    """Checks invariants between the keys of one GPU."""
    check(gpu, GPU)
    absent = gpu["absent"]
    assert set(absent.values()) <= REASONS, absent
    nulls = {key for key, value in gpu.items() if value is None} - {"error_message"}
    assert nulls == set(absent), nulls ^ set(absent)
    if all(gpu[k] is not None for k in ("memory_total_mb", "memory_used_mb", "memory_free_mb", "memory_reserved_mb")):
        parts = gpu["memory_used_mb"] + gpu["memory_free_mb"] + gpu["memory_reserved_mb"]
        # nvidia-smi rounds each of the four to MiB on its own.
        assert abs(parts - gpu["memory_total_mb"]) < (4 if gpu["source"] == "nvidia-smi" else 0.01)
    for instance in gpu["instances"]:
        assert set(gpu) | {"profile"} == set(instance)
        assert instance["uuid"] and instance["profile"]
    return gpu
