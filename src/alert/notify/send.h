/* SPDX-License-Identifier: Apache-2.0
 * One attempt to notify one target. Blocks, so call it from a thread that may wait. Its messages contain no secrets.
 */
#pragma once

#include "alert/notify/desktop.h"
#include "alert/notify/message.h"
#include "alert/notify/outbox.h"
#include "net/mqtt.h"

enum { NOTIFY_HEADERS_MAX = 32, NOTIFY_ARGUMENTS_MAX = 64 };

/* A copy of a [notify.NAME] table: the configuration may be gone while a message is being sent. */
struct notify_target {
    char name[NOTICE_NOTIFIER_SIZE];
    enum config_notify_type type;
    char *url, *template_text, *token, *from, *user, *password, *tls_ca; /* "": not set */
    char *to[NOTIFY_RECIPIENTS_MAX + 1];
    bool clear; /* no TLS */
    /* mqtt and desktop: connections that stay open between messages. */
    char *topic, *discovery;
    struct mqtt *broker;                   /* NULL: not connected */
    uint64_t shown_gpus;                   /* GPUs that the broker has configurations for; 0: none */
    struct desktop *desktop;               /* NULL: not connected */
    bool visit;                            /* for a single message: must not look like the daemon came or went */
    bool only_connect;                     /* an attempt finds out whether it can be reached, and sends nothing */
    char *headers[NOTIFY_HEADERS_MAX + 1]; /* "Name: value" */
    char *content_type;                    /* from the headers; NULL: that of the body */
    char *command[NOTIFY_ARGUMENTS_MAX + 1];
    int64_t timeout_ms;
    struct outbox_rules rules;
    char quiet_text[NOTIFIER_HOURS_SIZE], digest_text[NOTIFIER_HOURS_SIZE]; /* one rule per line */
    char shown[NOTIFIER_TARGET_SIZE];                                       /* description for people */
};

/* NULL: out of memory. */
struct notify_target *notify_target_new(const struct config_notify *c);
void notify_target_free(struct notify_target *t); /* NULL is fine */

void notify_target_address(const struct notify_target *t, struct notify_address *ret); /* borrows from the target */

struct notify_attempt {
    enum outbox_result result;
    int status;       /* HTTP or exit status; 0: no answer */
    int64_t pause_ms; /* requested by the target; 0: none */
    char answer[512]; /* the beginning of the response, on one line */
    char error[NOTIFIER_ERROR_SIZE];
};

void notify_attempt(const struct env *env, struct notify_target *target, const struct notice_group *group, struct wall now,
                    const _Atomic bool *cancel, struct notify_attempt *ret);

/* Sends one mail; blocking, like net/http_client.h. The server's last status (250, ...), or -errno with a sentence and *status as
 * the server's answer, 0: none. */
int email_send(const struct env *env, const struct notify_target *t, const struct notify_message *m, const _Atomic bool *cancel,
               int *status, struct error *err);

/* ---- MQTT: the connection stays open ---- */

void broker_attempt(const struct env *env, struct notify_target *t, const struct notice_group *group, const char *own,
                    const _Atomic bool *cancel, struct notify_attempt *a);
/* Publishes the host's state; after connecting and when the GPUs change, also the configurations for Home Assistant. */
int broker_show(const struct env *env, struct notify_target *t, const struct home_view *view, size_t firing,
                const _Atomic bool *cancel, struct error *err);
int broker_reach(const struct env *env, struct notify_target *t, const _Atomic bool *cancel, struct error *err);
int broker_keep_alive(struct notify_target *t, struct error *err);
void broker_close(struct notify_target *t);
