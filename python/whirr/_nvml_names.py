# SPDX-License-Identifier: Apache-2.0
"""Constants and errors of NVML, under the names and with the numbers that programs know from pynvml. They say nothing of what whirr can answer."""
from __future__ import annotations

import ctypes
from typing import Any, Optional

NVML_SUCCESS = 0
NVML_TEMPERATURE_GPU = 0
NVML_TEMPERATURE_THRESHOLD_SHUTDOWN, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, NVML_TEMPERATURE_THRESHOLD_MEM_MAX, NVML_TEMPERATURE_THRESHOLD_GPU_MAX = range(4)
NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO = range(4)
NVML_BRAND_NVIDIA_RTX = 11  # monitors look for it to tell versions of the bindings apart
NVML_FEATURE_DISABLED, NVML_FEATURE_ENABLED = range(2)
NVML_COMPUTEMODE_DEFAULT, NVML_COMPUTEMODE_EXCLUSIVE_THREAD, NVML_COMPUTEMODE_PROHIBITED, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = range(4)
NVML_DRIVER_WDDM, NVML_DRIVER_WDM, NVML_DRIVER_MCDM = range(3)
NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = range(2)
NVML_VOLATILE_ECC, NVML_AGGREGATE_ECC = range(2)
NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES, NVML_PCIE_UTIL_COUNT = range(3)
NVML_AFFINITY_SCOPE_NODE, NVML_AFFINITY_SCOPE_SOCKET = range(2)
(NVML_P2P_CAPS_INDEX_READ, NVML_P2P_CAPS_INDEX_WRITE, NVML_P2P_CAPS_INDEX_NVLINK, NVML_P2P_CAPS_INDEX_ATOMICS, NVML_P2P_CAPS_INDEX_PROP,
 NVML_P2P_CAPS_INDEX_UNKNOWN) = range(6)
NVML_P2P_STATUS_OK, NVML_P2P_STATUS_UNKNOWN = 0, 6
(NVML_NVLINK_CAP_P2P_SUPPORTED, NVML_NVLINK_CAP_SYSMEM_ACCESS, NVML_NVLINK_CAP_P2P_ATOMICS, NVML_NVLINK_CAP_SYSMEM_ATOMICS,
 NVML_NVLINK_CAP_SLI_BRIDGE, NVML_NVLINK_CAP_VALID) = range(6)
NVML_NVLINK_ERROR_DL_REPLAY, NVML_NVLINK_ERROR_DL_RECOVERY, NVML_NVLINK_ERROR_DL_CRC_FLIT, NVML_NVLINK_ERROR_DL_CRC_DATA = range(4)
NVML_DEVICE_MIG_DISABLE, NVML_DEVICE_MIG_ENABLE = range(2)
NVML_NVLINK_MAX_LINKS = 18
NVML_FI_DEV_NVLINK_LINK_COUNT = 91
(NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX,
 NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX) = range(138, 142)
(NVML_VALUE_TYPE_DOUBLE, NVML_VALUE_TYPE_UNSIGNED_INT, NVML_VALUE_TYPE_UNSIGNED_LONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG,
 NVML_VALUE_TYPE_SIGNED_LONG_LONG, NVML_VALUE_TYPE_SIGNED_INT) = range(6)
NVML_VALUE_NOT_AVAILABLE_ulonglong = ctypes.c_ulonglong(-1)
NVML_VALUE_NOT_AVAILABLE_uint = ctypes.c_uint(-1)
nvmlMemory_v2 = 0x2000028

(NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT, NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NO_PERMISSION, NVML_ERROR_ALREADY_INITIALIZED,
 NVML_ERROR_NOT_FOUND, NVML_ERROR_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_POWER, NVML_ERROR_DRIVER_NOT_LOADED, NVML_ERROR_TIMEOUT,
 NVML_ERROR_IRQ_ISSUE, NVML_ERROR_LIBRARY_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND, NVML_ERROR_CORRUPTED_INFOROM, NVML_ERROR_GPU_IS_LOST,
 NVML_ERROR_RESET_REQUIRED, NVML_ERROR_OPERATING_SYSTEM, NVML_ERROR_LIB_RM_VERSION_MISMATCH, NVML_ERROR_IN_USE, NVML_ERROR_MEMORY) = range(1, 21)
NVML_ERROR_UNKNOWN = 999


