/* SPDX-License-Identifier: Apache-2.0
 * Messages for each type of target, within its limits. Pure: turns notices into text.
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

#include "alert/notify/notice.h"
#include "base/buf.h"
#include "base/error.h"
#include "config/config.h"

enum { NOTIFY_BODY_MAX = 4 << 20, NOTIFY_URL_SIZE = 2048 };

/* When Alertmanager considers an alert over that is not repeated, and how often we repeat it. */
enum { ALERTMANAGER_RESEND_MS = 60000, ALERTMANAGER_ENDS_MS = 4 * ALERTMANAGER_RESEND_MS };

enum { NOTIFY_RECIPIENTS_MAX = 32 };

/* Where a message goes: the settings of a [notify.NAME] table that affect its form. Texts are never NULL. */
struct notify_address {
    enum config_notify_type type;
    const char *url, *template_text, *token, *from;
    const char *to[NOTIFY_RECIPIENTS_MAX + 1]; /* NULL-terminated */
};

struct notify_message {
    struct buf body; /* NUL-terminated */
    char url[NOTIFY_URL_SIZE];
    const char *method; /* HTTP method */
    const char *content_type;
    char authorization[NOTIFY_URL_SIZE]; /* header value; "": none */
    char sender[256];                    /* of email: the bare address */
};

void notify_message_done(struct notify_message *m);

/* One line: "FIRING: busy on GPU 0 (critical)". If `count` > 1, adds the number of others. */
void notice_title(const struct alert_notice *n, size_t count, struct buf *out);
/* How many notices fit into one message of this type. */
size_t notify_group_max(enum config_notify_type type);

/* Writes the message for these notices, the leading one first. */
int notify_message(const struct notify_address *address, const struct notice_group *group, struct wall now,
                   struct notify_message *ret, struct error *err);

/* ---- Texts with {{names}} in them. In a JSON template (one that begins with { or [) values are escaped to fit between its quotes;
 * {{name|json}} writes a whole JSON value, {{name|raw}} the bare text. ---- */

bool template_is_json(const char *text);
/* -EINVAL names an unknown name; otherwise only the buffer can fail. */
int template_render(const char *text, const struct notice_group *group, struct buf *out, struct error *err);
/* Renders an example to find unknown names and invalid JSON. */
int template_check(const char *text, struct error *err);

/* ---- Shared by the files that write messages. ---- */

/* The texts of all notices, each under its title if there are several. */
void notice_texts(const struct notice_group *group, bool link, struct buf *out);

void email_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct wall now,
                   struct notify_message *ret);
/* 16 hex digits that identify these notices, so that services can recognize a retry. */
void notice_group_id(const struct notice_group *group, char id[17]);

/* ---- Alerts for Alertmanager's API v2. Labels identify an alert there, so none of them may change during its life. ---- */

/* Accepts the address of the server, of its API or of the alerts path; returns the last. */
void alertmanager_url(const char *given, char url[NOTIFY_URL_SIZE]);
/* A firing alert ends unless repeated in time: a host that died must not fire forever. */
void alertmanager_body(const struct notice_group *group, struct wall now, struct buf *out);
