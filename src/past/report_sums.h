/* SPDX-License-Identifier: Apache-2.0
 * What the report adds up minute by minute, or hour by hour where minutes are gone: processes that have something in common, and
 * times at which something limited them. Rows come in ORDER_BY_TIME_AND_GPU.
 */
#pragma once

#include "past/presence.h"
#include "past/report.h"

/* A group while it is summed up. */
struct report_sum {
    struct report_group group;
    struct presence presence;
    /* The minute, or hour, at hand: tokens are beside one process of a server, energy beside all of them. */
    int64_t at, at_mj;
    bool told;
};

/* One minute of one process. */
struct report_minute {
    int64_t minute, process, gpu_id;
    double there;             /* part of the GPU's samples of the minute in which it was there */
    double present;           /* part of the minute in which it was there */
    int64_t sm, memory, peak; /* means; -1 unknown */
    int64_t energy_mj;
    int64_t unattributed_mj; /* what its GPU used and no process was given */
    bool idle, busy;
    bool card_idle; /* no process computed on the GPU */
    enum limit limit;
    struct reading generated_tokens, prompt_tokens;
};

int report_sum_minute(struct report_sum *sum, const struct report_minute *m);
/* from_ms: before that moment, the GPU was not watched. */
int report_sum_hour(struct report_sum *sum, const struct store_process_hour *row, int64_t from_ms);
/* Into the report, most energy first; of limits only those that there were. */
int report_sums_take(struct report *r, enum report_by by, struct report_sum *list, size_t count);

/* ---- by limit: what the process was given, and what its GPU used beside that while it was there ---- */

struct report_limits {
    struct report_sum sums[LIMIT_COUNT];
    double waited_mj[LIMIT_COUNT]; /* of what no process was given */
    /* The minute, or hour, and the GPU at hand: its processes share what none was given. */
    int64_t at, gpu_id;
    double unattributed_mj; /* a minute */
    struct limit_use {
        enum limit limit;
        uint64_t minutes; /* one bit a minute */
        double present;   /* part of each of them */
    } * uses;
    size_t count, capacity;
};

/* limited_by: the limits that the process had, a bit each; it counts once for each. */
int report_limits_minute(struct report_limits *l, const struct report_minute *m, uint64_t *limited_by);
int report_limits_hour(struct report_limits *l, const struct store_process_hour *row, int64_t from_ms, uint64_t *limited_by);
int report_limits_take(struct report_limits *l, struct report *r);
void report_limits_done(struct report_limits *l);
