/* SPDX-License-Identifier: Apache-2.0
 * What the report adds up by minute, or by hour if the minutes have expired: processes with something in common, and times when
 * something limited them. Rows come in ORDER_BY_TIME_AND_GPU.
 */
#pragma once

#include "past/report.h"
#include "store/query.h"

/* How long a group of processes was on GPUs: simultaneous ones on one GPU count once. Takes minutes or hours of each process, in
 * ORDER_BY_TIME_AND_GPU; knows nothing about the database. */

/* A fraction of one minute in an hour. */
struct minute_part {
    int minute;
    double present, busy;
};

struct presence {
    struct row_order order;
    double hours, busy_hours; /* of everything before the current minute or hour */
    /* The current minute: its fractions. */
    double present, busy;
    /* The current hour: a bit for each minute with a process all the time, and the partial minutes. */
    uint64_t present_minutes, busy_minutes;
    struct minute_part *parts;
    size_t part_count, part_capacity;
};

/* `present`: the fraction of the minute with the process. -EPROTO: a row out of order. */
int presence_add_minute(struct presence *p, int64_t minute, int64_t gpu_id, double present, bool busy);
/* from_ms: the GPU was not watched before. */
int presence_add_hour(struct presence *p, const struct store_process_hour *hour, int64_t from_ms);
/* Call after the last row. */
void presence_end(struct presence *p);
void presence_done(struct presence *p);
/* The hours that these minutes amount to for one process. */
double presence_hours(const struct store_process_hour *hour, uint64_t minutes, int64_t from_ms);
/* The fraction of a minute between two moments: of the first and last minute, only the watched and requested part counts. */
double presence_within(int64_t minute, int64_t from_ms, int64_t until_ms);

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
    struct reading generated_tokens, prompt_tokens, requests, parked_mj;
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
