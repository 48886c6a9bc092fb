/* SPDX-License-Identifier: Apache-2.0
 * What a card used between two samples: power times time, put right whenever the card's own counter moves. Over time the sum
 * follows the counter exactly; without a counter it is the integral of the power readings. A pure function of its meter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/reading.h"

/* What a number rests on; a minute has the greatest of its steps. The history stores these numbers. */
enum energy_evidence {
    ENERGY_FROM_POWER = 0,
    ENERGY_COUNTED = 1,   /* put right by the counter */
    ENERGY_UNWATCHED = 2, /* with what the counter says of a time in which nobody read the power */
};

struct energy_meter {
    bool started;
    struct mono at;
    struct reading power_mw, counter_mj; /* as last read */
    int64_t uncounted_mj;                /* integrated since the counter moved last */
    bool unwatched;                      /* since then there was a time without power readings */
    int64_t debt_mj;                     /* integrated too much, and still to be taken off */
};

/* Millijoules since the last call, never negative; 0 for the first. A pause longer than gap_ms is bridged by the counter or not
 * at all: nobody knows what the power was. */
int64_t energy_step(struct energy_meter *m, struct mono now, struct reading power_mw, struct reading counter_mj, int64_t gap_ms,
                    enum energy_evidence *evidence);
