/* SPDX-License-Identifier: Apache-2.0
 * Boxes over the view: keys, the details of a process, and confirmations.
 */
#include "tui/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"

/* ---- the details of one process, in a scrollable box over the table ---- */

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

static void draw_details(struct top *t, struct canvas *c)
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

/* ---- help and confirmations ---- */

/* The man page has the same text. */
const char *const top_help[] = {
    "Move     up/down k/j, PgUp/PgDn, Home, End/G     [ ] GPU     ! worst finding",
    "Views    1 to 7, hosts 8, Tab, Shift-Tab; < > host       Enter open, Esc back",
    "Time     left/right h/l one step, { } ten, ( ) event, g go to a time, n now",
    "Plots    w - window     m metric of rows and map     D dots or blocks",
    "Table    / F4 \\ filter     u this user     C compute only     i hide idle",
    "         s S , . F6 sort     r reverse     o F2 setup: columns, plots, theme",
    "         t F5 tree, groups by user, container, job, model",
    "Process  Enter d e details, history     Space tag, U untag     F follow",
    "Act      a what can be done     x F9 signal, I T K     F7 F8 nice    L limit",
    "Guard    in its view: e evict, H hold, x release the hold, R resume",
    "Copy     c command of the advice     y line that selects this GPU",
    "Other    f where a size or a model fits     p z pause     W save settings",
    "         Ctrl-L redraw     Ctrl-Z suspend     q F10 quit",
    "Mouse    click tabs, GPUs, headings, rows, keys; drag over plots; wheel",
    "Signs    ▲ look here   ● fine   UTIL a kernel ran   WORK the units worked",
};
const size_t top_help_count = ARRAY_LEN(top_help);

static const char *const fleet_help[] = {
    "Move     up/down k/j, PgUp/PgDn, Home, End/G, wheel",
    "Rows     v V hosts, worst first; GPUs that are held but idle;",
    "         GPUs with free VRAM; processes",
    "Views    1 to 7, Tab, Shift-Tab: those of this host; 8 all hosts",
    "Host     Enter opens it, Esc comes back, c copies the command for it",
    "Table    / filter (host, user, GPU, note), s/S sort, r reverse",
    "Other    T theme, Ctrl-L redraw, Ctrl-Z, q quit",
};

static void draw_help(const struct top *t, struct canvas *c)
{
    const char *const *lines = t->fleet ? fleet_help : top_help;
    int count = t->fleet ? (int)ARRAY_LEN(fleet_help) : (int)top_help_count;
    int width = MIN_OF(c->width, 80), height = MIN_OF(c->height, count + 4);
    int x = (c->width - width) / 2, y = (c->height - height) / 2;
    canvas_box(c, x, y, width, height, "Keys");
    for (int i = 0; i < count && i + 3 < height; i++) {
        canvas_text(c, x + 2, y + 1 + i, width - 4, TINT_PLAIN, lines[i]);
        for (int k = 0; k < 8; k++) {
            struct cell *cell = canvas_cell(c, x + 2 + k, y + 1 + i);
            if (cell)
                cell->tint = TINT_LABEL;
        }
    }
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_DIM, "Any key closes this. More: man whirr-top");
}

/* The target processes: names, users, ages, and how much VRAM they would free. */
static int draw_targets(const struct top *t, struct canvas *c, int x, int y, int width, int lines)
{
    struct page page = draw_page(t);
    int64_t freed = 0;
    int used = 0, count = 0;
    char text[PROCESS_WORDS + 64], words[PROCESS_WORDS], a[NUMBER_SIZE], b[NUMBER_SIZE];
    for (size_t i = 0; i < t->row_count; i++) {
        const struct top_row *row = &t->rows[i];
        if (!row->process || (t->tag_count ? !top_tagged(t, row->process->pid) : i != t->selected))
            continue;
        const struct process *p = row->process;
        freed += reading_or(p->mem_bytes, 0);
        count++;
        if (used >= lines - 1)
            continue;
        show_age(a, &page, p->started_at.ms ? MAX_OF(page.now.ms - p->started_at.ms, (int64_t)0) : -1);
        show_bytes(b, &page, p->mem_bytes);
        snprintf(text, sizeof text, "%s, running for %s, %s on GPU %d", process_words(p, LONG_NAME | WITH_PID, words), a, b,
                 row->gpu->index);
        canvas_text(c, x, y + used++, width, TINT_PLAIN, text);
    }
    show_bytes(a, &page, reading_ok(freed));
    snprintf(text, sizeof text, "%s of VRAM %s freed when %s.", a, count == 1 ? "is" : "are", count == 1 ? "it ends" : "they end");
    canvas_text(c, x, y + used++, width, TINT_STRONG, text);
    return used;
}

