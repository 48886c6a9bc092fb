/* SPDX-License-Identifier: Apache-2.0
 * The parts of the source: the Windows functions that it uses, as a table that tests replace, adapters and performance counters.
 *
 * Two interfaces report on GPUs of every vendor. D3DKMTQueryStatistics has everything, but is "reserved for system use" and changes
 * its structures between versions of Windows. The performance counters "GPU Engine", "GPU Process Memory" and "GPU Adapter Memory"
 * derive from the same statistics, have been documented and stable since Windows 10 1709, need no privileges, and are what the Task
 * Manager shows. So load and memory come from the counters; D3DKMT's documented part provides what the counters lack: names, PCI
 * addresses, memory sizes, temperature, fan and clocks.
 */
#pragma once

#include <stdint.h>

#include "base/env.h"
#include "base/error.h"
#include "base/str.h"
#include "model/gpu.h"
#include "source/source.h"

/* Interfaces of gdi32.dll (D3DKMT) and pdh.dll, as documented in Microsoft's d3dkmthk.h and pdh.h. Fixed-width types: `long` has
 * 32 bits there, and tests of this source run where it has 64. */

/* ---- gdi32.dll: adapters. Functions return an NTSTATUS: negative is failure. ---- */

struct kmt_luid {
    uint32_t low;
    int32_t high;
};

struct kmt_adapter {
    uint32_t handle;
    struct kmt_luid luid;
    uint32_t sources;
    int32_t precise_present;
};

struct kmt_enum_adapters {
    uint32_t count;
    struct kmt_adapter *adapters; /* NULL: only count */
};

struct kmt_query_adapter {
    uint32_t handle;
    int32_t type;
    void *data;
    uint32_t size;
};

enum kmt_query {
    KMT_SEGMENT_SIZE = 3,
    KMT_ADDRESS = 6,
    KMT_REGISTRY = 8,
    KMT_TYPE = 15,
    KMT_DEVICE_IDS = 31,
    KMT_DRIVER_VERSION = 49,
    KMT_NODE_PERFORMANCE = 61,
    KMT_PERFORMANCE = 62,
    KMT_PERFORMANCE_CAPS = 63,
};

enum { KMT_RENDERS = 1 << 0, KMT_SOFTWARE = 1 << 2, KMT_INTEGRATED = 1 << 5, KMT_COMPUTE_ONLY = 1 << 11 };

struct kmt_segment_size {
    uint64_t dedicated_video, dedicated_system, shared_system;
};

struct kmt_address {
    uint32_t bus; /* eight bits; the sixteen above are the segment, Linux's domain */
    uint32_t device, function;
};

enum { KMT_PATH = 260 };
struct kmt_registry {
    uint16_t name[KMT_PATH], bios[KMT_PATH], dac[KMT_PATH], chip[KMT_PATH];
};

struct kmt_device_ids {
    uint32_t physical_adapter;
    uint32_t vendor, device, subsystem_vendor, subsystem, revision, bus_type;
};

struct kmt_performance {
    uint32_t physical_adapter;
    uint64_t memory_hz, memory_max_hz, memory_max_overclocked_hz, memory_bytes, pcie_bytes;
    uint32_t fan_rpm;
    uint32_t power;       /* thousandths of an unknown maximum: not watts */
    uint32_t temperature; /* tenths of a degree */
    uint8_t power_state_override;
};

struct kmt_performance_caps {
    uint32_t physical_adapter;
    uint64_t memory_bytes_max, pcie_bytes_max;
    uint32_t fan_rpm_max, temperature_max, temperature_warning;
};

struct kmt_node_performance {
    uint32_t node, physical_adapter;
    uint64_t hz, max_hz, max_overclocked_hz;
    uint32_t mv, max_mv, max_overclocked_mv;
    uint64_t transition_latency;
};

_Static_assert(sizeof(struct kmt_adapter) == 20, "D3DKMT_ADAPTERINFO");
_Static_assert(sizeof(struct kmt_query_adapter) == 24, "D3DKMT_QUERYADAPTERINFO");
_Static_assert(sizeof(struct kmt_performance) == 64, "D3DKMT_ADAPTER_PERFDATA");
_Static_assert(sizeof(struct kmt_performance_caps) == 40, "D3DKMT_ADAPTER_PERFDATACAPS");
_Static_assert(sizeof(struct kmt_node_performance) == 56, "D3DKMT_NODE_PERFDATA");

