# SPDX-License-Identifier: Apache-2.0
"""The part of pynvml that monitors use, answered by whirr: for GPUs of any vendor.

    $ python3 -m whirr.nvml gpustat          # or: whirr-with-nvml gpustat

runs a module with this in the place of pynvml. In a program: `import whirr.nvml; whirr.nvml.install()` before it imports pynvml.
WHIRR_SOURCE chooses a source, as --source does for the commands.
"""
from __future__ import annotations

import os
import runpy
import sys
import time
from typing import Any, Callable, Optional

from ._library import Handle

NVML_TEMPERATURE_GPU = 0
NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO = range(4)
NVML_BRAND_NVIDIA_RTX = 11  # monitors look for it to tell versions of the bindings apart
NVML_SUCCESS, NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT, NVML_ERROR_NOT_SUPPORTED = 0, 1, 2, 3
NVML_ERROR_NO_PERMISSION, NVML_ERROR_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND, NVML_ERROR_GPU_IS_LOST, NVML_ERROR_UNKNOWN = 4, 6, 13, 15, 999
nvmlMemory_v2 = 0x2000028
MIB = 1 << 20
# Readings of one moment serve the calls that a monitor makes for it.
FRESH_SECONDS = 0.2


class NVMLError(Exception):
    value = NVML_ERROR_UNKNOWN

    def __init__(self, value: Optional[int] = None):
        self.value = type(self).value if value is None else value
        super().__init__(self.value)

    def __str__(self) -> str:
        return {0: "Success", 1: "Uninitialized", 2: "Invalid Argument", 3: "Not Supported", 4: "Insufficient Permissions", 6: "Not Found",
                13: "Function Not Found", 15: "GPU is lost"}.get(self.value, "Unknown Error")


class NVMLError_Uninitialized(NVMLError):
    value = NVML_ERROR_UNINITIALIZED


class NVMLError_InvalidArgument(NVMLError):
    value = NVML_ERROR_INVALID_ARGUMENT


class NVMLError_NotSupported(NVMLError):
    value = NVML_ERROR_NOT_SUPPORTED


class NVMLError_NoPermission(NVMLError):
    value = NVML_ERROR_NO_PERMISSION


class NVMLError_NotFound(NVMLError):
    value = NVML_ERROR_NOT_FOUND


class NVMLError_FunctionNotFound(NVMLError):
    value = NVML_ERROR_FUNCTION_NOT_FOUND


class NVMLError_GpuIsLost(NVMLError):
    value = NVML_ERROR_GPU_IS_LOST


class NVMLError_Unknown(NVMLError):
    value = NVML_ERROR_UNKNOWN


class c_nvmlMemory_t:
    def __init__(self, total: int, free: int, used: int):
        self.total, self.free, self.used = total, free, used


class c_nvmlUtilization_t:
    def __init__(self, gpu: int, memory: int):
        self.gpu, self.memory = gpu, memory


class c_nvmlProcessInfo_t:
    def __init__(self, pid: int, used: Optional[int]):
        self.pid, self.usedGpuMemory = pid, used


class c_nvmlPciInfo_t:
    def __init__(self, bus_id: str):
        self.busId, self.busIdLegacy = bus_id, bus_id


_handle: Optional[Handle] = None
_users = 0
_seen: Optional[dict[str, Any]] = None
_seen_at = 0.0


class _Device:
    def __init__(self, index: int):
        self.index = index


def nvmlInit() -> None:
    global _handle, _users
    if _handle is None:
        _handle = Handle(source=os.environ.get("WHIRR_SOURCE"), sysroot=os.environ.get("WHIRR_SYSROOT"))
    _users += 1


def nvmlInitWithFlags(flags: int) -> None:
    nvmlInit()


def nvmlShutdown() -> None:
    global _handle, _users, _seen
    if _handle is None:
        raise NVMLError_Uninitialized()
    _users -= 1
    if _users == 0:
        _handle.close()
        _handle = _seen = None


def _status() -> dict[str, Any]:
    global _seen, _seen_at
    if _handle is None:
        raise NVMLError_Uninitialized()
    if _seen is None or time.monotonic() - _seen_at > FRESH_SECONDS:
        _seen, _seen_at = _handle.status(), time.monotonic()
    return _seen


def _gpu(device: _Device) -> dict[str, Any]:
    gpu = _status()["gpus"][device.index]
    if gpu["state"] == "lost":
        raise NVMLError_GpuIsLost()
    return gpu


def _value(device: _Device, name: str) -> Any:
    """None of it is made up: what the card does not have is not supported, what may not be seen is not permitted."""
    gpu = _gpu(device)
    value = gpu.get(name)
    if value is None:
        raise {"denied": NVMLError_NoPermission, "failed": NVMLError_Unknown}.get(gpu.get("absent", {}).get(name, ""), NVMLError_NotSupported)()
    return value


def nvmlDeviceGetCount() -> int:
    return len(_status()["gpus"])


def nvmlDeviceGetHandleByIndex(index: int) -> _Device:
    if not 0 <= index < nvmlDeviceGetCount():
        raise NVMLError_InvalidArgument()
    device = _Device(index)
    _gpu(device)
    return device


