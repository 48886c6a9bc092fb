/* SPDX-License-Identifier: Apache-2.0
 * Decides which metric groups a sample reads. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "model/snapshot.h"

enum { CADENCE_SLOW_MS = 10000, CADENCE_RARE_MS = 30000, CADENCE_GAME_PROCESS_MS = 5000 };

struct cadence {
    bool static_done, slow_done, rare_done, process_done;
    struct mono slow_at, rare_at, process_at;
};

/* Groups due at `now`. Frequent process queries make games stutter (the driver takes a lock): while one runs, at most every
 * CADENCE_GAME_PROCESS_MS. */
unsigned cadence_due(const struct cadence *c, bool game_runs, struct mono now);
void cadence_read(struct cadence *c, unsigned groups, struct mono now);

/* Whether a graphics process keeps a GPU busy. */
bool cadence_game_runs(const struct gpu *gpus, size_t count);
