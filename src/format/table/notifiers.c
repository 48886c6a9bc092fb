/* SPDX-License-Identifier: Apache-2.0
 * Notifiers as JSON, metrics and a table.
 */
#include "format/table/table.h"

#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "format/prometheus/prometheus.h"
#include "format/table/grid.h"

static void key_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format(at, text);
    jw_key_text(j, key, at.ms ? text : NULL);
}

void json_notifiers(struct json_writer *j, const struct notifier_stats *list, size_t count)
{
    jw_object(j);
    jw_key_array(j, "notifiers");
    for (size_t i = 0; i < count; i++) {
        const struct notifier_stats *s = &list[i];
        jw_object(j);
        jw_key_text(j, "name", s->name);
        jw_key_text(j, "type", s->type);
        jw_key_text(j, "target", s->target);
        jw_key_text(j, "state", notifier_state_name(s->state));
        jw_key_int(j, "queued", (int64_t)s->queued);
        jw_key_int(j, "sent_total", (int64_t)s->sent_total);
        jw_key_int(j, "failed_total", (int64_t)s->failed_total);
        jw_key_int(j, "attempts_total", (int64_t)s->attempts_total);
        jw_key_int(j, "errors_total", (int64_t)s->errors_total);
        key_time(j, "last_sent_at", s->last_sent_at);
        key_time(j, "next_try_at", s->next_try_at);
        jw_key_text(j, "last_error", s->last_error[0] ? s->last_error : NULL);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

/* ---- metrics ---- */

static void series(struct buf *out, const char *name, const struct notifier_stats *s, uint64_t value)
{
    buf_printf(out, "%s{", name);
    prometheus_label(out, true, "notifier", s->name);
    prometheus_label(out, false, "type", s->type);
    buf_printf(out, "} %llu\n", (unsigned long long)value);
}

void prometheus_notifiers(struct buf *out, const struct notifier_stats *list, size_t count)
{
    if (count == 0)
        return;
    const struct {
        const char *name, *type, *help;
    } metrics[] = {
        {"whirr_notifications_sent_total", "counter", "Notices of alerts that arrived at their target"},
        {"whirr_notifications_failed_total", "counter",
         "Notices that were given up: refused, too old, or pushed out of a full queue"},
        {"whirr_notification_attempts_total", "counter", "Messages to a target, with and without success"},
        {"whirr_notification_errors_total", "counter", "Messages to a target that did not arrive; most are tried again"},
        {"whirr_notifications_queued", "gauge", "Notices that wait for their target"},
    };
    for (size_t m = 0; m < ARRAY_LEN(metrics); m++) {
        prometheus_head(out, metrics[m].name, metrics[m].type, metrics[m].help);
        for (size_t i = 0; i < count; i++) {
            const struct notifier_stats *s = &list[i];
            const uint64_t values[] = {s->sent_total, s->failed_total, s->attempts_total, s->errors_total, s->queued};
            series(out, metrics[m].name, s, values[m]);
        }
    }
}

/* ---- for people ---- */

static enum ink ink_of(const struct notifier_stats *s)
{
    return s->state == NOTIFIER_RETRYING ? INK_WARN : s->last_error[0] ? INK_WARN : INK_GOOD;
}

void table_notifiers(struct buf *out, const struct page *page, const struct notifier_stats *list, size_t count, bool running)
{
    static const struct grid_column columns[] = {{"NAME", LEFT, 0},    {"TYPE", LEFT, 0},      {"TARGET", LEFT, 0},
                                                 {"STATE", LEFT, 0},   {"QUEUED", RIGHT, 2},   {"SENT", RIGHT, 2},
                                                 {"FAILED", RIGHT, 3}, {"LAST SENT", RIGHT, 4}};
    if (count == 0) {
        buf_text(out, "No notifiers are set up. A [notify.NAME] table in the configuration makes one; see `whirr config docs`.\n");
        return;
    }
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < count; i++) {
        const struct notifier_stats *s = &list[i];
        char number[3][24], age[NUMBER_SIZE];
        const uint64_t values[] = {s->queued, s->sent_total, s->failed_total};
        for (size_t k = 0; k < 3; k++)
            snprintf(number[k], sizeof number[k], "%llu", (unsigned long long)values[k]);
        show_age(age, page, page->now.ms - s->last_sent_at.ms);
        grid_add(&g, INK_STRONG, s->name);
        grid_add(&g, INK_PLAIN, s->type);
        grid_add(&g, INK_PLAIN, s->target);
        grid_add(&g, running ? ink_of(s) : INK_FAINT, running ? notifier_state_name(s->state) : page_dash(page));
        for (size_t k = 0; k < 3; k++)
            grid_add(&g, INK_PLAIN, running ? number[k] : page_dash(page));
        grid_add(&g, INK_FAINT, s->last_sent_at.ms ? age : page_dash(page));
    }
    grid_write(out, page, &g);
    for (size_t i = 0; i < count; i++) {
        if (!list[i].last_error[0])
            continue;
        AUTO_BUF struct buf line = BUF(1024);
        buf_printf(&line, "%s: %s", list[i].name, list[i].last_error);
        page_wrap(out, page, INK_WARN, line.at ? line.at : "", 2, 0);
    }
    if (!running) {
        page_wrap(out, page, INK_FAINT, "No daemon was asked: only the settings are known.", 0, 0);
    }
}

/* ---- from the daemon ---- */

static void take_text(const json_t *o, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(o, key));
    str_copy_clean(to, size, str_from(text ? text : ""));
}

static void take_time(const json_t *o, const char *key, struct wall *to)
{
    const char *text = json_string_value(json_object_get(o, key));
    if (text)
        wall_parse(str_from(text), to);
}

size_t notifiers_from_json(struct str text, struct notifier_stats *list, size_t max)
{
    json_t *root = json_loadb(text.at, text.len, 0, NULL), *o;
    size_t i, count = 0;
    json_array_foreach(json_object_get(root, "notifiers"), i, o)
    {
        if (count == max)
            break;
        struct notifier_stats *s = &list[count++];
        *s = (struct notifier_stats){.type = notifier_type_known(json_string_value(json_object_get(o, "type")))};
        take_text(o, "name", s->name, sizeof s->name);
        take_text(o, "target", s->target, sizeof s->target);
        take_text(o, "last_error", s->last_error, sizeof s->last_error);
        take_time(o, "last_sent_at", &s->last_sent_at);
        take_time(o, "next_try_at", &s->next_try_at);
        const char *state = json_string_value(json_object_get(o, "state"));
        for (enum notifier_state k = NOTIFIER_IDLE; state && k <= NOTIFIER_RETRYING; k++)
            if (strcmp(notifier_state_name(k), state) == 0)
                s->state = k;
        s->queued = (size_t)json_integer_value(json_object_get(o, "queued"));
        s->sent_total = (uint64_t)json_integer_value(json_object_get(o, "sent_total"));
        s->failed_total = (uint64_t)json_integer_value(json_object_get(o, "failed_total"));
        s->attempts_total = (uint64_t)json_integer_value(json_object_get(o, "attempts_total"));
        s->errors_total = (uint64_t)json_integer_value(json_object_get(o, "errors_total"));
    }
    json_decref(root);
    return count;
}
