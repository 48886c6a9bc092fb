/* SPDX-License-Identifier: Apache-2.0
 * What the report adds up by minute, or by hour if the minutes have expired: processes with something in common, and times when
 * something limited them. Rows come in ORDER_BY_TIME_AND_GPU.
 */
#pragma once

#include "past/past_presence.h"
#include "past/report.h"

/* A group while it is summed up. */
struct report_sum {
    struct report_group group;
    struct presence presence;
    const struct carbon *carbon; /* NULL: unknown */
    /* The current minute or hour: one process of a server has the tokens, all of them have energy. */
    int64_t at, at_mj;
    bool told;
};

/* One minute of one process. */
struct report_minute {
    int64_t minute, process, gpu_id;
    double there;             /* fraction of the GPU's samples in the minute that include it */
    double present;           /* fraction of the minute when it was there */
    int64_t sm, memory, peak; /* means; -1: unknown */
    int64_t energy_mj;
    int64_t unattributed_mj; /* energy of its GPU without a process */
    bool idle, busy;
    bool card_idle; /* no process computed on the GPU */
    enum limit limit;
    struct reading generated_tokens, prompt_tokens;
};

int report_sum_minute(struct report_sum *sum, const struct report_minute *m);
/* from_ms: the GPU was not watched before. */
int report_sum_hour(struct report_sum *sum, const struct store_process_hour *row, int64_t from_ms);
/* Moves the sums into the report, most energy first; only limits that occurred. */
int report_sums_take(struct report *r, enum report_by by, struct report_sum *list, size_t count);

/* ---- by limit: a process's energy, and its GPU's unattributed energy meanwhile ---- */

struct report_limits {
    struct report_sum sums[LIMIT_COUNT];
    double waited_mj[LIMIT_COUNT]; /* unattributed energy */
    /* The current minute or hour and GPU: its processes share the unattributed energy. */
    int64_t at, gpu_id;
    double unattributed_mj; /* per minute */
    struct limit_use {
        enum limit limit;
        uint64_t minutes; /* one bit per minute */
        double present;   /* fraction of each of them */
    } * uses;
    size_t count, capacity;
};

/* limited_by: one bit per limit of the process; it counts once for each. */
int report_limits_minute(struct report_limits *l, const struct report_minute *m, uint64_t *limited_by);
int report_limits_hour(struct report_limits *l, const struct store_process_hour *row, int64_t from_ms, uint64_t *limited_by);
int report_limits_take(struct report_limits *l, struct report *r);
void report_limits_done(struct report_limits *l);
