/* SPDX-License-Identifier: Apache-2.0
 * Energy of a GPU between two samples: power times time, corrected whenever the GPU's own counter moves. Over time the sum follows
 * the counter exactly; without a counter it is the integral of the power readings. A pure function of its meter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/reading.h"

/* What a value is based on; a minute takes the maximum of its steps. The history stores these numbers. */
enum energy_evidence {
    ENERGY_FROM_POWER = 0,
    ENERGY_COUNTED = 1,   /* corrected by the counter */
    ENERGY_UNWATCHED = 2, /* includes the counter's value for a time without power readings */
};

/* Readings of a GPU at one moment. */
struct energy_sample {
    struct mono at;
    struct wall wall; /* ms 0: unknown */
    struct reading power_mw, counter_mj;
};

struct energy_meter {
    bool started;
    struct energy_sample last;
    struct reading counter_mj; /* last value */
    int64_t uncounted_mj;      /* integrated since the counter last moved */
    bool unwatched;            /* power readings were missing since then: */
    struct wall unwatched_from, unwatched_to;
    int64_t debt_mj; /* excess already reported, to subtract from later steps */
};

/* Energy since the previous call, never negative; zero on the first. */
struct energy_used {
    int64_t mj, ms; /* in the observed time up to now */
    enum energy_evidence evidence;
    /* The counter's value for a time without power readings: a pause of ours, a suspend, an unresponsive driver. A process seen
     * afterwards may not have existed then. */
    int64_t unwatched_mj;
    struct wall unwatched_from, unwatched_to;
};

/* Only the counter bridges pauses longer than gap_ms: the power during them is unknown. */
struct energy_used energy_step(struct energy_meter *m, const struct energy_sample *now, int64_t gap_ms);
/* The share of `mj`, used evenly over `of_ms`, that falls into the first `passed_ms`. */
int64_t energy_upto(int64_t mj, int64_t passed_ms, int64_t of_ms);
