/* SPDX-License-Identifier: Apache-2.0
 * The details of one process, in a scrollable box over the table.
 */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "tui/draw.h"

enum { LABEL = 13, LINES_MAX = CANVAS_HEIGHT_MAX, IDLE_SHOWN_MS = 60000, RUN_ROWS = 2 };

/* All lines of the details; the box shows a part of them. */
struct details_text {
    struct canvas canvas;
    int line;
};

static void put_line(struct details_text *l, const char *label, const char *text)
{
    if (!text[0])
        return;
    canvas_text(&l->canvas, 0, l->line, LABEL - 1, TINT_DIM, label);
    l->line += canvas_wrap(&l->canvas, LABEL, l->line, l->canvas.width - LABEL, 0, TINT_PLAIN, text);
}

/* Figures that a model server reports itself. */
static void put_serving(struct details_text *l, const struct process *p)
{
    char text[SERVING_WORDS], tokens[96];
    int64_t rate, power;
    put_line(l, "Requests", show_requests(text, p));
    if (reading_get(p->tokens_milli, &rate)) {
        size_t len = (size_t)snprintf(tokens, sizeof tokens, "%.1f tokens/s", (double)rate / 1000);
        if (reading_get(p->power_mw, &power) && power > 0)
            snprintf(tokens + len, sizeof tokens - len, ", %.2g per joule of this process", (double)rate / (double)power);
        put_line(l, "Tokens", tokens);
    }
    put_line(l, "Answers", show_answering(text, p));
}

static void put_numbers(struct details_text *l, const struct page *page, const struct process *p)
{
    char text[256], a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE];
    show_bytes(a, page, p->mem_bytes);
    show_bytes(b, page, p->host_mem_bytes);
    snprintf(text, sizeof text, "%s VRAM, %s host memory", a, b);
    put_line(l, "Memory", text);
    show_percent(a, page, p->util_permille);
    show_percent(b, page, p->cpu_permille);
    snprintf(text, sizeof text, "%s of the GPU, %s of a CPU core", a, b);
    put_line(l, "Utilization", text);
    if (reading_or(p->encoder_permille, 0) || reading_or(p->decoder_permille, 0)) {
        show_percent(a, page, p->encoder_permille);
        show_percent(b, page, p->decoder_permille);
        snprintf(text, sizeof text, "encoder %s, decoder %s", a, b);
        put_line(l, "Video", text);
    }
    show_watts(c, page, p->power_mw);
    put_line(l, "Power", c);
    put_serving(l, p);
}

/* The energy from the daemon's history, or since top first saw the process. */
static void put_energy(struct details_text *l, const struct top *t, const struct page *page, const struct top_row *row)
{
    const struct top_busy *seen = t->cursor_ms ? NULL : top_seen(t, row->gpu, row->process);
    bool stored = t->details.text && t->details.energy_mj >= 0;
    int64_t mj = stored ? t->details.energy_mj : seen ? (int64_t)seen->energy_mj : -1;
    int64_t since = stored ? t->details.since_ms : seen ? seen->first_ms : 0;
    char energy[WORDS_SIZE], at[MOMENT_TEXT_SIZE] = "", cost[64] = "", text[256];
    if (mj < 0 || !since)
        return;
    moment_format((struct wall){since}, page->now, at);
    double money = (double)mj / 3.6e9 * t->price_per_kwh;
    if (t->price_per_kwh > 0 && money < 0.01)
        snprintf(cost, sizeof cost, ", less than 0.01 %s,", t->currency);
    else if (t->price_per_kwh > 0)
        snprintf(cost, sizeof cost, ", %.2f %s,", money, t->currency);
    snprintf(text, sizeof text, "%s%s since %s", words_energy(mj, energy), cost, at);
    put_line(l, "Energy", text);
}