static void draw_signal(const struct top *t, struct canvas *c)
{
    int width = MIN_OF(c->width, 84), height = MIN_OF(c->height, 13), x = (c->width - width) / 2, y = (c->height - height) / 2;
    canvas_box(c, x, y, width, height, "Send a signal");
    int line = y + 1 + draw_targets(t, c, x + 2, y + 1, width - 4, 4) + 1;
    for (size_t i = 0; i < top_signal_count && line < y + height - 2; i++, line++) {
        char text[96];
        snprintf(text, sizeof text, "%-5s %s", top_signals[i].name, top_signals[i].what);
        canvas_text(c, x + 2, line, width - 4, i + 1 == top_signal_count ? TINT_BAD : TINT_PLAIN, text);
        if (i == t->choice)
            canvas_select(c, x + 1, line, width - 2);
    }
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_LABEL, "y sends it, Esc cancels");
}

static void draw_consent(struct canvas *c)
{
    int width = MIN_OF(c->width, 76), height = MIN_OF(c->height, 8), x = (c->width - width) / 2, y = (c->height - height) / 2;
    canvas_box(c, x, y, width, height, "Let top signal processes?");
    canvas_wrap(c, x + 2, y + 1, width - 4, 4, TINT_PLAIN,
                "So far top only shows. If you agree, x opens a dialog that names the process and asks before each signal; only "
                "processes that you may signal can get one. You are asked once (act in top.toml); --read-only rules it out.");
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_LABEL, "y agrees, any other key cancels");
}

static void draw_nice(const struct top *t, struct canvas *c)
{
    const struct top_row *row = top_selected(t);
    int width = MIN_OF(c->width, 76), height = MIN_OF(c->height, 6), x = (c->width - width) / 2, y = (c->height - height) / 2;
    char text[PROCESS_WORDS + 64], words[PROCESS_WORDS];
    if (!row || !row->process)
        return;
    canvas_box(c, x, y, width, height, "Change its nice value");
    canvas_text(c, x + 2, y + 1, width - 4, TINT_PLAIN, process_words(row->process, LONG_NAME | WITH_PID, words));
    snprintf(text, sizeof text, "by %+d: %s", t->nice,
             t->nice > 0 ? "other programs get the CPU first" : "it gets the CPU first (needs root)");
    canvas_text(c, x + 2, y + 2, width - 4, TINT_STRONG, t->nice ? text : "by 0: nothing changes");
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_LABEL, "F7 F8 change it, y applies it, any other key cancels");
}

static const struct top_worker *selected_worker(const struct top *t)
{
    for (size_t i = 0; i < t->worker_count; i++)
        if (strcmp(t->workers[i].name, t->worker_name) == 0)
            return &t->workers[i];
    return NULL;
}

static void draw_guard(const struct top *t, struct canvas *c)
{
    static const struct {
        const char *verb, *what;
    } all[] = {
        {"evict", "It gives up the GPU now and comes back when the GPU is free."},
        {"hold", "It gives up the GPU now and stays off until the hold is released."},
        {"release", "It comes back when no other process needs the GPU."},
        {"resume", "It comes back now, even while another process needs the GPU."},
    };
    const struct top_worker *w = selected_worker(t);
    struct page page = draw_page(t);
    char text[256], vram[NUMBER_SIZE];
    int width = MIN_OF(c->width, 76), height = MIN_OF(c->height, 7), x = (c->width - width) / 2, y = (c->height - height) / 2;
    canvas_box(c, x, y, width, height, "Guard");
    show_bytes(vram, &page, w ? w->bytes : reading_absent(READING_UNREAD));
    snprintf(text, sizeof text, "%s %s?  %s, %s%s%s", t->input, t->worker_name, w ? w->state : "gone", vram,
             w && w->gpus[0] ? " on " : "", w ? w->gpus : "");
    canvas_text(c, x + 2, y + 1, width - 4, TINT_STRONG, text);
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(t->input, all[i].verb) == 0)
            canvas_wrap(c, x + 2, y + 2, width - 4, 2, TINT_PLAIN, all[i].what);
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_LABEL, "y does it, Esc cancels");
}

static void draw_answer(const struct top *t, struct canvas *c)
{
    struct str rest = str_from(t->answer ? t->answer : ""), line;
    int width = MIN_OF(c->width, 84), lines = 0;
    while (str_cut(&rest, '\n', &line))
        lines++;
    int height = MIN_OF(c->height, lines + 4), x = (c->width - width) / 2, y = (c->height - height) / 2;
    canvas_box(c, x, y, width, height, t->answer_title);
    rest = str_from(t->answer ? t->answer : "");
    for (int i = 0; i < height - 4 && str_cut(&rest, '\n', &line); i++) {
        char text[512];
        str_copy(text, sizeof text, line);
        canvas_text(c, x + 2, y + 1 + i, width - 4, TINT_PLAIN, text);
    }
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_LABEL, "Any key closes this.");
}

void draw_dialog(struct top *t, struct canvas *c)
{
    switch (t->mode) {
    case MODE_HELP: draw_help(t, c); break;
    case MODE_DETAILS: draw_details(t, c); break;
    case MODE_SIGNAL: draw_signal(t, c); break;
    case MODE_CONSENT: draw_consent(c); break;
    case MODE_NICE: draw_nice(t, c); break;
    case MODE_GUARD: draw_guard(t, c); break;
    case MODE_ANSWER: draw_answer(t, c); break;
    default: break;
    }
}
