/* SPDX-License-Identifier: Apache-2.0
 * Graphics adapters as the kernel lists them. An adapter's LUID, which the counters use, is valid until its driver restarts; one
 * that returns with another LUID is recognized by PCI address.
 */
#pragma once

#include "model/gpu.h"
#include "source/wddm/wddm_calls.h"

enum { WDDM_ADAPTERS_MAX = 64 }; /* further ones are ignored */

struct wddm_adapter {
    bool present;
    uint32_t handle;
    uint64_t luid;
    struct gpu_id id;
    struct reading dedicated_bytes, shared_bytes; /* total */
    bool shares_memory;                           /* its memory is mostly the host's */
    char driver_version[GPU_TEXT_SIZE];           /* "" unknown */
    char pci_device_id[GPU_TEXT_SIZE];
    char pci_subsystem_id[GPU_TEXT_SIZE];
};

struct wddm_adapters {
    const struct wddm_calls *calls;
    size_t count;
    struct wddm_adapter list[WDDM_ADAPTERS_MAX];
};

/* Updates the list. Adapters that vanished keep their position, as not present. Returns the number listed, or -errno. */
int wddm_adapters_update(struct wddm_adapters *a);
void wddm_adapters_done(struct wddm_adapters *a);

/* Sensors and clocks, if its driver reports them to the system. */
void wddm_adapter_sensors(const struct wddm_calls *calls, const struct wddm_adapter *adapter, unsigned groups, struct gpu *out);
