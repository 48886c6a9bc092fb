/* SPDX-License-Identifier: Apache-2.0
 * How long processes that belong together were on GPUs: several at once on one GPU count once. Fed by minutes or by hours of each
 * process, in ORDER_BY_TIME_AND_GPU; it knows nothing of the database they come from.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/query.h"

struct presence {
    struct row_order order;
    double hours, busy_hours; /* of everything before the minute or hour at hand */
    /* The minute at hand: how much of it. */
    double present, busy;
    /* The hour at hand: a bit for each minute. */
    uint64_t present_minutes, busy_minutes;
};

/* `present`: the part of the minute in which the process was there. -EPROTO: a row in another order. */
int presence_add_minute(struct presence *p, int64_t minute, int64_t gpu_id, double present, bool busy);
int presence_add_hour(struct presence *p, const struct store_process_hour *hour);
/* Counts what is at hand, after the last row. */
void presence_end(struct presence *p);
/* Hours that these minutes of an hour make. */
double presence_hours(uint64_t minutes);
