/* SPDX-License-Identifier: Apache-2.0
 * Memory that a GPU shares with the host: how much of it there is, and how much can still be had.
 *
 *   total = set aside for the GPU + what its driver may take of the host's memory
 *   free  = unused of what is set aside + the least of: unused of the driver's limit, what the host has available less a reserve
 */
#pragma once

#include "base/env.h"
#include "model/gpu.h"

struct shared_memory {
    struct reading own_total, own_used;     /* set aside by the firmware, not part of the host's memory; absent: none is */
    struct reading limit_bytes, limit_used; /* of the host's memory for this GPU; absent: all of it */
    bool used_by_host;                      /* the driver does not count what the GPU uses: the host's programs and it together */
};

/* Fills total, free and, where the driver or the host counts it, used. */
void shared_memory_fill(const struct env *env, const struct shared_memory *m, struct gpu *out);

/* What the kernel's memory manager lets all GPUs take together, by /sys/module/ttm; absent: no limit known. */
struct reading shared_memory_ttm_limit(const struct env *env);
