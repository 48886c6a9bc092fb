/* SPDX-License-Identifier: Apache-2.0
 * Fills in a notice.
 */
#include "alert/notify/notice.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"

const char *notice_status_name(enum notice_status status)
{
    return status == NOTICE_RESOLVED ? "resolved" : "firing";
}

/* An unknown severity, from another version, counts as a warning. */
enum severity notice_severity(const struct alert_notice *n)
{
    enum severity severity = SEVERITY_WARNING;
    severity_from_text(n->severity, &severity);
    return severity;
}

void notice_add_label(struct alert_notice *n, const char *key, const char *value)
{
    char clean[NOTICE_LABEL_KEY_SIZE];
    size_t at = 0;
    str_copy_clean(clean, sizeof clean, str_from(key));
    while (at < n->label_count && strcmp(n->labels[at].key, clean) != 0)
        at++;
    if (at == NOTICE_LABELS_MAX)
        return;
    n->label_count = MAX_OF(n->label_count, at + 1);
    memcpy(n->labels[at].key, clean, sizeof clean);
    str_copy_clean(n->labels[at].value, sizeof n->labels[at].value, str_from(value));
}

void notice_set_link(struct alert_notice *n, const char *url)
{
    struct wall at = n->ended_at.ms ? n->ended_at : n->started_at;
    char when[WALL_TEXT_SIZE];
    size_t len = strlen(url);
    wall_format(at, when);
    when[19] = '\0'; /* the dashboard addresses moments in whole seconds */
    while (len && url[len - 1] == '/')
        len--;
    int size = snprintf(n->link, sizeof n->link, "%.*s/?at=%sZ", (int)MIN_OF(len, sizeof n->link), url, when);
    if (len == 0 || at.ms == 0 || size < 0 || (size_t)size >= sizeof n->link)
        n->link[0] = '\0';
}

void notice_add_notifier(struct alert_notice *n, const char *name)
{
    if (n->notifier_count < NOTICE_NOTIFIERS_MAX)
        str_copy(n->notifiers[n->notifier_count++], NOTICE_NOTIFIER_SIZE, str_from(name));
}
