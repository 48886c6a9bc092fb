/* SPDX-License-Identifier: Apache-2.0
 * Leases: the list as JSON; tables for people; series of what is held on each GPU, and how many wait.
 */
#include "format/lease_forms.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "format/prometheus/prometheus.h"
#include "format/table/grid.h"
#include "format/table/table.h"
#include "lease/lease_settings.h"

struct told_leases {
    const struct lease_list *list;
    bool commands;
    const struct gpu *only; /* NULL: all */
    const char (*problems)[LEASE_PROBLEM_SIZE];
    size_t problem_count;
    struct lease shown;
};

static const void *next_lease(const struct answer_at *at, struct answer_step *step)
{
    struct told_leases *l = at->context;
    while (step->at < l->list->count &&
           (l->list->at[step->at].state == LEASE_ENDED || (l->only && !lease_is_about(&l->list->at[step->at], l->only))))
        step->at++;
    if (step->at == l->list->count)
        return NULL;
    l->shown = l->list->at[step->at++];
    if (!l->commands)
        l->shown.command[0] = '\0';
    return &l->shown;
}

SHARED_ANSWER_TABLE(leases_answer, struct told_leases, .name = "Leases")
{
    EACH(OBJECT, "leases", next_lease, NULL, FIELDS(lease_answer));
    TEXTS(TEXT, "problems", problems, problem_count, "Files in the directory that do not count, and why");
}

void json_leases(struct json_writer *j, const struct lease_list *list, bool commands, const struct gpu *only)
{
    struct told_leases listed = {.list = list,
                                 .commands = commands,
                                 .only = only,
                                 .problems = list->problems,
                                 .problem_count = MIN_OF(list->problem_count, (size_t)LEASE_PROBLEMS_MAX)};
    answer_write(j, &leases_answer, &listed, &listed);
}

/* ---- for people ---- */

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

/* ---- series ---- */

enum lease_series { SERIES_HELD, SERIES_BYTES, LEASE_SERIES };

static void lease_on_gpu(struct buf *out, bool *headed, enum lease_series series, const struct gpu *card,
                         const struct gpu *instance, const struct lease *l)
{
    const struct gpu *gpu = instance ? instance : card;
    if (l->state != LEASE_ACTIVE || lease_gpu_at(l, gpu_id_key(&gpu->id)) < 0 || (series == SERIES_BYTES && !l->mem_bytes))
        return;
    prometheus_head_once(out, headed, series == SERIES_HELD ? "gpu_lease_held" : "gpu_lease_memory_bytes", "gauge",
                         series == SERIES_HELD ? "1 for each lease on the GPU" : "Memory of the GPU that the lease has");
    buf_text(out, series == SERIES_HELD ? "gpu_lease_held{" : "gpu_lease_memory_bytes{");
    prometheus_gpu_labels(out, card, instance);
    prometheus_label(out, false, "lease", l->id);
    prometheus_label(out, false, "kind", lease_kind_name(l->kind));
    prometheus_label(out, false, "user", l->user);
    prometheus_end(out, series == SERIES_HELD ? 1 : (double)l->mem_bytes);
}

void prometheus_leases(struct buf *out, const struct snapshot *s, const struct lease_list *list)
{
    size_t waiting = 0, idle = 0;
    for (int series = 0; series < LEASE_SERIES; series++) {
        bool headed = false;
        for (size_t g = 0; g < s->gpu_count; g++)
            for (size_t i = 0; i < list->count; i++) {
                const struct gpu *card = &s->gpus[g];
                lease_on_gpu(out, &headed, (enum lease_series)series, card, NULL, &list->at[i]);
                for (size_t k = 0; k < card->instance_count; k++)
                    lease_on_gpu(out, &headed, (enum lease_series)series, card, &card->instances[k], &list->at[i]);
            }
    }
    for (size_t i = 0; i < list->count; i++) {
        waiting += list->at[i].state == LEASE_WAITING;
        idle += list->at[i].state == LEASE_ACTIVE && list->at[i].idle_since.ms;
    }
    prometheus_plain(out, "gpu_lease_waiting", "gauge", "Leases that wait for room", (double)waiting);
    prometheus_plain(out, "gpu_lease_idle", "gauge", "Reservations on which nothing has run for lease.idle_minutes", (double)idle);
}
