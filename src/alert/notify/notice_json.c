/* SPDX-License-Identifier: Apache-2.0
 * Writes and reads the JSON object of a notice.
 */
#include "alert/notify/notice.h"

#include "answer/answer.h"
#include "base/json_reader.h"

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
