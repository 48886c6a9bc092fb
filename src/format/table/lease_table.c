/* SPDX-License-Identifier: Apache-2.0
 * Leases for people.
 */
#include "format/table/table.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "format/table/grid.h"
#include "lease/lease_settings.h"

static const struct grid_column columns[] = {
    {"ID", LEFT, 0},    {"USER", LEFT, 0},  {"GPU", LEFT, 0},   {"WHAT", LEFT, 0}, {"MEMORY", RIGHT, 3},
    {"USED", RIGHT, 4}, {"SINCE", LEFT, 2}, {"UNTIL", LEFT, 1}, {"FOR", LEFT, 0},
};

static void gpu_cell(char *text, size_t size, const struct lease *l)
{
    size_t at = 0;
    text[0] = '\0';
    if (l->state == LEASE_WAITING)
        snprintf(text, size, "%d of %s", l->gpus_wanted, l->gpu_count ? "some" : "any");
    for (size_t i = 0; l->state != LEASE_WAITING && i < l->gpu_count && at + 8 < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%d", i ? "," : "", l->gpus[i].index);
}

static const char *what(const struct lease *l, struct wall now)
{
    if (l->state != LEASE_ACTIVE)
        return lease_state_name(l->state);
    if (l->kind == LEASE_RESERVE)
        return l->from.ms > now.ms ? "to come" : l->idle_since.ms ? "reserved, idle" : "reserved";
    return l->kind == LEASE_RUN ? "running" : l->kind == LEASE_WAIT ? "given" : "setting";
}

static struct reading used(const struct lease *l)
{
    struct reading sum = {0};
    for (size_t i = 0; i < l->gpu_count; i++)
        if (l->gpus[i].used_bytes.state == READING_OK)
            sum = reading_ok(reading_or(sum, 0) + l->gpus[i].used_bytes.value);
    return sum;
}

static void moment_cell(struct grid *g, struct wall at, struct wall now, const char *none)
{
    char text[MOMENT_TEXT_SIZE];
    if (at.ms)
        moment_format(at, now, text);
    grid_add(g, INK_PLAIN, at.ms ? text : none);
}

static void add_row(struct grid *g, const struct lease *l, struct wall now)
{
    char text[LEASE_WORDS], size[WORDS_SIZE], changed[SETTINGS_WORDS];
    grid_add(g, INK_STRONG, l->id);
    grid_add(g, INK_PLAIN, l->user);
    gpu_cell(text, sizeof text, l);
    grid_add(g, INK_PLAIN, text[0] ? text : "–");
    grid_add(g, l->state == LEASE_WAITING || l->idle_since.ms ? INK_WARN : INK_PLAIN, what(l, now));
    grid_add(g, INK_PLAIN, l->mem_bytes ? words_bytes(l->mem_bytes, size) : l->exclusive ? "all" : "–");
    struct reading sum = used(l);
    grid_add(g, INK_PLAIN, sum.state == READING_OK ? words_bytes(sum.value, size) : "–");
    moment_cell(g, l->from, now, "–");
    moment_cell(g, l->until, now, "its end");
    const char *what_for = l->note[0] ? l->note : l->command[0] ? l->command : "–";
    grid_add(g, INK_PLAIN, l->kind == LEASE_SETTING && l->setting_count ? lease_set_words(l, changed) : what_for);
}

void table_leases(struct buf *out, const struct page *page, const struct lease_list *list, struct wall now)
{
    AUTO_GRID struct grid g;
    size_t shown = 0;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].state != LEASE_ENDED) {
            add_row(&g, &list->at[i], now);
            shown++;
        }
    if (shown)
        grid_write(out, page, &g);
    else
        buf_text(out, "There are no leases.\n");
    for (size_t i = 0; i < MIN_OF(list->problem_count, (size_t)LEASE_PROBLEMS_MAX); i++)
        buf_printf(out, "Not counted: %s\n", list->problems[i]);
}

void table_lease(struct buf *out, const struct page *page, const struct lease *l, struct wall now)
{
    char text[LEASE_WORDS];
    page_ink(out, page, INK_STRONG, str_from(l->id));
    buf_printf(out, "  %s, %s\n", l->user, what(l, now));
    buf_printf(out, "  GPUs     %s\n", lease_gpu_words(l, text));
    for (size_t i = 0; i < l->gpu_count; i++)
        buf_printf(out, "           %d  %s\n", l->gpus[i].index, l->gpus[i].uuid);
    if (l->mem_bytes)
        buf_printf(out, "  memory   %s on each\n", words_bytes(l->mem_bytes, text));
    char from[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE];
    moment_format_span(l->from, l->until, now, from, until);
    if (!l->until.ms)
        moment_format(l->from, now, from);
    buf_printf(out, "  since    %s\n", from);
    if (l->until.ms)
        buf_printf(out, "  until    %s\n", until);
    if (l->idle_since.ms) {
        moment_format(l->idle_since, now, text);
        buf_printf(out, "  idle     since %s\n", text);
    }
    if (l->setting_count) {
        char changed[SETTINGS_WORDS];
        buf_printf(out, "  set      %s\n", lease_set_words(l, changed));
    }
    if (l->pid)
        buf_printf(out, "  process  %d  %s\n", (int)l->pid, l->command);
    if (l->note[0])
        buf_printf(out, "  note     %s\n", l->note);
}
