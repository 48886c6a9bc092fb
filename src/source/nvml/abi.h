/* SPDX-License-Identifier: Apache-2.0
 * The part of NVML's binary interface that whirr uses: our own declarations, checked here against known sizes, and against
 * NVIDIA's header by tests/gpu/check_layout.sh. Independent of whirr.
 */
#pragma once

#include <assert.h>

typedef struct nvml_device_opaque *nvml_device;
typedef struct nvml_event_set_opaque *nvml_event_set;
typedef struct nvml_gpm_sample_opaque *nvml_gpm_sample;

/* Return codes of every call. */
enum nvml_return {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_ALREADY_INITIALIZED = 5,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_LIBRARY_NOT_FOUND = 12,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_VERSION_MISMATCH = 18, /* library and kernel module versions differ */
    NVML_NO_DATA = 21,
    NVML_VGPU_ECC_NOT_SUPPORTED = 22,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_DEPRECATED = 26,
    NVML_NOT_READY = 27,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999,
};

/* The version word of a structure: its size, with the version number in the top byte. */
#define NVML_VERSION(type, number) ((unsigned)(sizeof(type) | ((unsigned)(number) << 24)))
#define NVML_NOT_AVAILABLE 0xffffffffffffffffULL /* as a byte count: "unknown" */
#define NVML_NO_INSTANCE 0xffffffffU             /* instance IDs of a process outside MIG */
#define NVML_ALL_LINKS 0xffffffffU               /* scope of a link field */

enum nvml_sizes {
    NVML_NAME_SIZE = 96,
    NVML_UUID_SIZE = 96,
    NVML_TEXT_SIZE = 80,
    NVML_NVLINKS_MAX = 36,
};

enum nvml_sensor { NVML_SENSOR_GPU, NVML_SENSOR_HOTTEST /* since R615, by its documentation */ };
enum nvml_clock { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO };
enum nvml_threshold {
    NVML_THRESHOLD_SHUTDOWN = 0,
    NVML_THRESHOLD_SLOWDOWN = 1,
    NVML_THRESHOLD_MEM_MAX = 2,
    NVML_THRESHOLD_GPU_MAX = 3,
    NVML_THRESHOLD_ACOUSTIC_MIN = 4,
    NVML_THRESHOLD_ACOUSTIC_CURRENT = 5,
    NVML_THRESHOLD_ACOUSTIC_MAX = 6,
};
enum nvml_fan_policy { NVML_FAN_AUTOMATIC, NVML_FAN_MANUAL };
enum {
    NVML_ARCHITECTURE_VOLTA = 5,
    NVML_ARCHITECTURE_ADA = 8,
    NVML_VIRTUAL_GUEST = 2 /* nvmlDeviceGetVirtualizationMode: a vGPU */
};
enum nvml_ecc_error { NVML_ECC_CORRECTED, NVML_ECC_UNCORRECTED };
enum nvml_ecc_span { NVML_ECC_VOLATILE, NVML_ECC_AGGREGATE };
enum nvml_memory_location { NVML_LOCATION_DRAM = 2, NVML_LOCATION_SRAM = 7 };
enum nvml_power_scope { NVML_SCOPE_GPU, NVML_SCOPE_MODULE, NVML_SCOPE_MEMORY };

/* Field IDs for nvmlDeviceGetFieldValues. IDs above 250 aren't used: NVIDIA's own headers disagree about them. */
enum nvml_field {
    NVML_FIELD_RETIRED_SBE = 29,
    NVML_FIELD_RETIRED_DBE = 30,
    NVML_FIELD_RETIRED_PENDING = 31,
    NVML_FIELD_THROTTLE_POWER = 74, /* ns */
    NVML_FIELD_THROTTLE_THERMAL = 75,
    NVML_FIELD_THROTTLE_SYNC_BOOST = 76,
    NVML_FIELD_MEMORY_TEMP = 82,
    NVML_FIELD_NVLINK_COUNT = 91,
    NVML_FIELD_PCIE_REPLAY_ROLLOVERS = 95,
    NVML_FIELD_NVLINK_DATA_TX = 138, /* KiB since the counter started */
    NVML_FIELD_NVLINK_DATA_RX = 139,
    NVML_FIELD_POWER_AVERAGE = 185, /* mW */
    NVML_FIELD_POWER_INSTANT = 186,
    NVML_FIELD_POWER_CURRENT_LIMIT = 190,
    NVML_FIELD_SLOWDOWN_TLIMIT = 194,
    NVML_FIELD_PCIE_TX_BYTES = 197,
    NVML_FIELD_PCIE_RX_BYTES = 198,
    NVML_FIELD_RECOVERY_ACTION = 230,
};

enum nvml_value_type {
    NVML_VALUE_DOUBLE,
    NVML_VALUE_UINT,
    NVML_VALUE_ULONG,
    NVML_VALUE_ULONGLONG,
    NVML_VALUE_LONGLONG,
    NVML_VALUE_INT,
    NVML_VALUE_USHORT,
};

enum nvml_event_type { NVML_EVENT_DOUBLE_BIT_ECC = 0x2, NVML_EVENT_XID = 0x8 };

