/* SPDX-License-Identifier: Apache-2.0
 * The parts of `whirr alert`.
 */
#pragma once

#include <jansson.h>

#include "alert/alert.h"
#include "alert/rule.h"
#include "answer/answer.h"
#include "base/env.h"
#include "base/error.h"
#include "cli/command.h"
#include "format/table/page_table.h"
#include "model/snapshot.h"
#include "store/store.h"

/* ---- Rules, applied to the host's present state. ---- */

int alert_now(struct cli *cli, const struct alert_rules *rules);

/* ---- Alerts, rules and silences for people, from the API's answers. ---- */

/* Formats the body of GET /api/alerts. `all` includes resolved ones. */
void alert_text(struct buf *out, const struct page *page, const json_t *body, bool all);
/* Formats the body of GET /api/alerts/rules. */
void alert_rules_text(struct buf *out, const struct page *page, const json_t *body);
/* Lists every name that conditions may use. */
void alert_names_text(struct buf *out, const struct page *page);
extern const struct answer alert_names_answer; /* of an empty struct alert_name */
void silences_text(struct buf *out, const struct page *page, const json_t *silences);

/* ---- whirr alert silence. ---- */

/* Takes the arguments after `silence`. Returns the exit status. */
int alert_silence(struct cli *cli, const char *const *words, size_t count);

/* ---- whirr alert test: what rules report now, or would have reported. ---- */

/* `what`: a rule, a condition, or NULL for all rules. Returns the exit status. */
int alert_test(struct cli *cli, const char *what);

/* ---- A host over time, played faster than real time to try rules: simulated, recorded or from the history. ---- */

typedef void course_fn(void *user, const struct snapshot *s);

/* Whether a source can be played: "sim:..." or "replay:FILE". */
bool course_plays(const char *source);
int course_play(const struct env *env, const char *source, int64_t duration_ms, int64_t interval_ms, course_fn *each, void *user,
                struct error *err);

/* From the stored samples: GPU readings in the given `columns` (of SERIES_GPU). */
int course_past(struct store *store, const char *host, struct wall since, struct wall until, const size_t *columns, size_t count,
                course_fn *each, void *user, struct error *err);

/* ---- A trial of rules on a course of samples: what would have fired, and when. ---- */

enum { TRIAL_EVENTS_MAX = 10000 };

struct trial_event {
    struct wall from, to; /* to.ms 0: still firing at the end */
    struct alert alert;   /* a copy from when it fired */
};

struct trial {
    struct alert_set set;
    struct judge *judge;
    const char *which; /* --gpu: report only alerts of this one; NULL: all */
    int only;          /* its index; -1: not found */
    struct wall first, last;
    size_t samples, pending;
    size_t truths[3]; /* results of a single rule's condition, for every subject and sample */
    struct trial_event *events;
    size_t count, capacity, left_out;
    bool simulated;
    bool failed; /* out of memory */
};

bool trial_init(struct trial *t, const struct alert_rules *rules, const struct config *config);
void trial_done(struct trial *t);
void trial_see(void *trial, const struct snapshot *s); /* a course_fn */

/* `from_start` shows times relative to the first sample, as for a simulated host. */
void trial_text(struct buf *out, const struct page *page, const struct trial *t, bool from_start);
void trial_json(struct json_writer *j, const struct trial *t);
