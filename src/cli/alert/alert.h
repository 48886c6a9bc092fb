/* SPDX-License-Identifier: Apache-2.0
 * What `whirr alert` is made of.
 */
#pragma once

#include <jansson.h>

#include "alert/alert.h"
#include "alert/rule.h"
#include "base/env.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "cli/command.h"
#include "format/table/page.h"
#include "model/snapshot.h"
#include "store/store.h"

/* ---- What rules say about the machine as it is. ---- */

int alert_now(struct cli *cli, const struct alert_rules *rules);

/* ---- Alerts, rules and silences for people, from what the API says. ---- */

/* The body of GET /api/alerts. `all`: also those that are over. */
void alert_text(struct buf *out, const struct page *page, const json_t *body, bool all);
/* The body of GET /api/alerts/rules. */
void alert_rules_text(struct buf *out, const struct page *page, const json_t *body);
/* Every name that conditions may use. */
void alert_names_text(struct buf *out, const struct page *page);
void alert_names_json(struct buf *out);
void silences_text(struct buf *out, const struct page *page, const json_t *silences);

/* ---- whirr alert silence. ---- */

/* The words behind `silence`. Returns the exit status. */
int alert_silence(struct cli *cli, const char *const *words, size_t count);

/* ---- whirr alert test: what rules say now, or would have said. ---- */

/* `what`: a rule, a condition, or NULL for all rules. Returns the exit status. */
int alert_test(struct cli *cli, const char *what);

/* ---- A machine over time, faster than time passes: a simulated one, a recording, or the history. For trying rules out. */

typedef void course_fn(void *user, const struct snapshot *s);

/* "sim:..." or "replay:FILE": those that can be played. */
bool course_plays(const char *source);
int course_play(const struct env *env, const char *source, int64_t duration_ms, int64_t interval_ms, course_fn *each, void *user,
                struct error *err);

/* From the samples that are still stored: readings of the GPUs that `columns` (of SERIES_GPU) name. */
int course_past(struct store *store, const char *host, struct wall since, struct wall until, const size_t *columns, size_t count,
                course_fn *each, void *user, struct error *err);

/* ---- A trial of rules on a course of samples: what would have fired, from when to when. ---- */

enum { TRIAL_EVENTS_MAX = 10000 };

struct trial_event {
    struct wall from, to; /* to.ms 0: it still fires at the end */
    struct alert alert;   /* as it was when it fired */
};

struct trial {
    struct alert_set set;
    struct judge *judge;
    const char *which; /* --gpu: only alerts of this one are told; NULL: all */
    int only;          /* its index; -1 when it is not there */
    struct wall first, last;
    size_t samples, pending;
    size_t truths[3]; /* of the condition, for every subject and sample; for a single rule */
    struct trial_event *events;
    size_t count, capacity, left_out;
    bool simulated;
    bool failed; /* memory ran out */
};

bool trial_init(struct trial *t, const struct alert_rules *rules, const struct config *config);
void trial_done(struct trial *t);
void trial_see(void *trial, const struct snapshot *s); /* a course_fn */

/* `from_start`: times count from the first sample, as for a simulated machine. */
void trial_text(struct buf *out, const struct page *page, const struct trial *t, bool from_start);
void trial_json(struct json_writer *j, const struct trial *t);
