/* SPDX-License-Identifier: Apache-2.0
 * Sends notices about alerts. Every notifier ([notify.NAME]) has its own thread, queue and file: a dead target delays neither
 * sampling nor other targets, and unsent notices survive a restart.
 *
 *   notifier_service_put() ──▶ mailbox ─▶ [ queue of "ops"  ─ file ] ─ wait, group ─▶ webhook, slack, ... ─▶ sent, or retried
 *                        └──▶ mailbox ─▶ [ queue of "chat" ─ file ] ─ ...
 *
 * Every notifier remembers the alerts it has sent. So the rules may repeat themselves, for example after a restart: a firing notice
 * with the same fingerprint and start is sent once, and a resolved one only where its beginning was sent.
 */
#pragma once

#include <stdint.h>

#include "alert/notify/notice.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "config/config.h"
#include "model/snapshot.h"

enum {
    NOTIFIERS_MAX = 64,         /* more tables are reported and ignored */
    NOTIFIER_QUEUE_MAX = 1000,  /* notices waiting for one target; the oldest is dropped */
    NOTIFIER_TARGET_SIZE = 160, /* "https://hooks.slack.com/...", without secrets */
    NOTIFIER_ERROR_SIZE = 256,
    NOTIFIER_HOURS_SIZE = 512,
};

struct notifier_service;

struct notifier_options {
    const struct env *env;
    const struct config *config; /* used only during the call */
    const char *folder;          /* directory of the queues; created if missing. NULL: queues are not saved */
    /* Logs a message; called from the notifiers' threads. May be NULL. */
    void (*say)(void *user, enum log_level level, const char *message);
    void *user;
};

/* NULL and the error only if out of memory or threads. */
struct notifier_service *notifier_service_new(const struct notifier_options *options, struct error *err);
/* Cancels running attempts within about a second; unsent notices are on disk. NULL is fine. */
void notifier_service_free(struct notifier_service *s);

/* Queues a copy for each notifier it names and returns at once. Ignores unknown names: the configuration was checked. */
void notifier_service_put(struct notifier_service *s, const struct alert_notice *notice);

enum { HOME_WHY_SIZE = 400 };

/* The state of the host that notifiers receive from time to time. */
struct home_view {
    const struct snapshot *snapshot; /* owns one reference */
    char why[HOME_WHY_SIZE];         /* about the host */
    char gpu_why[][HOME_WHY_SIZE];   /* about each GPU */
};
void home_view_free(struct home_view *v); /* NULL is fine */

/* Passes the state of the host to notifiers that publish it (MQTT), as often as each wants. Copies the view. */
bool notifier_service_wants_view(const struct notifier_service *s, struct mono now);
void notifier_service_show(struct notifier_service *s, const struct home_view *view, struct mono now);
/* A roll call after a start or reload: between these two calls, all firing alerts are sent again. A notifier reports as resolved
 * what it has sent before and now misses: its rule is gone, or a crash hid its end. */
void notifier_service_roll_begin(struct notifier_service *s);
void notifier_service_roll_end(struct notifier_service *s);
/* Applies new settings; notifiers that remain keep their queues. */
int notifier_service_reload(struct notifier_service *s, const struct config *config, struct error *err);

enum notifier_state { NOTIFIER_IDLE, NOTIFIER_WAITING, NOTIFIER_SENDING, NOTIFIER_RETRYING };

struct notifier_stats {
    char name[NOTICE_NOTIFIER_SIZE];
    const char *type; /* "webhook" */
    char target[NOTIFIER_TARGET_SIZE];
    enum notifier_state state;
    uint64_t sent_total;     /* delivered notices */
    uint64_t failed_total;   /* notices given up: refused, too old, or dropped from a full queue */
    uint64_t attempts_total; /* messages sent or attempted */
    uint64_t errors_total;   /* failed attempts */
    size_t queued;
    size_t held;                                                  /* queued ones held by quiet hours or for a digest */
    struct wall held_until;                                       /* when the first is released; ms 0: none is held */
    char quiet[NOTIFIER_HOURS_SIZE], digest[NOTIFIER_HOURS_SIZE]; /* as configured, one per line; "": none */
    struct wall last_sent_at, next_try_at;                        /* ms 0: none */
    char last_error[NOTIFIER_ERROR_SIZE];                         /* "": the last attempt succeeded */
};

const char *notify_type_name(enum config_notify_type type); /* "webhook"; NULL after the last */

/* Fills at most `max` entries and returns how many there are. */
size_t notifier_service_stats(struct notifier_service *s, struct notifier_stats *stats, size_t max);
const char *notifier_state_name(enum notifier_state state); /* "idle" */

/* One attempt in the caller's thread, for `whirr notify test`. */
struct notifier_result {
    bool fine;
    int status; /* HTTP or exit status; 0: no answer */
    int64_t took_ms;
    char target[NOTIFIER_TARGET_SIZE];
    char answer[512];                /* the beginning of the response */
    char error[NOTIFIER_ERROR_SIZE]; /* "": success */
};
void notifier_try(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                  struct notifier_result *ret);
/* The same, but only connects: `fine` if it can be reached. Programs and desktops are not tried. */
void notifier_reach(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                    struct notifier_result *ret);

/* Name, type and target of a table, without statistics. */
void notifier_describe(const struct config_notify *notifier, struct notifier_stats *ret);

/* Checks what the settings table can't: names in templates, an ntfy URL without a topic, malformed headers. -EINVAL. */
int notifier_check(const struct config_notify *notifier, struct error *err);
