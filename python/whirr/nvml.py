# SPDX-License-Identifier: Apache-2.0
"""The part of pynvml that monitors use, answered by whirr: for GPUs of any vendor.

    $ python3 -m whirr.nvml gpustat          # or: whirr-with-nvml nvitop -1

runs a module with this in the place of pynvml. In a program: `import whirr.nvml; whirr.nvml.install()` before it imports pynvml.
WHIRR_SOURCE chooses a source, as --source does for the commands.
"""
from __future__ import annotations

import contextlib
import errno
import os
import runpy
import sys
import time
from typing import Any, Callable, Iterator, Optional

from ._library import Handle, WhirrError
from ._nvml_names import *  # noqa: F401,F403
from ._nvml_names import (NVML_AGGREGATE_ECC, NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM, NVML_CLOCK_SM, NVML_CLOCK_VIDEO, NVML_ERROR_INSUFFICIENT_SIZE, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                          NVML_PCIE_UTIL_TX_BYTES, NVML_SUCCESS, NVMLError, NVMLError_DriverNotLoaded, NVMLError_FunctionNotFound, NVMLError_GpuIsLost,
                          NVMLError_InvalidArgument, NVMLError_LibraryNotFound, NVMLError_Memory, NVMLError_NoPermission, NVMLError_NotFound,
                          NVMLError_NotSupported, NVMLError_Timeout, NVMLError_Uninitialized, NVMLError_Unknown,
                          _PrintableStructure)  # noqa: F401

MIB = 1 << 20
# Readings of one moment serve the calls that a monitor makes for it.
FRESH_SECONDS = 0.2


class c_nvmlMemory_t:
    def __init__(self, total: int, free: int, used: int):
        self.total, self.free, self.used, self.reserved = total, free, used, max(total - free - used, 0)


class c_nvmlBAR1Memory_t:
    def __init__(self, total: int, used: int):
        self.bar1Total, self.bar1Free, self.bar1Used = total, total - used, used


class c_nvmlUtilization_t:
    def __init__(self, gpu: int, memory: int):
        self.gpu, self.memory = gpu, memory


class c_nvmlProcessInfo_t:
    def __init__(self, pid: int, used: Optional[int]):
        self.pid, self.usedGpuMemory = pid, used
        self.gpuInstanceId = self.computeInstanceId = 0xFFFFFFFF  # not in MIG mode


class c_nvmlProcessUtilizationSample_t:
    def __init__(self, pid: int, stamp: int, sm: int, memory: int, encoder: int, decoder: int):
        self.pid, self.timeStamp, self.smUtil, self.memUtil, self.encUtil, self.decUtil = pid, stamp, sm, memory, encoder, decoder


class c_nvmlPciInfo_t:
    def __init__(self, bus_id: str):
        self.busId, self.busIdLegacy = bus_id, bus_id
        domain, bus, device = bus_id.split(".")[0].split(":")
        self.domain, self.bus, self.device = int(domain, 16), int(bus, 16), int(device, 16)


_handle: Optional[Handle] = None
_users = 0
_seen: Optional[dict[str, Any]] = None
_seen_at = 0.0


class _Device:
    def __init__(self, index: int):
        self.index = index


class c_nvmlDevice_t(_Device):
    """The name that programs have for a handle in their annotations."""


class c_nvmlGpuInstance_t:
    """The same for a part of a GPU; there are no handles of them here."""


class c_nvmlFieldValue_t:
    """The same for a field; whirr has none by number."""


_ERRORS = {errno.EPERM: NVMLError_NoPermission, errno.EACCES: NVMLError_NoPermission, errno.ENOMEM: NVMLError_Memory, errno.ETIMEDOUT: NVMLError_Timeout,
           errno.EINVAL: NVMLError_InvalidArgument, errno.ENODEV: NVMLError_DriverNotLoaded}


