/* SPDX-License-Identifier: Apache-2.0
 * Adapters and performance counters of Windows that are made up: what gdi32.dll and pdh.dll would say of them.
 */
#pragma once

#include "source/wddm/wddm.h"

enum { FAKE_ADAPTERS = 80, FAKE_VALUES = 4096 };

struct fake_adapter {
    uint64_t luid;
    const uint16_t *name;
    uint32_t type, vendor, device;
    struct kmt_address address;
    struct kmt_segment_size size;
    struct kmt_performance now;
    struct kmt_performance_caps caps;
    struct kmt_node_performance node;
    bool mute; /* answers no query but that of its type */
};

struct fake_value {
    char path[64]; /* "GPU Engine", the beginning of the counter's path, and what follows "(*)\" */
    char counter[32];
    char instance[128];
    double real;
    int64_t whole;
    uint32_t status;
};

extern struct fake_wddm {
    size_t adapter_count, value_count;
    struct fake_adapter adapters[FAKE_ADAPTERS];
    struct fake_value values[FAKE_VALUES];
    int handles;             /* open ones */
    int collects;            /* since the query was opened */
    uint32_t collect_status; /* what collecting answers */
    uint32_t values_status;  /* what reading values answers; 0: as it should */
    uint32_t no_counters;    /* what adding a counter answers */
    uint32_t count_lie;      /* added to the number of values */
    bool name_outside;       /* names point outside of the buffer */
    bool name_unended;       /* the last name has no end */
    bool grows;              /* there is always one more than room was made for */
    bool enum_fails;
} fake_wddm;

extern const struct wddm_calls fake_wddm_calls;

/* Without adapters and values. */
void fake_wddm_clear(void);
struct fake_adapter *fake_wddm_adapter(uint64_t luid, const uint16_t *name, uint32_t vendor, uint32_t bus);
void fake_wddm_load(uint64_t luid, int pid, int engine, const char *type, double percent);
void fake_wddm_memory(uint64_t luid, int pid, int64_t dedicated, int64_t shared); /* pid 0: of the adapter */
struct fake_value *fake_wddm_value(const char *path, const char *counter, const char *instance);
