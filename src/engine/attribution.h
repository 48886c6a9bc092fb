/* SPDX-License-Identifier: Apache-2.0
 * How much of a GPU's power each of its processes causes, by evidence only. Pure.
 *
 *   idle power       belongs to no process: the lowest draw seen while no engine was over 10%. Until then it counts as 0, that is,
 *                    the whole draw is shared by use.
 *   power above it   by each process's measured use of the engines against the GPU's own load:
 *                        use = 100 SM + 25 memory traffic + 25 encoder + 15 decoder
 *                    The weights are roughly the draw of a fully loaded engine relative to fully loaded SMs.
 *   the rest         not_attributed_mw: hidden processes, unknown shares.
 *
 * A process with 2% of a 97% load gets 2/97 of the power above idle, even if it is the only one visible. An unknown share makes the
 * watts absent, with the same reason, never 0. Processes and not_attributed_mw add up to power_mw.
 */
#pragma once

#include "model/gpu.h"

/* The GPU's engine loads when its processes were read. */
enum { ATTRIBUTION_ENGINES = 4 };
struct engine_loads {
    struct reading of[ATTRIBUTION_ENGINES];
};

void engine_loads_note(const struct gpu *gpu, struct engine_loads *ret);
/* Scales shares of processes from an earlier sample to the GPU's current load. If that sample had hardly any load, they are unknown
 * until read again. */
void shares_follow(struct gpu *gpu, const struct engine_loads *then);

/* idle_mw: the observed idle draw; zeroed before the first call, kept between calls. */
void attribute_power(struct gpu *gpu, struct reading *idle_mw);
