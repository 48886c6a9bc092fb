/* SPDX-License-Identifier: Apache-2.0
 * What a card used between two samples: power times time, put right whenever the card's own counter moves. Over time the sum
 * follows the counter exactly; without a counter it is the integral of the power readings. A pure function of its meter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/reading.h"

struct energy_meter {
    bool started;
    struct mono at;
    struct reading power_mw, counter_mj; /* as last read */
    int64_t uncounted_mj;                /* integrated since the counter moved last */
    int64_t debt_mj;                     /* integrated too much, and still to be taken off */
};

/* Millijoules since the last call, never negative; 0 for the first. A pause longer than gap_ms is bridged by the counter or not
 * at all: nobody knows what the power was. *counted: the counter had its say in this step. */
int64_t energy_step(struct energy_meter *m, struct mono now, struct reading power_mw, struct reading counter_mj, int64_t gap_ms,
                    bool *counted);