/* ---- pdh.dll: performance counters. Functions return a PDH_STATUS: 0 is success. ---- */

enum { PDH_FORMAT_DOUBLE = 0x200, PDH_FORMAT_LARGE = 0x400, PDH_FORMAT_NO_CAP = 0x8000 };
#define PDH_MORE_DATA UINT32_C(0x800007D2)
#define PDH_NO_DATA UINT32_C(0x800007D5)
#define PDH_ACCESS_DENIED UINT32_C(0xC0000BDB)
#define PDH_INVALID_DATA UINT32_C(0xC0000BC6)
#define PDH_CSTATUS_INVALID_DATA UINT32_C(0xC0000BBA)
#define PDH_CSTATUS_NO_OBJECT UINT32_C(0xC0000BB8)
#define PDH_CSTATUS_NO_COUNTER UINT32_C(0xC0000BB9)
#define PDH_CSTATUS_NO_INSTANCE UINT32_C(0x800007D1)

struct pdh_item {
    const uint16_t *name; /* points into the same buffer, after the items */
    uint32_t status;      /* 0 and 1 mean valid */
    union {
        double real;
        int64_t whole;
    };
};
_Static_assert(sizeof(struct pdh_item) == 24, "PDH_FMT_COUNTERVALUE_ITEM_W");

struct wddm_calls {
    int32_t (*enum_adapters)(struct kmt_enum_adapters *);
    int32_t (*query_adapter)(const struct kmt_query_adapter *);
    int32_t (*close_adapter)(const uint32_t *handle);
    uint32_t (*open_query)(const uint16_t *log, uintptr_t user, void **ret);
    uint32_t (*add_counter)(void *query, const uint16_t *path, uintptr_t user, void **ret);
    uint32_t (*collect)(void *query);
    uint32_t (*values)(void *counter, uint32_t format, uint32_t *size, uint32_t *count, struct pdh_item *items);
    uint32_t (*close_query)(void *query);
};

/* -ENODEV: no GPU, or no GPU counters. Copies the table. */
int wddm_open_with(const struct env *env, const struct wddm_calls *calls, struct source **ret, struct error *err);

/* ---- The performance counters of GPUs, read all at once per sample ---- */

enum wddm_counter {
    COUNTER_UTILIZATION, /* of an engine by a process */
    COUNTER_DEDICATED,   /* of an adapter */
    COUNTER_SHARED,
    COUNTER_PROCESS_DEDICATED,
    COUNTER_PROCESS_SHARED,
    WDDM_COUNTERS
};

enum wddm_engine { ENGINE_OTHER, ENGINE_3D, ENGINE_COMPUTE, ENGINE_ENCODE, ENGINE_DECODE };

/* One instance of a counter: its parsed name, and its value (thousandths of the engine, or bytes). */
struct wddm_row {
    uint64_t luid;
    int32_t pid; /* 0: the adapter itself */
    enum wddm_counter counter;
    enum wddm_engine type;
    uint32_t engine; /* including the physical adapter's */
    int64_t value;
};

enum { WDDM_ROWS_MAX = 1 << 16 };

struct wddm_counters {
    const struct wddm_calls *calls;
    void *query, *counters[WDDM_COUNTERS];
    enum reading_state states[WDDM_COUNTERS]; /* of the last refresh */
    int collected;                            /* rates need two; counts to 2 */
    struct wddm_row *rows;                    /* by adapter, then by process */
    size_t count, capacity, left_out;
};

/* -ENODEV: this system lacks these counters. */
int wddm_counters_open(struct wddm_counters *c, const struct wddm_calls *calls, struct error *err);
void wddm_counters_close(struct wddm_counters *c);
/* 0 or -errno, without rows. */
int wddm_counters_refresh(struct wddm_counters *c, struct error *err);

/* "pid_1234_luid_0x00000000_0x0000C2E5_phys_0_eng_3_engtype_VideoDecode": pid, eng and engtype may be missing. */
bool wddm_instance_parse(struct str name, struct wddm_row *ret);

/* Fills this adapter's load, memory and processes from the rows. `shares`: its memory is the host's. */
void wddm_counters_fill(const struct wddm_counters *c, uint64_t luid, bool shares, unsigned groups, struct gpu *out);
