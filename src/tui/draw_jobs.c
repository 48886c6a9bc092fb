/* SPDX-License-Identifier: Apache-2.0
 * The table of jobs below a heat map: who has which GPUs, what that costs, and what limits it. A job is what the scheduler calls
 * so, else one program of one user with one model; GPUs without a process are free or reserved.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/facts/levels.h"
#include "tui/draw.h"

enum { JOBS_MAX = 48, NAME = 128, WIDE_FROM = 110, LIST_WIDTH = 11, NAME_SHOWN = 52, PLOT_MIN = 12, PLOT_MAX = 48 };

struct job_row {
    char name[NAME];
    const struct process *first; /* NULL: no process has these GPUs */
    bool on[GPU_MAX];
    size_t gpus, members, util_known, work_known;
    struct reading util, work, used, total, power, tokens;
    int64_t since_ms;
    unsigned limits[LIMIT_COUNT];
};

struct job_table {
    size_t count;
    struct job_row at[JOBS_MAX];
};

static void add_reading(struct reading *sum, struct reading r)
{
    if (r.state == READING_OK)
        *sum = reading_ok(reading_or(*sum, 0) + r.value);
}

static bool is_same_job(const struct process *a, const struct process *b)
{
    if (a->job[0] || b->job[0])
        return strcmp(a->job, b->job) == 0;
    return strcmp(process_title(a), process_title(b)) == 0 && strcmp(a->user, b->user) == 0 && strcmp(a->model, b->model) == 0;
}

/* The row of this process, or of GPUs without one by their name; a full table puts the rest into its last one. */
static struct job_row *row_of(struct job_table *jobs, const struct process *p, const char *name)
{
    size_t i = 0;
    while (i < jobs->count && !(p ? jobs->at[i].first && is_same_job(p, jobs->at[i].first)
                                  : !jobs->at[i].first && strcmp(jobs->at[i].name, name) == 0))
        i++;
    i = MIN_OF(i, (size_t)JOBS_MAX - 1);
    if (i == jobs->count) {
        jobs->at[jobs->count++] = (struct job_row){.first = p};
        snprintf(jobs->at[i].name, NAME, "%.24s%s%.90s", p ? p->job : "", p && p->job[0] ? " · " : "", name);
    }
    return &jobs->at[i];
}

static void take_gpu(struct job_row *row, const struct snapshot *s, size_t position)
{
    const struct gpu *gpu = &s->gpus[position];
    if (row->on[position])
        return;
    row->on[position] = true;
    row->gpus++;
    add_reading(&row->total, gpu->mem_total_bytes);
    if (!row->first) {
        add_reading(&row->util, gpu->util_permille);
        row->util_known++;
        add_reading(&row->power, gpu->power_mw);
    }
}

static void add_process(struct job_table *jobs, const struct snapshot *s, size_t position, const struct process *p)
{
    char words[PROCESS_WORDS];
    size_t before = jobs->count;
    struct job_row *row = row_of(jobs, p, "");
    if (jobs->count > before)
        snprintf(row->name + strlen(row->name), NAME - strlen(row->name), "%.90s", process_words(p, SHORT_NAME, words));
    take_gpu(row, s, position);
    row->members++;
    row->limits[p->limit.code]++;
    struct reading work = process_work(&s->gpus[position], p);
    add_reading(&row->util, p->util_permille);
    add_reading(&row->work, work);
    row->util_known += p->util_permille.state == READING_OK;
    row->work_known += work.state == READING_OK;
    add_reading(&row->used, p->mem_bytes);
    add_reading(&row->power, p->power_mw);
    add_reading(&row->tokens, p->tokens_milli);
    if (p->started_at.ms && (!row->since_ms || p->started_at.ms < row->since_ms))
        row->since_ms = p->started_at.ms;
}

static int larger_first(const void *a, const void *b)
{
    const struct job_row *x = a, *y = b;
    if (!x->first != !y->first)
        return !x->first ? 1 : -1;
    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? 1 : -1;
    for (size_t i = 0; i < GPU_MAX; i++)
        if (x->on[i] != y->on[i])
            return x->on[i] ? -1 : 1;
    return 0;
}

