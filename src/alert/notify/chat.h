/* SPDX-License-Identifier: Apache-2.0
 * What is sent to each kind of target, within the limits that it sets. Pure: from notices to text.
 *
 *   webhook, command   the JSON object of the leading notice, with `count` and `alerts` for all of them; or a template
 *   slack              text and attachments (also Mattermost, Rocket.Chat); at most 20, &<> escaped
 *   discord            content of 2000 characters, 10 embeds of 6000 together, no user is mentioned
 *   ntfy               JSON to the root of the server, the topic is the end of the URL; a message of 4096 bytes
 *   alertmanager       a list of alerts for its API v2
 *   telegram           sendMessage of a bot: plain text of 4096 characters
 *   gotify             title, message and priority; the link opens with a click
 *   pushover           title of 250 and message of 1024 characters, a link
 *   matrix             m.room.message; the transaction is named by its content, so that a retry is not shown twice
 *   email              headers and a text, base64
 */
#pragma once

#include "alert/notify/template.h"
#include "base/buf.h"
#include "config/config.h"

enum { NOTIFY_BODY_MAX = 4 << 20, NOTIFY_URL_SIZE = 2048 };

/* How long a firing alert that is not repeated lasts for Alertmanager, and how often it is repeated. */
enum { ALERTMANAGER_RESEND_MS = 60000, ALERTMANAGER_ENDS_MS = 4 * ALERTMANAGER_RESEND_MS };

enum { NOTIFY_RECIPIENTS_MAX = 32 };

/* Where a message goes: what of a [notify.NAME] table decides on its form. Texts are never NULL. */
struct notify_address {
    enum config_notify_type type;
    const char *url, *template_text, *token, *from;
    const char *to[NOTIFY_RECIPIENTS_MAX + 1]; /* NULL-terminated */
};

struct notify_message {
    struct buf body; /* terminated */
    char url[NOTIFY_URL_SIZE];
    const char *method; /* of HTTP */
    const char *content_type;
    char authorization[NOTIFY_URL_SIZE]; /* a header; "" none */
    char sender[256];                    /* of email: the address alone */
};

void notify_message_done(struct notify_message *m);

/* "FIRING: busy on GPU 0 (critical)": one line. `count` > 1 counts the others. */
void notice_title(const struct alert_notice *n, size_t count, struct buf *out);
/* How many notices fit into one message of this type. */
size_t notify_group_max(enum config_notify_type type);

/* The message for these notices, the leading one first. */
int notify_message(const struct notify_address *address, const struct notice_group *group, struct wall now,
                   struct notify_message *ret, struct error *err);

/* ---- Shared by the files that write messages. ---- */

/* Summary, why, details: the text about one alert. `link`: with its link as the last line. */
void notice_text(const struct alert_notice *n, bool link, struct buf *out);
/* The same of all, each but a single one under its title. */
void notice_texts(const struct notice_group *group, bool link, struct buf *out);
/* Cuts text that grew beyond a limit, between characters, and shows that it was cut. */
void put_cut(struct json_writer *j, const char *key, struct str text, size_t max);

void telegram_message(const struct notify_address *a, const struct notice_group *group, const char *own,
                      struct notify_message *ret);
void gotify_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct notify_message *ret);
void pushover_message(const struct notify_address *a, const struct notice_group *group, const char *own,
                      struct notify_message *ret);
void matrix_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct notify_message *ret);
void email_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct wall now,
                   struct notify_message *ret);
/* 16 hexadecimal digits that are the same for the same notices: of a retry, for those who can tell it from a second message. */
void notice_group_id(const struct notice_group *group, char id[17]);

/* ---- Alerts as Alertmanager's API v2 reads them. Labels make an alert's identity there: nothing that changes may be among them.
 */

/* The address of the server, of its API or of the path for alerts: all become the last. */
void alertmanager_url(const char *given, char url[NOTIFY_URL_SIZE]);
/* A firing alert ends by itself when it is not repeated in time: a machine that died is not on fire for ever. */
void alertmanager_body(const struct notice_group *group, struct wall now, struct buf *out);
