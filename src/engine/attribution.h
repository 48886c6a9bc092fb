/* SPDX-License-Identifier: Apache-2.0
 * How much of a GPU's power each of its processes is responsible for, by evidence only. Pure.
 *
 *   idle power       nobody's: the lowest draw seen while no engine was over 10%. Until the GPU has been seen that calm, 0 is
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

/* idle_mw: what the GPU draws when nothing runs, as far as it has been seen; zeroed before the first call, kept between calls. */
void attribute_power(struct gpu *gpu, struct reading *idle_mw);
