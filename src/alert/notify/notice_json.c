/* SPDX-License-Identifier: Apache-2.0
 * Writes and reads the JSON object of a notice.
 */
#include "alert/notify/notice.h"

#include <math.h>

#include "base/json_reader.h"

static void key_text_or_null(struct json_writer *j, const char *key, const char *text)
{
    jw_key_text(j, key, text[0] ? text : NULL);
}

static void key_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format(at, text);
    jw_key_text(j, key, at.ms ? text : NULL);
}

void notice_json_members(struct json_writer *j, const struct alert_notice *n)
{
    jw_key_text(j, "status", notice_status_name(n->status));
    jw_key_text(j, "alert", n->alert);
    jw_key_text(j, "severity", n->severity);
    jw_key(j, "gpu_index");
    if (n->gpu_index >= 0)
        jw_int(j, n->gpu_index);
    else
        jw_null(j);
    key_text_or_null(j, "gpu_name", n->gpu_name);
    key_text_or_null(j, "gpu_uuid", n->gpu_uuid);
    jw_key_bool(j, "simulated", n->simulated);
    key_text_or_null(j, "host", n->host);
    jw_key_number(j, "value", n->has_value ? n->value : NAN);
    jw_key_text(j, "summary", n->summary);
    key_text_or_null(j, "why", n->why);
    key_text_or_null(j, "link", n->link);
    key_time(j, "started_at", n->started_at);
    key_time(j, "ended_at", n->ended_at);
    jw_key_object(j, "labels");
    for (size_t i = 0; i < n->label_count; i++)
        jw_key_text(j, n->labels[i].key, n->labels[i].value);
    jw_end(j);
    jw_key_text(j, "fingerprint", n->fingerprint);
}

void notice_json(struct json_writer *j, const struct alert_notice *n)
{
    jw_object(j);
    notice_json_members(j, n);
    jw_end(j);
}

bool notice_from_json(const json_t *object, struct alert_notice *ret)
{
    const char *status = json_string_value(json_object_get(object, "status"));
    if (!status)
        return false;
    struct alert_notice n = {.status = strcmp(status, "resolved") == 0 ? NOTICE_RESOLVED : NOTICE_FIRING, .gpu_index = -1};
    json_copy_text(object, "alert", n.alert, sizeof n.alert);
    json_copy_text(object, "severity", n.severity, sizeof n.severity);
    json_copy_text(object, "gpu_name", n.gpu_name, sizeof n.gpu_name);
    json_copy_text(object, "gpu_uuid", n.gpu_uuid, sizeof n.gpu_uuid);
    json_copy_text(object, "host", n.host, sizeof n.host);
    json_copy_text(object, "summary", n.summary, sizeof n.summary);
    json_copy_text(object, "why", n.why, sizeof n.why);
    json_copy_text(object, "link", n.link, sizeof n.link);
    json_copy_text(object, "fingerprint", n.fingerprint, sizeof n.fingerprint);
    n.started_at = json_moment(object, "started_at");
    n.ended_at = json_moment(object, "ended_at");
    n.simulated = json_is_true(json_object_get(object, "simulated"));
    const json_t *index = json_object_get(object, "gpu_index"), *value = json_object_get(object, "value");
    json_int_t number = json_integer_value(index);
    if (json_is_integer(index) && number >= 0 && number < GPU_MAX)
        n.gpu_index = (int)number;
    n.has_value = json_is_number(value);
    n.value = json_number_value(value);
    const char *key;
    json_t *label;
    json_object_foreach((json_t *)json_object_get(object, "labels"), key, label)
        notice_add_label(&n, key, json_string_value(label) ? json_string_value(label) : "");
    if (!n.alert[0] || !n.fingerprint[0])
        return false;
    *ret = n;
    return true;
}