static void find_jobs(const struct top *t, struct job_table *jobs)
{
    const struct snapshot *s = top_shown(t);
    jobs->count = 0;
    for (size_t g = 0; g < s->gpu_count; g++) {
        for (size_t i = 0; i < s->gpus[g].process_count; i++)
            add_process(jobs, s, g, &s->gpus[g].processes[i]);
        char lease[90];
        if (s->gpus[g].process_count || s->gpus[g].processes_state != READING_OK)
            continue;
        gpu_lease_text(t, g, lease, sizeof lease);
        take_gpu(row_of(jobs, NULL, lease[0] ? lease : "free"), s, g);
    }
    qsort(jobs->at, jobs->count, sizeof jobs->at[0], larger_first);
}

/* "0-31", "0, 4, 8-11"; "16 GPUs" where that is too long. */
static void gpu_list(const struct snapshot *s, const struct job_row *row, char *out, size_t size)
{
    AUTO_BUF struct buf words = BUF(64);
    for (size_t i = 0; i < s->gpu_count; i++) {
        size_t last = i;
        while (row->on[i] && last + 1 < s->gpu_count && row->on[last + 1])
            last++;
        if (row->on[i])
            buf_printf(&words, "%s%d", words.len ? ", " : "", s->gpus[i].index);
        if (last > i)
            buf_printf(&words, "%s%d", last == i + 1 ? ", " : "-", s->gpus[last].index);
        i = last;
    }
    if (words.failed || words.len >= size)
        snprintf(out, size, "%zu GPUs", row->gpus);
    else
        str_copy(out, size, buf_view(&words));
}

static void limit_text(const struct top *t, const struct job_row *row, char *out, size_t size, int width)
{
    int late = row->first ? draw_straggler(t, row->first) : -1;
    size_t most = LIMIT_UNJUDGED;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (i != LIMIT_UNJUDGED && row->limits[i] > (most == LIMIT_UNJUDGED ? 0 : row->limits[most]))
            most = i;
    if (late >= 0) { /* "GPU 22: heat" */
        const struct snapshot *s = top_shown(t);
        enum tint tint;
        int used = snprintf(out, size, "GPU %d: ", late);
        gpu_brief_reason(t, (size_t)(snapshot_gpu(s, late) - s->gpus), out + used, size - (size_t)used, &tint, width - used);
    } else
        str_copy(out, size, str_from(most == LIMIT_UNJUDGED ? "" : limit_doing((enum limit)most)));
}

static bool has_trouble(const struct top *t, const struct job_row *row)
{
    const struct snapshot *s = top_shown(t);
    for (size_t i = 0; i < s->gpu_count; i++)
        if (row->on[i] && gpu_is_marked(t, i))
            return true;
    return false;
}

static void mean_text(char text[NUMBER_SIZE], const struct page *page, struct reading sum, size_t of)
{
    show_percent(text, page, sum.state == READING_OK ? reading_ok(sum.value / (int64_t)MAX_OF(of, (size_t)1)) : sum);
}

enum job_column {
    JOB_GPUS,
    JOB_NAME,
    JOB_USER,
    JOB_UTIL,
    JOB_WORK,
    JOB_VRAM,
    JOB_POWER,
    JOB_TOKENS,
    JOB_LIMIT,
    JOB_AGE,
    JOB_COLUMNS
};
static const struct {
    const char *title;
    int width, wide; /* wide: from WIDE_FROM columns on; 0: not there */
    bool right;
} columns[JOB_COLUMNS] = {
    [JOB_GPUS] = {"GPUS", LIST_WIDTH, LIST_WIDTH, false},
    [JOB_NAME] = {"JOB", -1, -1, false},
    [JOB_USER] = {"USER", 8, 9, false},
    [JOB_UTIL] = {"UTIL", 5, 5, true},
    [JOB_WORK] = {"WORK", 0, 5, true},
    [JOB_VRAM] = {"VRAM GiB", 10, 11, true},
    [JOB_POWER] = {"POWER", 7, 8, true},
    [JOB_TOKENS] = {"TOK/S", 0, 7, true},
    [JOB_LIMIT] = {"LIMIT", 16, 24, false},
    [JOB_AGE] = {"AGE", 0, 8, true},
};