class NVMLError(Exception):
    """NVMLError(15) is an NVMLError_GpuIsLost."""
    value = NVML_ERROR_UNKNOWN
    _errcode_to_string = {
        1: "Uninitialized", 2: "Invalid Argument", 3: "Not Supported", 4: "Insufficient Permissions", 5: "Already Initialized", 6: "Not Found",
        7: "Insufficient Size", 8: "Insufficient External Power", 9: "Driver Not Loaded", 10: "Timeout", 11: "Interrupt Request Issue",
        12: "NVML Shared Library Not Found", 13: "Function Not Found", 14: "Corrupted infoROM", 15: "GPU is lost", 16: "GPU requires restart",
        17: "The operating system has blocked the request.", 18: "RM has detected an NVML/RM version mismatch.", 19: "In use", 20: "Insufficient Memory",
        999: "Unknown Error"}

    def __new__(cls, value: Optional[int] = None) -> "NVMLError":
        kind = nvmlExceptionClass(value) if cls is NVMLError and value is not None else cls
        return super().__new__(kind)

    def __init__(self, value: Optional[int] = None):
        self.value = type(self).value if value is None else value
        super().__init__(self.value)

    def __str__(self) -> str:
        return {0: "Success", **self._errcode_to_string}.get(self.value, "Unknown Error")


class NVMLError_Uninitialized(NVMLError):
    value = NVML_ERROR_UNINITIALIZED


class NVMLError_InvalidArgument(NVMLError):
    value = NVML_ERROR_INVALID_ARGUMENT


class NVMLError_NotSupported(NVMLError):
    value = NVML_ERROR_NOT_SUPPORTED


class NVMLError_NoPermission(NVMLError):
    value = NVML_ERROR_NO_PERMISSION


class NVMLError_AlreadyInitialized(NVMLError):
    value = NVML_ERROR_ALREADY_INITIALIZED


class NVMLError_NotFound(NVMLError):
    value = NVML_ERROR_NOT_FOUND


class NVMLError_InsufficientSize(NVMLError):
    value = NVML_ERROR_INSUFFICIENT_SIZE


class NVMLError_InsufficientPower(NVMLError):
    value = NVML_ERROR_INSUFFICIENT_POWER


class NVMLError_DriverNotLoaded(NVMLError):
    value = NVML_ERROR_DRIVER_NOT_LOADED


class NVMLError_Timeout(NVMLError):
    value = NVML_ERROR_TIMEOUT


class NVMLError_IrqIssue(NVMLError):
    value = NVML_ERROR_IRQ_ISSUE


class NVMLError_LibraryNotFound(NVMLError):
    value = NVML_ERROR_LIBRARY_NOT_FOUND


class NVMLError_FunctionNotFound(NVMLError):
    value = NVML_ERROR_FUNCTION_NOT_FOUND


class NVMLError_CorruptedInforom(NVMLError):
    value = NVML_ERROR_CORRUPTED_INFOROM


class NVMLError_GpuIsLost(NVMLError):
    value = NVML_ERROR_GPU_IS_LOST


class NVMLError_ResetRequired(NVMLError):
    value = NVML_ERROR_RESET_REQUIRED


class NVMLError_OperatingSystem(NVMLError):
    value = NVML_ERROR_OPERATING_SYSTEM


class NVMLError_LibRmVersionMismatch(NVMLError):
    value = NVML_ERROR_LIB_RM_VERSION_MISMATCH


class NVMLError_InUse(NVMLError):
    value = NVML_ERROR_IN_USE


class NVMLError_Memory(NVMLError):
    value = NVML_ERROR_MEMORY


class NVMLError_Unknown(NVMLError):
    value = NVML_ERROR_UNKNOWN


def nvmlExceptionClass(code: int) -> type[NVMLError]:
    return next((cls for cls in NVMLError.__subclasses__() if cls.value == code), NVMLError)


class _PrintableStructure(ctypes.Structure):
    """Programs derive structures of their own from it."""
    _fmt_: dict[str, str] = {}

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{field[0]}: {getattr(self, field[0])}' for field in self._fields_)})"


class nvmlFriendlyObject:
    def __init__(self, dictionary: dict[str, Any]):
        self.__dict__.update(dictionary)


def nvmlStructToFriendlyObject(struct: Any) -> nvmlFriendlyObject:
    return nvmlFriendlyObject({field[0]: getattr(struct, field[0]) for field in struct._fields_})
