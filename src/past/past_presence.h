/* SPDX-License-Identifier: Apache-2.0
 * How long a group of processes was on GPUs: simultaneous ones on one GPU count once. Takes minutes or hours of each process, in
 * ORDER_BY_TIME_AND_GPU; knows nothing about the database.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/query.h"

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
