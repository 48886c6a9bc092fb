/* SPDX-License-Identifier: Apache-2.0
 * Notifiers: JSON, written and parsed; a table for people; series.
 */
#include "format/notifiers.h"

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "format/prometheus/prometheus.h"
#include "format/table/grid.h"

ANSWER_NAMES(types, enum config_notify_type, notify_type_name, 0, 63); /* NULL ends them */
ANSWER_NAMES(states, enum notifier_state, notifier_state_name, NOTIFIER_IDLE, NOTIFIER_RETRYING);

ANSWER_TABLE(notifier_answer, struct notifier_stats, .name = "Notifier")
{
    FIELD(TEXT, "name", name, "Of the table [notify.NAME]");
    FIELD(WORD, "type", type, NULL, NAMES(types));
    FIELD(TEXT, "target", target, NULL);
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(INT, "queued", queued, "Notices that wait");
    FIELD(INT, "sent_total", sent_total, "Notices that arrived");
    FIELD(INT, "failed_total", failed_total, "Notices that were given up");
    FIELD(INT, "attempts_total", attempts_total, "Messages, with and without success");
    FIELD(INT, "errors_total", errors_total, "Messages that did not arrive");
    FIELD(INT, "held", held, "Notices that wait for the end of quiet hours or for a digest");
    FIELD(MOMENT, "held_until", held_until, "When the first of them is sent", OR_NULL);
    FIELD(LINES, "quiet", quiet, "Quiet hours, as they are set: `22:00-07:00 info,warning`");
    FIELD(LINES, "digest", digest, "Times of digests, as they are set: `08:00`");
    FIELD(MOMENT, "last_sent_at", last_sent_at, NULL, OR_NULL);
    FIELD(MOMENT, "next_try_at", next_try_at, NULL, OR_NULL);
    FIELD(TEXT, "last_error", last_error, "null: the last message arrived", OR_NULL);
}

struct notifier_list {
    const struct notifier_stats *list;
    size_t count;
};

SHARED_ANSWER_TABLE(notifiers_answer, struct notifier_list, .name = "Notifiers")
{
    OBJECTS("notifiers", list, count, notifier_answer, NULL);
}

void json_notifiers(struct json_writer *j, const struct notifier_stats *list, size_t count)
{
    answer_write(j, &notifiers_answer, &(struct notifier_list){list, count}, NULL);
}

size_t notifiers_from_json(struct str text, struct notifier_stats *list, size_t max)
{
    json_t *root = json_loadb(text.at, text.len, 0, NULL), *o;
    size_t i, count = 0;
    json_array_foreach(json_object_get(root, "notifiers"), i, o)
    {
        if (count == max)
            break;
        list[count] = (struct notifier_stats){.type = ""};
        answer_read(&notifier_answer, o, &list[count++], NULL);
    }
    json_decref(root);
    return count;
}

/* ---- for people ---- */

static enum ink notifiers_ink_of(const struct notifier_stats *s)
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
        grid_add(&g, running ? notifiers_ink_of(s) : INK_FAINT, running ? notifier_state_name(s->state) : page_dash(page));
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

/* ---- series ---- */

static void notifiers_series(struct buf *out, const char *name, const struct notifier_stats *s, uint64_t value)
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
            notifiers_series(out, metrics[m].name, s, values[m]);
        }
    }
}
