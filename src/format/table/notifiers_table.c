/* SPDX-License-Identifier: Apache-2.0
 * Notifiers for people.
 */
#include "format/notifiers.h"

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "format/table/grid.h"

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
