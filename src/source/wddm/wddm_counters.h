/* SPDX-License-Identifier: Apache-2.0
 * The performance counters of GPUs, read all at once per sample.
 */
#pragma once

#include "base/str.h"
#include "model/gpu.h"
#include "source/wddm/wddm_calls.h"

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
