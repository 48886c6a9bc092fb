/* SPDX-License-Identifier: Apache-2.0
 * How long processes that belong together were on GPUs: several at once on one GPU count once. Fed by minutes or by hours of each
 * process, in ORDER_BY_TIME_AND_GPU; it knows nothing of the database they come from.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/query.h"

/* How much of a minute of an hour. */
struct minute_part {
    int minute;
    double present, busy;
};

struct presence {
    struct row_order order;
    double hours, busy_hours; /* of everything before the minute or hour at hand */
    /* The minute at hand: how much of it. */
    double present, busy;
    /* The hour at hand: a bit for each minute in which one of them was there all the time, and the others. */
    uint64_t present_minutes, busy_minutes;
    struct minute_part *parts;
    size_t part_count, part_capacity;
};

/* `present`: the part of the minute in which the process was there. -EPROTO: a row in another order. */
int presence_add_minute(struct presence *p, int64_t minute, int64_t gpu_id, double present, bool busy);
/* from_ms: before that moment, the GPU was not watched. */
int presence_add_hour(struct presence *p, const struct store_process_hour *hour, int64_t from_ms);
/* Counts what is at hand, after the last row. */
void presence_end(struct presence *p);
void presence_done(struct presence *p);
/* Hours that these minutes of the hour make for one process. */
double presence_hours(const struct store_process_hour *hour, uint64_t minutes, int64_t from_ms);
/* How much of a minute lies between two moments: of the first and the last minute, only what was watched and asked about counts. */
double presence_within(int64_t minute, int64_t from_ms, int64_t until_ms);