static void put_plot(struct details_text *l, const char *label, enum tint tint, const float *values, size_t count)
{
    float shown[2 * CANVAS_WIDTH_MAX];
    int width = l->canvas.width - LABEL, slots = canvas_plot_slots(&l->canvas, width);
    if (width < 8 || l->line + RUN_ROWS > LINES_MAX)
        return;
    for (int i = 0; i < slots; i++)
        shown[i] = values[(size_t)i * count / (size_t)slots];
    canvas_text(&l->canvas, 0, l->line, LABEL - 1, TINT_DIM, label);
    canvas_plot(&l->canvas, LABEL, l->line, width, RUN_ROWS, tint, PLOT_AREA, shown);
    l->line += RUN_ROWS;
}

static void put_lifeline(struct details_text *l, const struct top *t, const struct page *page)
{
    const struct top_details *d = &t->details;
    char from[MOMENT_TEXT_SIZE], to[MOMENT_TEXT_SIZE], peak[NUMBER_SIZE], text[128];
    if (!d->slots)
        return;
    put_plot(l, "Life: util", TINT_UTIL, d->util, d->slots);
    put_plot(l, "VRAM", TINT_MEMORY, d->vram, d->slots);
    moment_format_span((struct wall){d->since_ms}, (struct wall){d->until_ms}, page->now, from, to);
    show_bytes(peak, page, reading_ok(d->peak_bytes));
    snprintf(text, sizeof text, "%s to %s, at most %s of VRAM", from, to, peak);
    put_line(l, " ", text);
}

/* The same process in a kept sample; NULL: it was not there. */
static const struct process *process_in(const struct snapshot *s, const struct gpu *gpu, const struct process *p)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; s->gpus[g].index == gpu->index && i < s->gpus[g].process_count; i++)
            if (s->gpus[g].processes[i].pid == p->pid && s->gpus[g].processes[i].start_key == p->start_key)
                return &s->gpus[g].processes[i];
    return NULL;
}

static void put_metric(struct details_text *l, const struct top *t, const struct top_row *row, const char *label, enum tint tint,
                       enum process_metric metric, double full)
{
    float values[TOP_KEPT];
    for (size_t i = 0; i < t->kept_count; i++) {
        const struct process *p = process_in(t->kept[i], row->gpu, row->process);
        struct reading r = p ? p->metric[metric] : reading_absent(READING_UNREAD);
        values[i] = r.state == READING_OK && full > 0 ? (float)((double)r.value / full) : NAN;
    }
    put_plot(l, label, tint, values, t->kept_count);
}

/* "at the power limit 3m 10s, waits for disk 12s": how long each limit held in the kept samples. */
static void put_limits(struct details_text *l, const struct top *t, const struct top_row *row)
{
    size_t count[LIMIT_COUNT] = {0};
    AUTO_BUF struct buf out = BUF(512);
    for (size_t i = 0; i < t->kept_count; i++) {
        const struct process *p = process_in(t->kept[i], row->gpu, row->process);
        count[p ? p->limit.code : LIMIT_UNJUDGED]++;
    }
    for (int k = LIMIT_UNJUDGED + 1; k < LIMIT_COUNT; k++) {
        char span[WORDS_SIZE];
        if (count[k])
            buf_printf(&out, "%s%s %s", out.len ? ", " : "", limit_doing((enum limit)k),
                       words_duration((int64_t)count[k] * t->interval_ms, span));
    }
    if (out.len)
        put_line(l, "Limit", out.at);
}

/* Without a daemon: plots of the samples that top has kept. */
static void put_kept(struct details_text *l, const struct top *t, const struct page *page, const struct top_row *row)
{
    char text[96], at[MOMENT_TEXT_SIZE];
    if (t->details.slots || t->kept_count < 2 || t->cursor_ms)
        return;
    put_metric(l, t, row, "Util", TINT_UTIL, PROCESS_METRIC_util_permille, 1000);
    put_metric(l, t, row, "VRAM", TINT_MEMORY, PROCESS_METRIC_mem_bytes, (double)reading_or(row->gpu->mem_total_bytes, 0));
    put_metric(l, t, row, "Power", TINT_POWER, PROCESS_METRIC_power_mw, (double)reading_or(row->gpu->power_limit_mw, 0));
    put_limits(l, t, row);
    moment_format(t->kept[0]->taken_at, page->now, at);
    snprintf(text, sizeof text, "since %s, the start of top, or as far back as it remembers", at);
    put_line(l, " ", text);
}

