/* SPDX-License-Identifier: Apache-2.0
 * Replaces {{names}} by values.
 */
#include "alert/notify/message.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/words.h"

enum { VALUE_MAX = 256 * 1024 };

enum value_kind { VALUE_TEXT, VALUE_NUMBER, VALUE_JSON };

/* The names, for messages, besides labels.KEY. */
static const char *const names[] = {"status", "alert", "severity", "gpu_index",  "gpu_name", "gpu_uuid",
                                    "host",   "value", "summary",  "started_at", "ended_at", "fingerprint",
                                    "title",  "count", "labels",   "alerts",     "why",      "link"};

bool template_is_json(const char *text)
{
    struct str s = str_trim(str_from(text));
    return s.len && (s.at[0] == '{' || s.at[0] == '[') && !str_starts(s, "{{");
}

static void put_time(struct buf *out, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format(at, text);
    buf_text(out, at.ms ? text : "");
}

static bool put_label(struct str key, const struct alert_notice *n, struct buf *out)
{
    for (size_t i = 0; i < n->label_count; i++)
        if (str_is(key, n->labels[i].key))
            buf_text(out, n->labels[i].value);
    return true; /* a label that this alert lacks is empty */
}

static void put_lists(bool labels, const struct notice_group *group, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    const struct alert_notice *n = group->list[0];
    if (labels) {
        jw_object(&j);
        for (size_t i = 0; i < n->label_count; i++)
            jw_key_text(&j, n->labels[i].key, n->labels[i].value);
        jw_end(&j);
        return;
    }
    jw_array(&j);
    for (size_t i = 0; i < group->count; i++)
        notice_json(&j, group->list[i]);
    jw_end(&j);
}

/* An absent number is empty, or null in JSON. */
static void put_number(struct buf *out, bool known, double value)
{
    if (known)
        jw_number(JSON_TO(out), value);
}

/* Writes the bare value; false if there is no such name. */
static bool put_value(struct str name, const struct notice_group *group, struct buf *out, enum value_kind *kind)
{
    const struct alert_notice *n = group->list[0];
    const struct {
        const char *name, *text;
    } texts[] = {{"status", notice_status_name(n->status)},
                 {"alert", n->alert},
                 {"severity", n->severity},
                 {"gpu_name", n->gpu_name},
                 {"gpu_uuid", n->gpu_uuid},
                 {"host", n->host},
                 {"summary", n->summary},
                 {"why", n->why},
                 {"link", n->link},
                 {"fingerprint", n->fingerprint}};
    *kind = VALUE_TEXT;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (str_is(name, texts[i].name)) {
            buf_text(out, texts[i].text);
            return true;
        }
    if (str_starts(name, "labels."))
        return put_label((struct str){name.at + 7, name.len - 7}, n, out);
    if (str_is(name, "started_at") || str_is(name, "ended_at")) {
        put_time(out, str_is(name, "ended_at") ? n->ended_at : n->started_at);
        return true;
    }
    if (str_is(name, "title")) {
        notice_title(n, group->count, out);
        return true;
    }
    *kind = VALUE_NUMBER;
    if (str_is(name, "count") || str_is(name, "gpu_index")) {
        bool count = str_is(name, "count");
        put_number(out, count || n->gpu_index >= 0, count ? (double)group->count : n->gpu_index);
        return true;
    }
    if (str_is(name, "value")) {
        put_number(out, n->has_value, n->value);
        return true;
    }
    *kind = VALUE_JSON;
    if (!str_is(name, "labels") && !str_is(name, "alerts"))
        return false;
    put_lists(str_is(name, "labels"), group, out);
    return true;
}

static int unknown_name(struct str name, struct error *err)
{
    char text[64];
    str_copy_clean(text, sizeof text, name);
    const char *near = nearest_name(text, names, ARRAY_LEN(names));
    if (near)
        return error_set(err, -EINVAL, "nothing is called {{%s}}; did you mean {{%s}}?", text, near);
    return error_set(err, -EINVAL, "nothing is called {{%s}}; it takes status, alert, severity, summary, value, ...", text);
}

static int template_put(struct str inside, bool json, const struct notice_group *group, struct buf *out, struct error *err)
{
    AUTO_BUF struct buf value = BUF(VALUE_MAX);
    struct str rest = inside, name, filter = {0};
    enum value_kind kind;
    str_cut(&rest, '|', &name);
    name = str_trim(name);
    filter = str_trim(rest);
    if (!put_value(name, group, &value, &kind))
        return unknown_name(name, err);
    bool raw = str_is(filter, "raw"), whole = str_is(filter, "json");
    if (filter.len && !raw && !whole)
        return error_set(err, -EINVAL, "nothing is done by '|" STR_FMT "'; there are |json and |raw", STR_ARG(filter));
    if (kind != VALUE_TEXT) {
        buf_str(out, !value.len && json && !raw ? STR("null") : buf_view(&value));
        return 0;
    }
    if (raw || (!json && !whole)) {
        buf_str(out, buf_view(&value));
        return 0;
    }
    AUTO_BUF struct buf quoted = BUF(VALUE_MAX);
    jw_str(JSON_TO(&quoted), buf_view(&value));
    if (whole)
        buf_str(out, buf_view(&quoted));
    else if (quoted.len >= 2)
        buf_add(out, quoted.at + 1, quoted.len - 2); /* the template provides the quotes */
    return 0;
}

int template_render(const char *text, const struct notice_group *group, struct buf *out, struct error *err)
{
    bool json = template_is_json(text);
    for (;;) {
        const char *open = strstr(text, "{{"), *close = open ? strstr(open, "}}") : NULL;
        if (!open || !close)
            break;
        buf_add(out, text, (size_t)(open - text));
        int rc = template_put((struct str){open + 2, (size_t)(close - open - 2)}, json, group, out, err);
        if (rc < 0)
            return rc;
        text = close + 2;
    }
    buf_text(out, text);
    return buf_check(out, err, "the message is longer than %zu bytes", out->max);
}

int template_check(const char *text, struct error *err)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct alert_notice n = {.status = NOTICE_FIRING, .gpu_index = 0, .has_value = true, .value = 87.5, .started_at = {1}};
    snprintf(n.alert, sizeof n.alert, "example");
    snprintf(n.summary, sizeof n.summary, "A \"summary\" with everything: \\ and more.");
    const struct notice_group group = {(const struct alert_notice *const[]){&n}, 1};
    int rc = template_render(text, &group, &out, err);
    if (rc < 0 || !template_is_json(text))
        return rc;
    json_error_t error;
    json_t *json = json_loadb(out.at, out.len, 0, &error);
    json_decref(json);
    return json ? 0 : error_set(err, -EINVAL, "filled in, it is not JSON: %s", error.text);
}
