/* SPDX-License-Identifier: Apache-2.0
 * Telling people of alerts. Every notifier ([notify.NAME]) has a thread, a queue and a file of its own: a dead target delays
 * neither sampling nor the other targets, and what it has not heard yet outlives a restart.
 *
 *   notifier_service_tell() ──▶ mailbox ─▶ [ queue of "ops"  ─ file ] ─ wait, group ─▶ webhook, slack, ... ─▶ told, or again later
 *                          └──▶ mailbox ─▶ [ queue of "chat" ─ file ] ─ ...
 *
 * Every notifier remembers which alerts it was told of. So the rules may tell too much, also all that still fire after a restart:
 * a firing notice with the same fingerprint and start is told once, and a resolved one only to those who heard of its beginning.
 */
#pragma once

#include <stdint.h>

#include "alert/notify/notice.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "config/config.h"

enum {
    NOTIFIERS_MAX = 64,         /* further tables are reported and left out */
    NOTIFIER_QUEUE_MAX = 1000,  /* notices that wait for one target; the oldest gives way */
    NOTIFIER_TARGET_SIZE = 160, /* "https://hooks.slack.com/...": nothing secret in it */
    NOTIFIER_ERROR_SIZE = 256,
    NOTIFIER_HOURS_SIZE = 512,
};

struct notifier_service;

struct notifier_options {
    const struct env *env;
    const struct config *config; /* only read during the call */
    const char *folder;          /* of the queues; made when it is missing. NULL: they are not kept */
    /* What is worth a line in the log; called from the notifiers' threads. NULL: no listener. */
    void (*say)(void *user, enum log_level level, const char *message);
    void *user;
};

/* NULL and the error only when memory or threads are out. */
struct notifier_service *notifier_service_new(const struct notifier_options *options, struct error *err);
/* Ends what is under way within about a second; what is left is on disk. NULL is fine. */
void notifier_service_free(struct notifier_service *s);

/* Copies it to those it names and returns at once. Names that are not known are ignored: the configuration was checked. */
void notifier_service_tell(struct notifier_service *s, const struct alert_notice *notice);
/* Some notifiers (MQTT) also show the state of the host, each as often as it is set. The view is copied. */
struct home_view;
bool notifier_service_wants_view(const struct notifier_service *s, struct mono now);
void notifier_service_show(struct notifier_service *s, const struct home_view *view, struct mono now);
/* A roll call, after a start and a reload: between these two, everything that fires is told again. What a notifier heard of and is
 * not among it is over, though no end was reported (a rule is gone, a crash came in between), and is told as resolved. */
void notifier_service_roll_begin(struct notifier_service *s);
void notifier_service_roll_end(struct notifier_service *s);
/* Takes new settings; queues of notifiers that stay are kept. */
int notifier_service_reload(struct notifier_service *s, const struct config *config, struct error *err);

enum notifier_state { NOTIFIER_IDLE, NOTIFIER_WAITING, NOTIFIER_SENDING, NOTIFIER_RETRYING };

struct notifier_stats {
    char name[NOTICE_NOTIFIER_SIZE];
    const char *type; /* "webhook" */
    char target[NOTIFIER_TARGET_SIZE];
    enum notifier_state state;
    uint64_t sent_total;     /* notices that arrived */
    uint64_t failed_total;   /* notices given up: refused, too old, or pushed out of a full queue */
    uint64_t attempts_total; /* messages sent or tried */
    uint64_t errors_total;   /* of them without success */
    size_t queued;
    size_t held;                                                  /* of them, by quiet hours or for a digest */
    struct wall held_until;                                       /* the first of them; ms 0: none is held */
    char quiet[NOTIFIER_HOURS_SIZE], digest[NOTIFIER_HOURS_SIZE]; /* as they were set, one a line; "" none */
    struct wall last_sent_at, next_try_at;                        /* ms 0: none */
    char last_error[NOTIFIER_ERROR_SIZE];                         /* "" the last attempt was fine */
};

const char *notify_type_name(enum config_notify_type type); /* "webhook"; NULL behind the last */
/* The same name, one that outlives its text; "" not a type. */
const char *notifier_type_known(const char *name);

/* Fills at most `max` and returns how many there are. */
size_t notifier_service_stats(struct notifier_service *s, struct notifier_stats *stats, size_t max);
const char *notifier_state_name(enum notifier_state state); /* "idle" */

/* One attempt, now, in the caller's thread: `whirr notify test`. */
struct notifier_result {
    bool fine;
    int status; /* of HTTP or of the program; 0: no answer */
    int64_t took_ms;
    char target[NOTIFIER_TARGET_SIZE];
    char answer[512];                /* the beginning of what came back */
    char error[NOTIFIER_ERROR_SIZE]; /* "" fine */
};
void notifier_try(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                  struct notifier_result *ret);

/* Name, type and target of a table, without any figures. */
void notifier_describe(const struct config_notify *notifier, struct notifier_stats *ret);

/* What the table of settings cannot know: names in templates, an ntfy URL without a topic, headers that are none. -EINVAL. */
int notifier_check(const struct config_notify *notifier, struct error *err);
