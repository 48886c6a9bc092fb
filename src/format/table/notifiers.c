/* SPDX-License-Identifier: Apache-2.0
 * Notifiers as JSON, metrics and a table.
 */
#include "format/table/table.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "format/prometheus/prometheus.h"
#include "format/table/grid.h"

static void key_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format(at, text);
    jw_key_text(j, key, at.ms ? text : NULL);
}

/* Lines as a list. */
static void key_lines(struct json_writer *j, const char *key, const char *lines)
{
    struct str rest = str_from(lines), line;
    jw_key_array(j, key);
    while (str_cut(&rest, '\n', &line))
        jw_str(j, line);
    jw_end(j);
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
        jw_key_int(j, "held", (int64_t)s->held);
        key_time(j, "held_until", s->held_until);
        key_lines(j, "quiet", s->quiet);
        key_lines(j, "digest", s->digest);
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

/* "phone: quiet 22:00-07:00; digest 08:00; 3 held until 07:00" */
static void put_hours(struct buf *out, const struct page *page, const struct notifier_stats *s)
{
    AUTO_BUF struct buf line = BUF(4096);
    const char *const names[] = {"quiet", "digest"}, *const texts[] = {s->quiet, s->digest};
    for (size_t i = 0; i < 2; i++) {
        struct str rest = str_from(texts[i]), one;
        for (bool first = true; str_cut(&rest, '\n', &one); first = false)
            buf_printf(&line, "%s%s%s" STR_FMT, first ? (line.len ? "; " : "") : ", ", first ? names[i] : "", first ? " " : "",
                       STR_ARG(one));
    }
    if (s->held && s->held_until.ms) {
        time_t seconds = (time_t)(s->held_until.ms / MS_PER_S);
        struct tm t = {0};
        localtime_r(&seconds, &t);
        buf_printf(&line, "; %zu held until %02d:%02d", s->held, t.tm_hour, t.tm_min);
    }
    if (!line.len)
        return;
    AUTO_BUF struct buf text = BUF(8192);
    buf_printf(&text, "%s: %s", s->name, line.at);
    page_wrap(out, page, INK_FAINT, text.at ? text.at : "", 2, 0);
}

void table_notifiers(struct buf *out, const struct page *page, const struct notifier_stats *list, size_t count, bool running)
{
    static const struct grid_column columns[] = {{"NAME", LEFT, 0},    {"TYPE", LEFT, 0},      {"TARGET", LEFT, 0},
                                                 {"STATE", LEFT, 0},   {"QUEUED", RIGHT, 2},   {"SENT", RIGHT, 2},
                                                 {"FAILED", RIGHT, 3}, {"LAST SENT", RIGHT, 4}};
    if (count == 0) {
        buf_text(out, "No notifiers are set up. To add one: whirr notify add phone ntfy\n");
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
    for (size_t i = 0; i < count; i++)
        put_hours(out, page, &list[i]);
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

static void take_lines(const json_t *o, const char *key, char *to, size_t size)
{
    AUTO_BUF struct buf all = BUF(64 * 1024);
    size_t i;
    json_t *line;
    json_array_foreach(json_object_get(o, key), i, line)
        buf_printf(&all, "%s%s", i ? "\n" : "", json_string_value(line) ? json_string_value(line) : "");
    str_copy(to, size, buf_view(&all));
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
        json_copy_text(o, "name", s->name, sizeof s->name);
        json_copy_text(o, "target", s->target, sizeof s->target);
        json_copy_text(o, "last_error", s->last_error, sizeof s->last_error);
        s->last_sent_at = json_moment(o, "last_sent_at");
        s->next_try_at = json_moment(o, "next_try_at");
        s->held_until = json_moment(o, "held_until");
        take_lines(o, "quiet", s->quiet, sizeof s->quiet);
        take_lines(o, "digest", s->digest, sizeof s->digest);
        s->held = (size_t)json_integer_value(json_object_get(o, "held"));
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
