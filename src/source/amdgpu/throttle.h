/* SPDX-License-Identifier: Apache-2.0
 * Why an AMD card runs slower than it could, from gpu_metrics, in the words that all vendors share.
 */
#pragma once

#include "source/amdgpu/gpu_metrics.h"

/* What the counters of the newer tables stood at last time. */
struct throttle_memory {
    bool known;
    int64_t accumulations;
    int64_t counters[7];
};

/* Bits of enum throttle. hotspot and its limit are needed because RDNA 3 reports "hotspot" at idle as well. Tables that count
 * give PENDING the first time: what matters is what was added since. */
struct reading amdgpu_throttle(const struct gpu_metrics *m, struct reading hotspot_mdegc, struct reading hotspot_limit_mdegc,
                               struct throttle_memory *memory);
