/* SPDX-License-Identifier: Apache-2.0
 * Graphics adapters as the kernel lists them. An adapter has a LUID, by which the counters name it, until its driver is started
 * again; one that comes back under another LUID is known by its PCI address.
 */
#pragma once

#include "model/gpu.h"
#include "source/wddm/calls.h"

enum { WDDM_ADAPTERS_MAX = 64 }; /* further ones are left out */

struct wddm_adapter {
    bool present;
    uint32_t handle;
    uint64_t luid;
    struct gpu_id id;
    struct reading dedicated_bytes, shared_bytes; /* how much there is */
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

/* Looks which adapters there are. One that went stays in its place, not present. How many are listed, or -errno. */
int wddm_adapters_update(struct wddm_adapters *a);
void wddm_adapters_done(struct wddm_adapters *a);

/* Sensors and clocks, as far as its driver gives them to the system. */
void wddm_adapter_sensors(const struct wddm_calls *calls, const struct wddm_adapter *adapter, unsigned groups, struct gpu *out);
