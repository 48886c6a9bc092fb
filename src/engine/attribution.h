/* SPDX-License-Identifier: Apache-2.0
 * How much of a GPU's power each of its processes is responsible for, by evidence only. Pure.
 *
 *   idle power       no process's: the lowest draw seen while no engine was over 10%. Until the GPU has been seen that calm, 0 is
 *                    taken, that is, the whole draw is shared out by use.
 *   power above it   by each process's measured use of the engines against the GPU's own load:
 *                        use = 100 SM + 25 memory traffic + 25 encoder + 15 decoder
 *                    The weights are what a fully loaded engine draws against fully loaded SMs, roughly.
 *   the rest         not_attributed_mw: hidden processes, shares that are not known.
 *
 * A process with 2% of a 97% load gets 2/97 of the power above idle, not all of it because it is the only one to be seen. A share
 * that is not known makes the watts absent, with the same reason, never 0. Processes and not_attributed_mw add up to power_mw.
 */
#pragma once

#include "model/gpu.h"

/* What the engines of a GPU were doing when its processes were read. */
enum { ATTRIBUTION_ENGINES = 4 };
struct engine_loads {
    struct reading of[ATTRIBUTION_ENGINES];
};

void engine_loads_note(const struct gpu *gpu, struct engine_loads *ret);
/* The processes were read in an earlier sample than the GPU: their parts of its load then are taken for their parts now. Where
 * there was no load to have a part of, they are not known until they are read again. */
void shares_follow(struct gpu *gpu, const struct engine_loads *then);

/* idle_mw: what the GPU draws when nothing runs, as far as it has been seen; zeroed before the first call, kept between calls. */
void attribute_power(struct gpu *gpu, struct reading *idle_mw);
