/* SPDX-License-Identifier: Apache-2.0
 * A trial of rules on a course of samples: what would have fired, from when to when.
 */
#pragma once

#include "alert/alert.h"
#include "base/json_writer.h"
#include "format/table/page.h"

enum { TRIAL_EVENTS_MAX = 10000 };

struct trial_event {
    struct wall from, to; /* to.ms 0: it still fires at the end */
    struct alert alert;   /* as it was when it fired */
};

struct trial {
    struct alert_set set;
    struct alert_facts *facts;
    struct health_history *health;
    struct forecast_memory *forecast;
    const char *which; /* --gpu: only alerts of this one are told; NULL: all */
    int only;          /* its index; -1 when it is not there */
    struct wall first, last;
    size_t samples, pending;
    size_t truths[3]; /* of the condition, for every subject and sample; for a single rule */
    struct trial_event *events;
    size_t count, capacity, left_out;
    bool failed; /* memory ran out */
};

bool trial_init(struct trial *t, const struct alert_rules *rules);
void trial_done(struct trial *t);
void trial_see(void *trial, const struct snapshot *s); /* a course_fn */

/* `from_start`: times count from the first sample, as for a simulated machine. */
void trial_text(struct buf *out, const struct page *page, const struct trial *t, bool from_start);
void trial_json(struct json_writer *j, const struct trial *t);
