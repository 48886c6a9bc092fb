/* SPDX-License-Identifier: Apache-2.0
 * All alerts of a machine: a finding that has held for its time is one, and so is a condition of the configuration. A sample with
 * its verdict goes in, changes come out. Pure but for memory: time comes with the sample, and what must survive a restart is
 * written and read as text (alert/keep.h).
 *
 *   verdict ──▶ findings ────────────┐
 *   snapshot ─▶ conditions × subjects┴─▶ alert_step() ──▶ changes ──▶ the caller: notifiers, history, clients
 *                                             ▲
 *                                    silences: is it sent?
 */
#pragma once

#include "alert/rule.h"
#include "alert/silence.h"
#include "alert/state.h"

enum {
    ALERT_BUCKETS = 1024,
    ALERTS_MAX = 2048,                    /* that are not inactive; further ones are counted and left out */
    ALERT_RESOLVED_KEPT_MS = 3600 * 1000, /* so long one that is over is still listed */
    ALERT_GAP_MS = 60 * 1000,             /* or three intervals, if that is more */
    ALERT_SUMMARY_SIZE = NOTICE_SUMMARY_SIZE,
};

/* An alert of one subject. Identity and what is told about it are kept: the subject may be gone when it is over. */
struct alert {
    char rule[NOTICE_ALERT_SIZE];
    enum severity severity; /* the worst while it fires */
    enum alert_scope scope;
    int gpu_index; /* -1: about the host */
    char gpu_uuid[GPU_UUID_SIZE], gpu_name[GPU_NAME_SIZE];
    bool simulated;
    char host[HOST_NAME_SIZE];
    int32_t pid; /* 0: not about a process */
    int64_t start_key;
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE];
    struct alert_state state;
    bool has_value;
    double value; /* the latest that was known */
    char summary[ALERT_SUMMARY_SIZE];
    size_t label_count;
    struct notice_label labels[RULE_LABELS_MAX];
    char notify[512];                  /* who is told, one a line: also of its end, when its rule is gone */
    char silenced_by[SILENCE_ID_SIZE]; /* "": by none */
    bool told;                         /* of its beginning */
    bool seen;                         /* in this step */
    struct alert *next;                /* in its bucket */
};

struct alert_set {
    const struct alert_rules *rules;
    struct alert **list;
    size_t count, capacity;
    struct alert *buckets[ALERT_BUCKETS]; /* by rule and process, within a step: thousands of processes are looked up each time */
    uint64_t left_out;                    /* over ALERTS_MAX */
    uint64_t fired_total;
    struct silences silences;
    struct wall last_at; /* the step before */
    struct mono last;
    bool changed; /* since it was last written: something that a restart must know */
    bool stirred; /* the same, less urgent: something is waited for, or not any more */
};

enum alert_news {
    NEWS_PENDING,
    NEWS_CALMED, /* was pending, and is not any more */
    NEWS_FIRED,
    NEWS_RESOLVED,
    NEWS_HEARD, /* fires since a while, and its silence is over, or it got worse */
};

typedef void alert_news_fn(void *user, enum alert_news news, const struct alert_rule *rule, struct alert *alert);

void alert_set_init(struct alert_set *set, const struct alert_rules *rules);
void alert_set_done(struct alert_set *set);
/* Other rules: what their names know goes on, what lost its rule ends. */
void alert_set_rules(struct alert_set *set, const struct alert_rules *rules, struct wall now, alert_news_fn *news, void *user);

/* One sample. `store` may be NULL: nothing is known of the history. */
void alert_set_step(struct alert_set *set, const struct snapshot *now, const struct store_facts *store, alert_news_fn *news,
                    void *user);

/* Looks again at who is silenced: after a silence was added or removed. */
void alert_set_silence(struct alert_set *set, struct wall now, alert_news_fn *news, void *user);

/* For lists: firing first, then pending, then resolved; within, the worst and the oldest first. */
void alert_set_sort(struct alert_set *set);
/* A number that is the same for this alert of this subject over restarts. */
void alert_fingerprint(const struct alert *a, char text[NOTICE_FINGERPRINT_SIZE]);
void alert_notice(const struct alert *a, struct alert_notice *n);
/* The label of an alert, its own ones and "alert", "severity", "gpu", ...: for silences. */
const char *alert_label(const void *alert, const char *key);

/* ---- What alerts must know after a restart, as text: states and silences. ---- */

enum { ALERT_KEEP_MAX = 16 << 20 };

void alert_keep_write(struct buf *out, const struct alert_set *set);
/* Into a set that was just made. -EINVAL and a sentence when it is not what alert_keep_write wrote; what is wrong in a single entry
 * leaves that one out. */
int alert_keep_read(struct alert_set *set, struct str text, struct error *err);
