/* SPDX-License-Identifier: Apache-2.0
 * All alerts of a host: findings that held long enough, and conditions from the configuration. A sample with its verdict goes in,
 * changes come out. Pure apart from allocation: time comes with the sample, and the state that must survive a restart is written
 * and read as text (alert_keep.c).
 *
 *   verdict ──▶ findings ────────────┐
 *   snapshot ─▶ conditions × subjects┴─▶ alert_step() ──▶ changes ──▶ the caller: notifiers, history, clients
 *                                             ▲
 *                                    silences: is it sent?
 */
#pragma once

#include "alert/expr/expr.h"
#include "alert/rule.h"
#include "alert/silence.h"
#include "base/clock.h"

/* The life of one alert, as a pure function of its condition over time.
 *
 *               holds                 held for `for`               over for `clear_for`
 *   inactive ──────────▶ pending ───────────────────▶ firing ─────────────────────────▶ resolved
 *       ▲                   │ does not hold             ▲                                  │ holds (and `for`)
 *       └───────────────────┘                           └──────────────────────────────────┘
 *
 * An unknown condition stops the clocks and keeps the state for at most ten minutes. An alert that begins three times within ten
 * minutes is flapping: it then ends only after five calm minutes. */

enum {
    ALERT_UNKNOWN_MS = 10 * 60 * 1000, /* how long an unknown value keeps the state */
    ALERT_FLAPS = 3,
    ALERT_FLAP_WINDOW_MS = 10 * 60 * 1000,
    ALERT_FLAP_CLEAR_MS = 5 * 60 * 1000,
};

enum alert_phase { ALERT_INACTIVE, ALERT_PENDING, ALERT_FIRING, ALERT_RESOLVED };
enum alert_change { CHANGE_NONE, CHANGE_PENDING, CHANGE_CALMED, CHANGE_FIRED, CHANGE_RESOLVED };

/* Plain data that can be saved across restarts. An unset time is 0. */
struct alert_state {
    enum alert_phase phase;
    struct wall pending_at; /* when the condition began to hold, plus unknown time */
    struct wall calm_at;    /* while firing: when it stopped holding, plus unknown time */
    struct wall known_at;   /* while unknown: the last time it was known */
    struct wall started_at, ended_at;
    struct wall fired[ALERT_FLAPS]; /* newest first */
    bool flapping;
    bool lapsed; /* ended because the condition stayed unknown */
};

struct alert_timing {
    int64_t hold_ms, clear_hold_ms;
};

struct alert_moment {
    struct wall now, before; /* time of this step and the previous one; before.ms 0: none */
    bool gap;                /* no sample for too long: pending times restart */
};

/* `when`: does the condition hold; `calm`: is it over? Only matters while firing. */
enum alert_change alert_step(struct alert_state *state, const struct alert_timing *timing, enum truth when, enum truth calm,
                             const struct alert_moment *moment);
/* Ends the alert at once because its subject is gone for good. */
enum alert_change alert_end(struct alert_state *state, struct wall now);

const char *alert_phase_name(enum alert_phase phase); /* "firing" */

enum {
    ALERT_BUCKETS = 1024,
    ALERTS_MAX = 2048,                    /* alerts that are not inactive; more are only counted */
    ALERT_RESOLVED_KEPT_MS = 3600 * 1000, /* how long a resolved alert stays listed */
    ALERT_GAP_MS = 60 * 1000,             /* or three intervals, whichever is longer */
    ALERT_SUMMARY_SIZE = NOTICE_SUMMARY_SIZE,
};

/* An alert about one subject. It keeps copies of names and texts because the subject may vanish before the alert ends. */
struct alert {
    char rule[NOTICE_ALERT_SIZE];
    enum severity severity; /* the worst so far while firing */
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
    double value; /* the latest known one */
    char summary[ALERT_SUMMARY_SIZE];
    size_t label_count;
    struct notice_label labels[RULE_LABELS_MAX];
    char notify[512];                  /* notifiers, one per line; also notified of the end when the rule is gone */
    char silenced_by[SILENCE_ID_SIZE]; /* "": not silenced */
    bool sent;                         /* its beginning was sent */
    bool seen;                         /* found in this step */
    struct alert *next;                /* in the hash bucket */
};

struct alert_set {
    const struct alert_rules *rules;
    struct alert **list;
    size_t count, capacity;
    struct alert *buckets[ALERT_BUCKETS]; /* by rule and process, rebuilt in each step: a step looks up thousands of processes */
    uint64_t left_out;                    /* alerts beyond ALERTS_MAX */
    uint64_t fired_total;
    struct silences silences;
    struct wall last_at; /* time of the previous step */
    struct mono last;
    bool changed; /* unsaved changes that a restart must know */
    bool stirred; /* unsaved changes that are less urgent: an alert became pending, or stopped being so */
};

enum alert_news {
    NEWS_PENDING,
    NEWS_CALMED, /* stopped being pending without firing */
    NEWS_FIRED,
    NEWS_RESOLVED,
    NEWS_UPDATED, /* firing for a while; its silence ended, or it got worse */
};

typedef void alert_news_fn(void *user, enum alert_news news, const struct alert_rule *rule, struct alert *alert);

void alert_set_init(struct alert_set *set, const struct alert_rules *rules);
void alert_set_done(struct alert_set *set);
/* Replaces the rules: alerts whose rule still exists continue, the others end. */
void alert_set_rules(struct alert_set *set, const struct alert_rules *rules, struct wall now, alert_news_fn *news, void *user);

/* Processes one sample. A NULL `store` means that nothing is known about the history. */
void alert_set_step(struct alert_set *set, const struct snapshot *now, const struct store_facts *store, alert_news_fn *news,
                    void *user);

/* Matches alerts against silences again, after a silence was added or removed. */
void alert_set_silence(struct alert_set *set, struct wall now, alert_news_fn *news, void *user);

/* Appends a zeroed alert; NULL if the list is full or out of memory. */
struct alert *alert_add(struct alert_set *set);

/* For lists: firing, pending, resolved; then by severity and age, worst and oldest first. */
void alert_set_sort(struct alert_set *set);
/* An identifier for this alert and subject that survives restarts. */
void alert_fingerprint(const struct alert *a, char text[NOTICE_FINGERPRINT_SIZE]);
void alert_notice(const struct alert *a, struct alert_notice *n);

/* ---- Alert state that survives a restart, as text: states and silences. ---- */

enum { ALERT_KEEP_MAX = 16 << 20 };

void alert_keep_write(struct buf *out, const struct alert_set *set);
/* Reads into a new set. -EINVAL and a message if alert_keep_write() did not write this; a single bad entry is skipped. */
int alert_keep_read(struct alert_set *set, struct str text, struct error *err);