@contextlib.contextmanager
def _as_nvml_says() -> Iterator[None]:
    """Programs catch NVMLError and nothing else; what libwhirr said is its cause."""
    try:
        yield
    except WhirrError as problem:
        raise _ERRORS.get(problem.errno or 0, NVMLError_Unknown)() from problem
    except ImportError as problem:
        raise NVMLError_LibraryNotFound() from problem
    except ValueError as problem:  # another thread has shut it down
        raise NVMLError_Uninitialized() from problem


def nvmlInit() -> None:
    global _handle, _users
    if _handle is None:
        with _as_nvml_says():
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
    handle, seen = _handle, _seen  # which another thread may take away meanwhile
    if handle is None:
        raise NVMLError_Uninitialized()
    if seen is None or time.monotonic() - _seen_at > FRESH_SECONDS:
        with _as_nvml_says():
            _seen = seen = handle.status()
        _seen_at = time.monotonic()
    return seen


def _listed(device: _Device) -> dict[str, Any]:
    gpus = _status()["gpus"]
    if not isinstance(device, _Device) or device.index >= len(gpus):
        raise NVMLError_InvalidArgument()
    return gpus[device.index]


def _gpu(device: _Device) -> dict[str, Any]:
    gpu = _listed(device)
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


def nvmlDeviceGetHandleBySerial(serial: Any) -> _Device:
    return _find("serial", serial)


def nvmlSystemGetProcessName(pid: int) -> str:
    """Of a process on a GPU: of others whirr knows nothing."""
    for gpu in _status()["gpus"]:
        for process in gpu["processes"] or ():
            if process["pid"] == pid:
                return process["name"] or str(pid)
    raise NVMLError_NotFound()


def nvmlDeviceGetIndex(device: _Device) -> int:
    return _listed(device)["index"]


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


_CLOCKS = {NVML_CLOCK_GRAPHICS: "graphics", NVML_CLOCK_SM: "sm", NVML_CLOCK_MEM: "memory", NVML_CLOCK_VIDEO: "video"}


def _clock(device: _Device, kind: int, form: str) -> int:
    if kind not in _CLOCKS:
        raise NVMLError_InvalidArgument()
    return round(_value(device, form % _CLOCKS[kind]))


def nvmlDeviceGetClockInfo(device: _Device, kind: int) -> int:
    return _clock(device, kind, "clock_%s_mhz")


def nvmlDeviceGetMaxClockInfo(device: _Device, kind: int) -> int:
    return _clock(device, kind, "clock_%s_max_mhz")


def nvmlDeviceGetPcieThroughput(device: _Device, counter: int) -> int:
    """In KiB/s."""
    return round(_value(device, f"pcie_{'tx' if counter == NVML_PCIE_UTIL_TX_BYTES else 'rx'}_bytes_per_second") / 1024)


def nvmlDeviceGetBAR1MemoryInfo(device: _Device) -> c_nvmlBAR1Memory_t:
    return c_nvmlBAR1Memory_t(int(_value(device, "bar1_total_mb") * MIB), int(_value(device, "bar1_used_mb") * MIB))


def nvmlDeviceGetTotalEccErrors(device: _Device, kind: int, counter: int) -> int:
    name = "ecc_corrected" if kind == NVML_MEMORY_ERROR_TYPE_CORRECTED else "ecc_uncorrected"
    return int(_value(device, f"{name}_lifetime" if counter == NVML_AGGREGATE_ECC else name))


def nvmlDeviceGetEccMode(device: _Device) -> list[int]:
    return [int(_value(device, "ecc_enabled")), int(_gpu(device).get("ecc_enabled_pending") or _value(device, "ecc_enabled"))]


def nvmlDeviceGetPersistenceMode(device: _Device) -> int:
    return int(_value(device, "persistence_mode"))


def nvmlDeviceGetDisplayActive(device: _Device) -> int:
    return int(_value(device, "display_active"))


def nvmlDeviceGetDisplayMode(device: _Device) -> int:
    raise NVMLError_NotSupported()


def nvmlDeviceGetComputeMode(device: _Device) -> int:
    modes = ("default", "exclusive thread", "prohibited", "exclusive process")
    mode = str(_value(device, "compute_mode")).lower().replace("_", " ")
    if mode not in modes:
        raise NVMLError_Unknown()
    return modes.index(mode)


