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
    ENERGY_UNWATCHED = 2, /* with what the counter says of a time in which power was not read */
};

/* What is read of a card at one moment. */
struct energy_sample {
    struct mono at;
    struct wall wall; /* ms 0: not known */
    struct reading power_mw, counter_mj;
};

struct energy_meter {
    bool started;
    struct energy_sample last;
    struct reading counter_mj; /* as last read */
    int64_t uncounted_mj;      /* integrated since the counter moved last */
    bool unwatched;            /* since then there was a time without power readings: */
    struct wall unwatched_from, unwatched_to;
    int64_t debt_mj; /* integrated too much, and still to be taken off */
};

/* What a card used since the call before, never negative; nothing at the first. */
struct energy_used {
    int64_t mj, ms; /* while it was watched: in the time up to now */
    enum energy_evidence evidence;
    /* What the counter says of a time in which no power was read: a pause of ours, a suspend, a driver that did not answer. A
     * process that is there afterwards may not have been there then. */
    int64_t unwatched_mj;
    struct wall unwatched_from, unwatched_to;
};

/* A pause longer than gap_ms is bridged by the counter or not at all: the power in it is not known. */
struct energy_used energy_step(struct energy_meter *m, const struct energy_sample *now, int64_t gap_ms);
/* How much of an energy that was used evenly in `of_ms` was used in the first `passed_ms` of them. */
int64_t energy_upto(int64_t mj, int64_t passed_ms, int64_t of_ms);