/* Splits lines of "LABEL\tTEXT". */
static void put_lines(struct details_text *l, const char *text)
{
    struct str rest = str_from(text), line, label;
    while (str_cut(&rest, '\n', &line) && l->line < LINES_MAX) {
        char name[LABEL], value[4096];
        if (!str_cut(&line, '\t', &label))
            continue;
        str_copy(name, sizeof name, label);
        str_copy(value, sizeof value, line);
        put_line(l, name, value);
    }
}

static void put_all(struct details_text *l, const struct top *t, const struct top_row *row)
{
    const struct process *p = row->process;
    struct page page = draw_page(t);
    char text[256], age[NUMBER_SIZE], at[MOMENT_TEXT_SIZE] = "", container[PROCESS_CONTAINER_NAME_SIZE];
    put_line(l, "User", p->user);
    process_container_words(container, sizeof container, p);
    put_line(l, "Container", container);
    put_line(l, "Model", p->model);
    if (p->started_at.ms) {
        show_age(age, &page, MAX_OF(page.now.ms - p->started_at.ms, (int64_t)0));
        moment_format(p->started_at, page.now, at);
        snprintf(text, sizeof text, "%s (%s ago)", at, age);
        put_line(l, "Started", text);
    }
    if (p->parent > 0) {
        snprintf(text, sizeof text, "%s (PID %d)", p->parent_name[0] ? p->parent_name : "?", p->parent);
        put_line(l, "Started by", text);
    }
    put_numbers(l, &page, p);
    int64_t idle = top_idle_ms(t, row->gpu, p);
    if (idle >= IDLE_SHOWN_MS) {
        show_age(age, &page, idle);
        snprintf(text, sizeof text, "for %s: holds VRAM without computing", age);
        put_line(l, "Idle", text);
    }
    if (t->where)
        put_lines(l, t->where);
    put_energy(l, t, &page, row);
    put_lifeline(l, t, &page);
    put_kept(l, t, &page, row);
    if (!t->details.text || !str_starts(str_from(t->details.text), "Command\t"))
        put_line(l, "Command", p->command);
    if (t->details.text)
        put_lines(l, t->details.text);
}

void draw_details(struct top *t, struct canvas *c)
{
    const struct top_row *row = top_selected(t);
    struct details_text l = {.canvas.utf8 = c->utf8};
    char title[PROCESS_WORDS + 32], words[PROCESS_WORDS];
    int width = MIN_OF(c->width, MAX_OF(90, c->width * 3 / 4));
    if (!row || !row->process || canvas_resize(&l.canvas, MAX_OF(width - 4, 1), LINES_MAX) < 0)
        return;
    put_all(&l, t, row);
    int height = MIN_OF(c->height, l.line + 4), x = (c->width - width) / 2, y = (c->height - height) / 2,
        room = MAX_OF(height - 3, 1);
    t->dialog_lines = (size_t)l.line;
    t->dialog_page = (size_t)room;
    t->choice = MIN_OF(t->choice, (size_t)MAX_OF(l.line - room, 0));
    snprintf(title, sizeof title, "%s, PID %d, GPU %d", process_words(row->process, SHORT_NAME, words), row->process->pid,
             row->gpu->index);
    canvas_box(c, x, y, width, height, title);
    for (int i = 0; i < room && i + (int)t->choice < l.line; i++)
        for (int k = 0; k < l.canvas.width; k++) {
            struct cell *cell = canvas_cell(c, x + 2 + k, y + 1 + i);
            if (cell)
                *cell = *canvas_cell(&l.canvas, k, i + (int)t->choice);
        }
    bool more = l.line > room;
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_LABEL,
                more ? "up, down scroll  x signal  any other key closes this" : "x signal  any other key closes this");
    canvas_done(&l.canvas);
}
