/* SPDX-License-Identifier: Apache-2.0
 * One attempt to tell one target. Blocking, for a thread that may wait. Nothing secret of the settings is in what it says.
 */
#pragma once

#include "alert/notify/chat.h"
#include "alert/notify/desktop.h"
#include "alert/notify/home_assistant.h"
#include "alert/notify/outbox.h"

enum { NOTIFY_HEADERS_MAX = 32, NOTIFY_ARGUMENTS_MAX = 64 };

/* A [notify.NAME] table, copied: the configuration may be gone while a message is under way. */
struct notify_target {
    char name[NOTICE_NOTIFIER_SIZE];
    enum config_notify_type type;
    char *url, *template_text, *token, *from, *user, *password, *tls_ca; /* "" not set */
    char *to[NOTIFY_RECIPIENTS_MAX + 1];
    bool clear; /* no TLS */
    /* Of mqtt, desktop: what stays open between two messages. */
    char *topic, *discovery;
    int64_t state_every_ms;
    struct mqtt *broker;                   /* NULL: not connected */
    uint64_t shown_gpus;                   /* for which the broker has configurations; 0: none */
    struct desktop *desktop;               /* NULL: not connected */
    bool visit;                            /* for one message only: it must not look as if the daemon came or went */
    char *headers[NOTIFY_HEADERS_MAX + 1]; /* "Name: value" */
    char *content_type;                    /* from the headers; NULL: that of the body */
    char *command[NOTIFY_ARGUMENTS_MAX + 1];
    int64_t timeout_ms;
    struct outbox_rules rules;
    char quiet_text[NOTIFIER_HOURS_SIZE], digest_text[NOTIFIER_HOURS_SIZE]; /* one rule a line */
    char shown[NOTIFIER_TARGET_SIZE];                                       /* for people */
};

/* NULL: out of memory. */
struct notify_target *notify_target_new(const struct config_notify *c);
void notify_target_free(struct notify_target *t); /* NULL is fine */

void notify_target_address(const struct notify_target *t, struct notify_address *ret); /* borrowed from it */

struct notify_attempt {
    enum outbox_result result;
    int status;       /* of HTTP or of the program; 0: no answer */
    int64_t pause_ms; /* that the target asked for; 0: none */
    char answer[512]; /* the beginning of what came back, on one line */
    char error[NOTIFIER_ERROR_SIZE];
};

void notify_attempt(const struct env *env, struct notify_target *target, const struct notice_group *group, struct wall now,
                    const _Atomic bool *cancel, struct notify_attempt *ret);

/* ---- MQTT: the connection stays open ---- */

void broker_attempt(const struct env *env, struct notify_target *t, const struct notice_group *group, const char *own,
                    const _Atomic bool *cancel, struct notify_attempt *a);
/* Publishes the state of the host; after a connect and with other GPUs also how Home Assistant finds them. */
int broker_show(const struct env *env, struct notify_target *t, const struct home_view *view, size_t firing,
                const _Atomic bool *cancel, struct error *err);
int broker_keep_alive(struct notify_target *t, struct error *err);
void broker_close(struct notify_target *t);