def nvmlDeviceGetCudaComputeCapability(device: _Device) -> tuple[int, int]:
    major, _, minor = str(_value(device, "compute_capability")).partition(".")
    if not (major + minor).isdigit():  # "gfx1100": not of CUDA
        raise NVMLError_NotSupported()
    return int(major), int(minor or 0)


def nvmlDeviceGetSerial(device: _Device) -> str:
    return str(_value(device, "serial"))


def nvmlDeviceGetMinorNumber(device: _Device) -> int:
    return int(_value(device, "device_minor"))


def nvmlDeviceGetVbiosVersion(device: _Device) -> str:
    return str(_value(device, "vbios_version"))


# Parts of a GPU are in `instances` of whirr's own answers; here a GPU is whole.
def nvmlDeviceGetMigMode(device: _Device) -> list[int]:
    enabled = int(_value(device, "mig_enabled"))
    return [enabled, enabled]


def nvmlDeviceIsMigDeviceHandle(device: _Device) -> int:
    return 0


def nvmlDeviceGetMaxMigDeviceCount(device: _Device) -> int:
    return 0


def nvmlDeviceGetMigDeviceHandleByIndex(device: _Device, index: int) -> _Device:
    raise NVMLError_NotFound()


def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device: _Device) -> _Device:
    raise NVMLError_InvalidArgument()


def nvmlDeviceGetGpuInstanceId(device: _Device) -> int:
    raise NVMLError_NotSupported()


nvmlDeviceGetComputeInstanceId = nvmlDeviceGetGpuInstanceId


def nvmlDeviceGetFieldValues(device: _Device, fields: list[Any]) -> list[Any]:
    raise NVMLError_NotSupported()


def nvmlDeviceGetCurrentDriverModel(device: _Device) -> int:
    raise NVMLError_NotSupported()  # there is one on Windows only


def nvmlDeviceGetPerformanceState(device: _Device) -> int:
    return int(_value(device, "performance_state").lstrip("P"))


def _processes(device: _Device, kinds: tuple[str, ...]) -> list[c_nvmlProcessInfo_t]:
    return [c_nvmlProcessInfo_t(p["pid"], None if p["memory_mb"] is None else int(p["memory_mb"] * MIB)) for p in _value(device, "processes")
            if p["type"] in kinds]


def nvmlDeviceGetComputeRunningProcesses(device: _Device) -> list[c_nvmlProcessInfo_t]:
    return _processes(device, ("compute", "both"))


def nvmlDeviceGetGraphicsRunningProcesses(device: _Device) -> list[c_nvmlProcessInfo_t]:
    return _processes(device, ("graphics", "both"))


def nvmlDeviceGetMPSComputeRunningProcesses(device: _Device) -> list[c_nvmlProcessInfo_t]:
    return []  # clients of MPS are among the others


nvmlDeviceGetComputeRunningProcesses_v2 = nvmlDeviceGetComputeRunningProcesses_v3 = nvmlDeviceGetComputeRunningProcesses
nvmlDeviceGetGraphicsRunningProcesses_v2 = nvmlDeviceGetGraphicsRunningProcesses_v3 = nvmlDeviceGetGraphicsRunningProcesses


def nvmlDeviceGetProcessUtilization(device: _Device, since: int) -> list[c_nvmlProcessUtilizationSample_t]:
    """Of processes whose share is known."""
    stamp = time.time_ns() // 1000
    found = [c_nvmlProcessUtilizationSample_t(p["pid"], stamp, *(round(p.get(name) or 0) for name in (
        "utilization_percent", "memory_utilization_percent", "encoder_percent", "decoder_percent")))
        for p in _value(device, "processes") if p.get("utilization_percent") is not None]
    if not found:
        raise NVMLError_NotFound()
    return found


