/* SPDX-License-Identifier: Apache-2.0
 * Memory that a GPU shares with the host: its size, and how much is available.
 *
 *   total = reserved for the GPU + what its driver may take of the host's memory
 *   free  = unused part of the reserved + the minimum of: unused part of the driver's limit, the host's available memory less a
 * reserve
 */
#pragma once

#include "base/env.h"
#include "model/gpu.h"

struct shared_memory {
    struct reading own_total, own_used;     /* reserved by the firmware, not part of the host's memory; absent: none */
    struct reading limit_bytes, limit_used; /* of the host's memory for this GPU; absent: all */
    bool used_by_host;                      /* the driver doesn't count the GPU's usage: count it together with the host's
                                             * programs */
};

/* Sets total, free and, if the driver or the host counts it, used. */
void shared_memory_fill(const struct env *env, const struct shared_memory *m, struct gpu *out);

/* The kernel's limit for all GPUs together, from /sys/module/ttm; absent: unknown. */
struct reading shared_memory_ttm_limit(const struct env *env);
