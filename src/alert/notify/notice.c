/* SPDX-License-Identifier: Apache-2.0
 * Fills in a notice.
 */
#include "alert/notify/notice.h"

#include <stdio.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
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

/* ---- as JSON ---- */

ANSWER_NAMES(statuses, enum notice_status, notice_status_name, NOTICE_FIRING, NOTICE_RESOLVED);

ANSWER_TABLE(notice_answer, struct alert_notice)
{
    FIELD(NAME, "status", status, NULL, NAMES(statuses));
    FIELD(TEXT, "alert", alert, NULL);
    FIELD(TEXT, "severity", severity, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL, NONE(-1));
    FIELD(TEXT, "gpu_name", gpu_name, NULL, OR_NULL);
    FIELD(TEXT, "gpu_uuid", gpu_uuid, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(TEXT, "host", host, NULL, OR_NULL);
    FIELD(NUMBER, "value", value, NULL, PRESENT(has_value));
    FIELD(TEXT, "summary", summary, NULL);
    FIELD(TEXT, "why", why, NULL, OR_NULL);
    FIELD(TEXT, "link", link, NULL, OR_NULL);
    FIELD(MOMENT, "started_at", started_at, NULL, OR_NULL);
    FIELD(MOMENT, "ended_at", ended_at, NULL, OR_NULL);
    PAIRS(TEXT, "labels", labels, label_count, NULL);
    FIELD(TEXT, "fingerprint", fingerprint, NULL);
}

void notice_json_members(struct json_writer *j, const struct alert_notice *n)
{
    answer_write_keys(j, &notice_answer, n, NULL);
}

void notice_json(struct json_writer *j, const struct alert_notice *n)
{
    answer_write(j, &notice_answer, n, NULL);
}

bool notice_from_json(const json_t *object, struct alert_notice *ret)
{
    struct alert_notice n = {.gpu_index = -1};
    answer_read(&notice_answer, object, &n, NULL);
    if (n.gpu_index < 0 || n.gpu_index >= GPU_MAX)
        n.gpu_index = -1;
    if (!json_is_string(json_object_get(object, "status")) || !n.alert[0] || !n.fingerprint[0])
        return false;
    *ret = n;
    return true;
}
