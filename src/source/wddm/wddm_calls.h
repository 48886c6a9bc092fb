/* SPDX-License-Identifier: Apache-2.0
 * The Windows functions that this source uses, as a table that tests replace.
 *
 * Two interfaces report on GPUs of every vendor. D3DKMTQueryStatistics has everything, but is "reserved for system use" and changes
 * its structures between versions of Windows. The performance counters "GPU Engine", "GPU Process Memory" and "GPU Adapter Memory"
 * derive from the same statistics, have been documented and stable since Windows 10 1709, need no privileges, and are what the Task
 * Manager shows. So load and memory come from the counters; D3DKMT's documented part provides what the counters lack: names, PCI
 * addresses, memory sizes, temperature, fan and clocks.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "source/wddm/abi.h"

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

/* Loads the system's own. -ENODEV with the reason: missing. */
int wddm_calls_load(const struct env *env, struct wddm_calls *ret, struct error *err);