def nvmlSystemGetDriverVersion() -> str:
    for gpu in _status()["gpus"]:
        if gpu.get("driver_version"):
            return gpu["driver_version"]
    raise NVMLError_NotSupported()


def nvmlSystemGetCudaDriverVersion() -> int:
    """12040: CUDA 12.4."""
    text = (_status().get("driver") or {}).get("cuda_driver_version") or ""
    if not text:
        raise NVMLError_NotSupported()
    major, _, minor = text.partition(".")
    return int(major) * 1000 + int(minor.split(".")[0] or 0) * 10


nvmlSystemGetCudaDriverVersion_v2 = nvmlSystemGetCudaDriverVersion


def nvmlSystemGetNVMLVersion() -> str:
    from . import version
    return f"whirr {version()}"


# ---- functions as C has them: monitors look some up to call them with structures of their own ----

def _c_call(function: Callable[..., None]) -> Callable[..., int]:
    def call(*args: Any) -> int:
        try:
            function(*args)
        except NVMLError as error:
            return error.value
        return NVML_SUCCESS
    return call


def _fill(struct: Any, values: Any) -> None:
    for field in struct._fields_:
        value = getattr(values, field[0], 0)
        if field[0] != "version":
            setattr(struct, field[0], 0xFFFFFFFFFFFFFFFF if value is None else value)


def _c_processes(function: Callable[[_Device], list[c_nvmlProcessInfo_t]]) -> Callable[..., int]:
    def call(device: _Device, count: Any, array: Any) -> None:
        found = function(device)
        room = count._obj.value if array is not None else 0
        count._obj.value = len(found)
        if len(found) > room:
            raise NVMLError(NVML_ERROR_INSUFFICIENT_SIZE)
        for i, process in enumerate(found):
            _fill(array[i], process)
    return _c_call(call)


def _c_temperature(device: _Device, sensor: Any, value: Any) -> None:
    value._obj.value = nvmlDeviceGetTemperature(device, sensor.value)


def _not_supported(*_: Any) -> Any:
    """Of each NVLink, of pairs of GPUs and of affinity whirr has no readings; counters are not reset."""
    raise NVMLError_NotSupported()


nvmlDeviceGetAttributes = nvmlDeviceGetMemoryAffinity = nvmlDeviceGetCpuAffinityWithinScope = nvmlDeviceGetP2PStatus = _not_supported
nvmlDeviceGetNvLinkVersion = nvmlDeviceGetNvLinkState = nvmlDeviceGetNvLinkRemotePciInfo = nvmlDeviceGetNvLinkCapability = _not_supported
nvmlDeviceGetNvLinkErrorCounter = nvmlDeviceResetNvLinkErrorCounters = nvmlDeviceFreezeNvLinkUtilizationCounter = _not_supported
nvmlDeviceGetNvLinkUtilizationControl = nvmlDeviceSetNvLinkUtilizationControl = _not_supported
nvmlDeviceGetNvLinkUtilizationCounter = nvmlDeviceResetNvLinkUtilizationCounter = _not_supported


_C_FUNCTIONS = {
    **{f"nvmlDeviceGet{kind}RunningProcesses{version}": _c_processes(function) for version in ("", "_v2", "_v3") for kind, function in (
        ("Compute", nvmlDeviceGetComputeRunningProcesses), ("Graphics", nvmlDeviceGetGraphicsRunningProcesses),
        ("MPSCompute", nvmlDeviceGetMPSComputeRunningProcesses))},
    **{f"nvmlDeviceGetMemoryInfo{version}": _c_call(lambda device, memory: _fill(memory._obj, nvmlDeviceGetMemoryInfo(device))) for version in ("", "_v2")},
    "nvmlDeviceGetTemperature": _c_call(_c_temperature),
    "nvmlDeviceGetDriverModel": _c_call(_not_supported),
}


def _nvmlGetFunctionPointer(name: str) -> Callable[..., Any]:
    function = _C_FUNCTIONS.get(name) or globals().get(name)
    if function is None or not name.startswith("nvml"):
        raise NVMLError_FunctionNotFound()
    return function


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
