/* SPDX-License-Identifier: Apache-2.0
 * What is sent to each kind of target, within the limits that it sets. Pure: from notices to text.
 *
 *   webhook, command   the JSON object of the leading notice, with `count` and `alerts` for all of them; or a template
 *   slack              text and attachments (also Mattermost, Rocket.Chat); at most 20, &<> escaped
 *   discord            content of 2000 characters, 10 embeds of 6000 together, nobody is mentioned
 *   ntfy               JSON to the root of the server, the topic is the end of the URL; a message of 4096 bytes
 *   alertmanager       a list of alerts for its API v2
 */
#pragma once

#include "alert/notify/template.h"
#include "base/buf.h"
#include "config/config.h"

enum { NOTIFY_BODY_MAX = 4 << 20, NOTIFY_URL_SIZE = 2048 };

/* How a firing alert that nobody repeats ends for Alertmanager, and how often it is repeated. */
enum { ALERTMANAGER_RESEND_MS = 60000, ALERTMANAGER_ENDS_MS = 4 * ALERTMANAGER_RESEND_MS };

struct notify_message {
    struct buf body; /* terminated */
    char url[NOTIFY_URL_SIZE];
    const char *content_type;
};

void notify_message_done(struct notify_message *m);

/* "FIRING: busy on GPU 0 (critical)": one line. `count` > 1 counts the others. */
void notice_title(const struct alert_notice *n, size_t count, struct buf *out);
/* How many notices fit into one message of this type. */
size_t notify_group_max(enum config_notify_type type);
const char *notify_type_name(enum config_notify_type type);

/* The message for these notices, the leading one first. */
int notify_message(enum config_notify_type type, const char *url, const char *template_text, const struct notice_group *group,
                   struct wall now, struct notify_message *ret, struct error *err);

/* ---- Alerts as Alertmanager's API v2 reads them. Labels make an alert's identity there: nothing that changes may be among them.
 */

/* The address of the server, of its API or of the path for alerts: all become the last. */
void alertmanager_url(const char *given, char url[NOTIFY_URL_SIZE]);
/* A firing alert ends by itself when it is not repeated in time: a machine that died is not on fire for ever. */
void alertmanager_body(const struct notice_group *group, struct wall now, struct buf *out);