/* Profiling metrics of Hopper and later. */
enum nvml_gpm_id {
    NVML_GPM_GRAPHICS = 1,
    NVML_GPM_SM = 2,
    NVML_GPM_SM_OCCUPANCY = 3,
    NVML_GPM_INTEGER = 4,
    NVML_GPM_TENSOR = 5,
    NVML_GPM_DRAM = 10,
    NVML_GPM_FP64 = 11,
    NVML_GPM_FP32 = 12,
    NVML_GPM_FP16 = 13,
    NVML_GPM_PCIE_TX = 20, /* MiB/s */
    NVML_GPM_PCIE_RX = 21,
    NVML_GPM_NVLINK_RX = 60,
    NVML_GPM_NVLINK_TX = 61,
    NVML_GPM_MAX = 333,
};

struct nvml_pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned device_id, subsystem_id;
    char bus_id[32];
};
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvml_bar1_memory {
    unsigned long long total, free, used;
};
/* A running process: _v1 calls use the first, _v2 and _v3 the second, only _v3 of driver 535.43 the third. */
struct nvml_process_v1 {
    unsigned pid;
    unsigned long long used_memory;
};
struct nvml_process_v2 {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};
struct nvml_process_v3_odd {
    struct nvml_process_v2 process;
    unsigned long long protected_memory;
};
struct nvml_process_utilization {
    unsigned pid;
    unsigned long long timestamp; /* us */
    unsigned sm, mem, enc, dec;
};
union nvml_value {
    double d;
    int si;
    unsigned ui;
    unsigned long ul;
    unsigned long long ull;
    long long sll;
    unsigned short us;
};
struct nvml_sample {
    unsigned long long timestamp; /* us */
    union nvml_value value;
};
enum { NVML_POWER_SAMPLES = 0, NVML_UTILIZATION_SAMPLES = 1 };
struct nvml_field_value {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, result;
    union nvml_value value;
};
struct nvml_event {
    nvml_device device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};
struct nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    struct {
        char *short_name, *long_name, *unit;
    } info;
};
struct nvml_gpm_request {
    unsigned version, count;
    nvml_gpm_sample before, after;
    struct nvml_gpm_metric metrics[NVML_GPM_MAX];
};
struct nvml_gpm_support {
    unsigned version, supported;
};
struct nvml_attributes {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gpu_slices, compute_slices;
    unsigned long long memory_mib;
};
struct nvml_margin {
    unsigned version;
    int margin;
};
struct nvml_fan_rpm {
    unsigned version, fan, rpm;
};
struct nvml_remap_histogram {
    unsigned max, high, partial, low, none;
};
struct nvml_temperature {
    unsigned version;
    int sensor, celsius;
};
struct nvml_power_mizer {
    unsigned now, wanted, supported;
};
/* Rubin and later, by the documentation of R615: whole banks are exchanged, not rows. */
struct nvml_bank_remapper {
    unsigned active, inactive, pending, groups_max, groups_none;
};
struct nvml_flag { /* addressing mode, DRAM encryption */
    unsigned version, value;
};
struct nvml_repair_status {
    unsigned version, channel_pending, tpc_pending;
};
struct nvml_sram_errors {
    unsigned version;
    unsigned long long life_parity, life_secded, life_corrected, parity, secded, corrected;
    unsigned long long from_l2, from_sm, from_pcie, from_mcu, from_other;
    unsigned threshold_exceeded;
};
struct nvml_platform_v1 {
    unsigned version;
    unsigned char ib_guid[16], rack_guid[16];
    unsigned char slot, tray, host, peer_type, module;
};
struct nvml_fabric_v2 {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
};
struct nvml_licenses {
    int supported;
    unsigned count;
    struct {
        unsigned code, licensed;
        char info[128], product[128];
        unsigned enabled;
        unsigned char expiry[16];
    } features[3];
};
struct nvml_fbc_stats {
    unsigned sessions, fps, latency;
};

#define NVML_SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
NVML_SIZE(nvml_pci_info, 68);
NVML_SIZE(nvml_utilization, 8);
NVML_SIZE(nvml_memory, 24);
NVML_SIZE(nvml_memory_v2, 40);
NVML_SIZE(nvml_bar1_memory, 24);
NVML_SIZE(nvml_process_v1, 16);
NVML_SIZE(nvml_process_v2, 24);
NVML_SIZE(nvml_process_v3_odd, 32);
NVML_SIZE(nvml_process_utilization, 32);
NVML_SIZE(nvml_field_value, 40);
NVML_SIZE(nvml_event, 32);
NVML_SIZE(nvml_gpm_metric, 40);
NVML_SIZE(nvml_gpm_request, 13344);
NVML_SIZE(nvml_gpm_support, 8);
NVML_SIZE(nvml_attributes, 40);
NVML_SIZE(nvml_margin, 8);
NVML_SIZE(nvml_fan_rpm, 12);
NVML_SIZE(nvml_remap_histogram, 20);
NVML_SIZE(nvml_temperature, 12);
NVML_SIZE(nvml_power_mizer, 12);
NVML_SIZE(nvml_bank_remapper, 20);
NVML_SIZE(nvml_repair_status, 12);
NVML_SIZE(nvml_sram_errors, 104);
NVML_SIZE(nvml_platform_v1, 44);
NVML_SIZE(nvml_fabric_v2, 36);
NVML_SIZE(nvml_licenses, 860);