static void cell_text(const struct top *t, const struct job_row *row, enum job_column column, char *text, size_t size)
{
    const struct snapshot *s = top_shown(t);
    struct page page = draw_page(t);
    char number[NUMBER_SIZE] = "";
    switch (column) {
    case JOB_GPUS: gpu_list(s, row, text, MIN_OF(size, (size_t)LIST_WIDTH + 1)); return;
    case JOB_NAME: snprintf(text, size, row->members > 1 ? "%s, %zu processes" : "%s", row->name, row->members); return;
    case JOB_USER: str_copy(text, size, str_from(row->first ? row->first->user : "")); return;
    case JOB_UTIL: mean_text(number, &page, row->util, row->util_known); break;
    case JOB_WORK: mean_text(number, &page, row->work, row->work_known); break;
    case JOB_VRAM:
        snprintf(number, sizeof number, "%.0f/%.0f", (double)reading_or(row->used, 0) / (1 << 30),
                 (double)reading_or(row->total, 0) / (1 << 30));
        if (row->total.state != READING_OK || (row->first && row->used.state != READING_OK))
            snprintf(number, sizeof number, "%s", page_dash(&page));
        break;
    case JOB_POWER:
        if (row->power.state == READING_OK)
            words_power(row->power.value, number);
        else
            snprintf(number, sizeof number, "%s", page_dash(&page));
        break;
    case JOB_TOKENS:
        if (row->tokens.state == READING_OK)
            snprintf(number, sizeof number, "%.0f", (double)row->tokens.value / 1000);
        break;
    case JOB_LIMIT: limit_text(t, row, text, size, t->width >= WIDE_FROM ? columns[column].wide : columns[column].width); return;
    case JOB_AGE:
        if (row->since_ms)
            show_age(number, &page, MAX_OF(page.now.ms - row->since_ms, (int64_t)0));
        break;
    default: break;
    }
    str_copy(text, size, str_from(number));
}

static bool is_column_filled(const struct job_table *jobs, enum job_column column)
{
    bool filled = column != JOB_TOKENS && column != JOB_WORK;
    for (size_t i = 0; i < jobs->count && !filled; i++)
        filled = (column == JOB_TOKENS ? jobs->at[i].tokens : jobs->at[i].work).state == READING_OK;
    return filled;
}

int draw_gpu_jobs(struct top *t, struct canvas *c, int y, int height)
{
    AUTO_FREE struct job_table *jobs = height >= 3 ? malloc(sizeof *jobs) : NULL;
    if (!jobs)
        return 0;
    find_jobs(t, jobs);
    int rows = (int)MIN_OF(jobs->count, (size_t)height - 1), name = c->width - 4, widths[JOB_COLUMNS];
    for (enum job_column k = 0; k < JOB_COLUMNS; k++) {
        widths[k] = !is_column_filled(jobs, k) ? 0 : c->width >= WIDE_FROM ? columns[k].wide : columns[k].width;
        name -= widths[k] > 0 ? widths[k] + 1 : 0;
    }
    widths[JOB_NAME] = MIN_OF(name, (int)NAME_SHOWN);
    enum trail_of metric = top_metric(t);
    int plot = MIN_OF(name - (int)NAME_SHOWN - 4, (int)PLOT_MAX);
    for (int i = -1; i < rows; i++) {
        int x = 3;
        for (enum job_column k = 0; k < JOB_COLUMNS; k++) {
            char text[NAME + 32] = "";
            if (widths[k] <= 0)
                continue;
            if (i >= 0)
                cell_text(t, &jobs->at[i], k, text, sizeof text);
            (columns[k].right ? canvas_right : canvas_text)(c, x, y + 1 + i, widths[k],
                                                            i < 0               ? TINT_DIM
                                                            : jobs->at[i].first ? TINT_PLAIN
                                                                                : TINT_DIM,
                                                            i < 0 ? columns[k].title : text);
            x += widths[k] + 1;
        }
        if (plot >= PLOT_MIN && i >= 0) {
            draw_mean_plot(t, c, jobs->at[i].on, metric, x + 2, y + 1 + i, plot);
        } else if (plot >= PLOT_MIN) {
            char span[WORDS_SIZE], text[64];
            duration_exact(t->settings.window_ms, span);
            snprintf(text, sizeof text, "%s of its GPUs, %s", gpu_metrics[metric].label, span);
            canvas_text(c, x + 2, y, plot, TINT_DIM, text);
        }
        if (i >= 0 && has_trouble(t, &jobs->at[i]))
            canvas_text(c, 1, y + 1 + i, 1, TINT_WARN, "▲");
    }
    if ((size_t)rows < jobs->count) {
        char more[32];
        snprintf(more, sizeof more, "+%zu", jobs->count - (size_t)rows);
        canvas_right(c, c->width - 8, y, 7, TINT_DIM, more);
    }
    return rows + 1;
}