def _find(key: str, wanted: Any) -> _Device:
    wanted = wanted.decode() if isinstance(wanted, bytes) else wanted
    for index, gpu in enumerate(_status()["gpus"]):
        if (gpu[key] or "").lower() == wanted.lower():
            return _Device(index)
    raise NVMLError_NotFound()


def nvmlDeviceGetHandleByUUID(uuid: Any) -> _Device:
    return _find("uuid", uuid)


def nvmlDeviceGetHandleByPciBusId(address: Any) -> _Device:
    return _find("pci_address", address)


def nvmlDeviceGetIndex(device: _Device) -> int:
    return _status()["gpus"][device.index]["index"]


def nvmlDeviceGetName(device: _Device) -> str:
    return _gpu(device)["name"] or "GPU"


def nvmlDeviceGetUUID(device: _Device) -> str:
    gpu = _gpu(device)
    return gpu["uuid"] or gpu["pci_address"] or f"GPU-{gpu['index']}"


def nvmlDeviceGetPciInfo(device: _Device) -> c_nvmlPciInfo_t:
    return c_nvmlPciInfo_t(_value(device, "pci_address"))


def nvmlDeviceGetTemperature(device: _Device, sensor: int) -> int:
    return round(_value(device, "temperature_celsius"))


def nvmlDeviceGetFanSpeed(device: _Device) -> int:
    return round(_value(device, "fan_percent"))


def nvmlDeviceGetMemoryInfo(device: _Device, version: Any = None) -> c_nvmlMemory_t:
    try:
        total, used = _value(device, "memory_total_mb"), _value(device, "memory_used_mb")
    except NVMLError_NotSupported:  # which no real NVML says of memory: monitors are ready for this, and go on with the other GPUs
        raise NVMLError_Unknown() from None
    free = _gpu(device).get("memory_free_mb")
    return c_nvmlMemory_t(int(total * MIB), int((total - used if free is None else free) * MIB), int(used * MIB))


def nvmlDeviceGetUtilizationRates(device: _Device) -> c_nvmlUtilization_t:
    return c_nvmlUtilization_t(round(_value(device, "utilization_percent")), round(_gpu(device).get("memory_utilization_percent") or 0))


def nvmlDeviceGetEncoderUtilization(device: _Device) -> list[int]:
    return [round(_value(device, "encoder_percent")), 0]


def nvmlDeviceGetDecoderUtilization(device: _Device) -> list[int]:
    return [round(_value(device, "decoder_percent")), 0]


def nvmlDeviceGetPowerUsage(device: _Device) -> int:
    return round(_value(device, "power_watts") * 1000)


def nvmlDeviceGetEnforcedPowerLimit(device: _Device) -> int:
    return round(_value(device, "power_limit_watts") * 1000)


nvmlDeviceGetPowerManagementLimit = nvmlDeviceGetEnforcedPowerLimit


def nvmlDeviceGetTotalEnergyConsumption(device: _Device) -> int:
    return round(_value(device, "energy_joules") * 1000)


def nvmlDeviceGetClockInfo(device: _Device, kind: int) -> int:
    return round(_value(device, "clock_memory_mhz" if kind == NVML_CLOCK_MEM else "clock_graphics_mhz"))


def nvmlDeviceGetPerformanceState(device: _Device) -> int:
    return int(_value(device, "performance_state").lstrip("P"))


def _processes(device: _Device, kinds: tuple[str, ...]) -> list[c_nvmlProcessInfo_t]:
    return [c_nvmlProcessInfo_t(p["pid"], None if p["memory_mb"] is None else int(p["memory_mb"] * MIB)) for p in _value(device, "processes")
            if p["type"] in kinds]


def nvmlDeviceGetComputeRunningProcesses(device: _Device) -> list[c_nvmlProcessInfo_t]:
    return _processes(device, ("compute", "both"))


def nvmlDeviceGetGraphicsRunningProcesses(device: _Device) -> list[c_nvmlProcessInfo_t]:
    return _processes(device, ("graphics", "both"))


nvmlDeviceGetComputeRunningProcesses_v2 = nvmlDeviceGetComputeRunningProcesses
nvmlDeviceGetGraphicsRunningProcesses_v2 = nvmlDeviceGetGraphicsRunningProcesses


def nvmlSystemGetDriverVersion() -> str:
    for gpu in _status()["gpus"]:
        if gpu.get("driver_version"):
            return gpu["driver_version"]
    raise NVMLError_NotSupported()


def nvmlSystemGetNVMLVersion() -> str:
    from . import version
    return f"whirr {version()}"


def _nvmlGetFunctionPointer(name: str) -> Callable[..., Any]:
    """The bindings look functions of the driver up by it, and so do monitors."""
    function = globals().get(name)
    if function is None:
        raise NVMLError_FunctionNotFound()
    return function


def nvmlExceptionClass(code: int) -> type[NVMLError]:
    return next((cls for cls in NVMLError.__subclasses__() if cls.value == code), NVMLError)


def install() -> None:
    """From now on `import pynvml` gives this module."""
    sys.modules["pynvml"] = sys.modules[__name__]


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: whirr-with-nvml MODULE [ARGUMENT]...   runs a Python module, such as gpustat, with whirr in the place of pynvml")
    # As `-m` has it, this file is __main__; the module that others import is whirr.nvml.
    import whirr.nvml
    whirr.nvml.install()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
