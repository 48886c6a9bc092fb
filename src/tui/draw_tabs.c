/* SPDX-License-Identifier: Apache-2.0
 * All tabs except the overview: the explanation, the daemon's texts, and a line for each of several hosts.
 */
#include "tui/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "insight/area/part.h"
#include "insight/facts/levels.h"
#include "insight/view/why.h"
#include "model/finding.h"

/* ---- several hosts (--host), each with its answer to why ---- */

struct host_line {
    size_t gpus, busy, known; /* known: those with a known utilization */
    struct reading power_mw;
    struct reading used_bytes, total_bytes; /* of VRAM */
    struct reading hottest;
};

static void add_reading(struct reading *sum, struct reading one)
{
    if (one.state == READING_OK)
        *sum = reading_ok(reading_or(*sum, 0) + one.value);
}

static struct host_line add_up_host(const struct snapshot *s)
{
    struct host_line line = {0};
    for (size_t i = 0; s && i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        line.gpus++;
        line.known += gpu->util_permille.state == READING_OK;
        line.busy += load_is_work(gpu->util_permille);
        add_reading(&line.power_mw, gpu->power_mw);
        if (snapshot_counts_memory(s, gpu)) {
            add_reading(&line.used_bytes, gpu->mem_used_bytes);
            add_reading(&line.total_bytes, gpu->mem_total_bytes);
        }
        if (reading_or(gpu->temp_mdegc, -1) > reading_or(line.hottest, -1))
            line.hottest = gpu->temp_mdegc;
    }
    return line;
}

static void draw_host(const struct top *t, struct canvas *c, const struct top *host, int y)
{
    struct page page = draw_page(t);
    char text[NUMBER_SIZE];
    const struct why *why = host->why;
    struct host_line line = add_up_host(host->live);
    canvas_text(c, 1, y, 20, TINT_STRONG, host->host ? host->host : "this host");
    if (host->trouble[0] || !host->live) {
        size_t named = host->host ? strlen(host->host) : 0; /* the reason repeats the host's name */
        const char *trouble = host->trouble;
        if (named && strncmp(trouble, host->host, named) == 0 && strncmp(trouble + named, ": ", 2) == 0)
            trouble += named + 2;
        canvas_text(c, 22, y, c->width - 23, host->trouble[0] ? TINT_BAD : TINT_DIM, trouble[0] ? trouble : "asking...");
        return;
    }
    snprintf(text, sizeof text, "%zu/%zu", line.busy, line.gpus);
    canvas_right(c, 21, y, 6, TINT_PLAIN, line.known || !line.gpus ? text : page_dash(&page));
    snprintf(text, sizeof text, "%lld W", words_whole(line.power_mw.value, 1000));
    canvas_right(c, 28, y, 8, TINT_PLAIN, line.power_mw.state == READING_OK ? text : page_dash(&page));
    show_bytes_of(text, &page, line.used_bytes, line.total_bytes);
    canvas_right(c, 37, y, 15, TINT_PLAIN, text);
    show_temperature(text, &page, line.hottest);
    canvas_right(c, 53, y, 6, TINT_PLAIN, text);
    canvas_text(c, 61, y, c->width - 62, TINT_DIM, why ? why->answer : "");
}

static int draw_hosts(struct top *t, struct canvas *c, int top, int height)
{
    canvas_text(c, 1, top, c->width - 2, TINT_DIM, "HOST                  BUSY    POWER            VRAM   TEMP  WHY");
    size_t room = (size_t)MAX_OF(height - 1, 1), first = t->host_choice >= room ? t->host_choice - room + 1 : 0;
    for (size_t i = first; i < t->host_count && i - first < room; i++) {
        int y = top + 1 + (int)(i - first);
        draw_host(t, c, t->hosts[i], y);
        top_zone(t, ZONE_HOST, 0, y, c->width, 1, (int64_t)i);
        if (i == t->host_choice)
            canvas_select(c, 0, y, c->width);
    }
    return 1;
}

/* ---- a scrolled text ---- */

/* A scrolled text: counts all lines, draws those in view. */
struct sheet {
    struct top *t;
    struct canvas *c;
    int y, height, line; /* line: the next one, counted from the start of the text */
};

static void put_paragraph(struct sheet *s, int indent, enum tint tint, const char *text)
{
    int width = s->c->width - indent - 2, lines = MAX_OF(canvas_wrap_lines(width, text), 1);
    int row = s->line - (int)s->t->scroll;
    if (row + lines > 0 && row < s->height) {
        struct canvas *c = s->c;
        /* A separate canvas clips a paragraph that begins above or ends below. */
        struct canvas part = {.utf8 = c->utf8};
        if (canvas_resize(&part, c->width, lines) == 0) {
            canvas_wrap(&part, indent, 0, width, 0, tint, text);
            for (int i = 0; i < lines; i++)
                if (row + i >= 0 && row + i < s->height)
                    memcpy(&c->cells[(s->y + row + i) * c->width], &part.cells[i * c->width], (size_t)c->width * sizeof *c->cells);
        }
        canvas_done(&part);
    }
    s->line += lines;
}

/* ---- why ---- */

static void put_part(struct sheet *s, const struct why_part *part)
{
    char text[WHY_TEXT_SIZE + 64];
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        snprintf(text, sizeof text, "%s  (%s)", cause->text, likelihood_words(cause->confidence));
        put_paragraph(s, 3, i ? TINT_DIM : TINT_PLAIN, text);
        for (size_t e = 0; e < cause->evidence_count; e++) {
            snprintf(text, sizeof text, "%s %s", s->t->utf8 ? "·" : "-", cause->evidence[e]);
            put_paragraph(s, 5, TINT_DIM, text);
        }
    }
    if (part->suggestion_count)
        put_paragraph(s, 3, TINT_LABEL, "What you can do");
    for (size_t i = 0; i < part->suggestion_count; i++) {
        snprintf(text, sizeof text, "%s %s", s->t->utf8 ? "•" : "-", part->suggestions[i]);
        put_paragraph(s, 5, TINT_PLAIN, text);
    }
}

static void draw_why(struct sheet *s)
{
    const struct top *t = s->t;
    const struct why *why = top_shown_why(t);
    char command[WHY_LINE_SIZE];
    if (!why) {
        put_paragraph(s, 1, TINT_DIM, t->cursor_ms ? "There is no explanation of that moment." : "Watching...");
        return;
    }
    if (top_advice_command(t, command, sizeof command))
        put_paragraph(s, 1, TINT_LABEL, "c copies the first command.");
    put_part(s, &why->machine);
    const struct why_part *first = top_why_part(t); /* the headline is about it */
    if (first && first != &why->machine)
        put_part(s, first);
    for (size_t i = 0; i < why->gpu_count; i++) {
        const struct why_part *part = &why->gpus[i];
        if (t->only != ALL_GPUS || part == first)
            continue;
        put_paragraph(s, 1, TINT_PLAIN, "");
        put_paragraph(s, 1, TINT_STRONG, part->answer);
        put_part(s, part);
    }
}

/* ---- texts ---- */

static void draw_text(struct sheet *s, const char *text)
{
    struct str rest = str_from(text), line;
    while (str_cut(&rest, '\n', &line)) {
        char copy[2048];
        size_t indent = 0;
        while (indent < line.len && line.at[indent] == ' ')
            indent++;
        /* Tables keep their columns: cut lines instead of wrapping. */
        int row = s->line++ - (int)s->t->scroll;
        if (row < 0 || row >= s->height)
            continue;
        str_copy(copy, sizeof copy, line);
        canvas_text(s->c, 1, s->y + row, s->c->width - 2, indent >= 4 ? TINT_DIM : TINT_PLAIN, copy);
    }
}

/* Warns that this view shows the present although the cursor is in the past. */
static void put_now(struct sheet *s)
{
    char text[128], at[MOMENT_TEXT_SIZE];
    moment_format((struct wall){s->t->cursor_ms}, s->t->now, at);
    snprintf(text, sizeof text, "This is now. Overview and Why show %s.", at);
    put_paragraph(s, 1, TINT_WARN, text);
}

/* Details about a worker after its state, the most important first. */
static void worker_words(const struct top *t, const struct top_worker *w, char *text, size_t size)
{
    char span[WORDS_SIZE];
    if (w->resumes_ms && w->resumes_ms > t->now.ms)
        snprintf(text, size, "resumes in %s", words_duration(w->resumes_ms - t->now.ms, span));
    else if (w->resumes_ms)
        snprintf(text, size, "resumes as soon as there is room");
    else
        snprintf(text, size, "%s%s%s", w->held ? "held" : "", w->held && w->reason[0] ? "; " : "", w->reason);
}

static enum tint worker_tint(const struct top_worker *w)
{
    return w->problem[0]                      ? TINT_BAD
           : strcmp(w->state, "running") == 0 ? TINT_GOOD
           : strcmp(w->state, "absent") == 0  ? TINT_DIM
                                              : TINT_WARN;
}

static void draw_workers(struct sheet *s)
{
    const struct top *t = s->t;
    struct page page = draw_page(t);
    for (size_t i = 0; i < t->worker_count; i++) {
        const struct top_worker *w = &t->workers[i];
        char text[512], words[256], vram[NUMBER_SIZE];
        int row = s->line++ - (int)t->scroll;
        if (row < 0 || row >= s->height)
            continue;
        int y = s->y + row, x = 1;
        canvas_text(s->c, x, y, 20, TINT_STRONG, w->name);
        canvas_text(s->c, x + 21, y, 10, worker_tint(w), w->state);
        show_bytes(vram, &page, w->bytes);
        canvas_right(s->c, x + 31, y, 9, TINT_PLAIN, vram);
        worker_words(t, w, words, sizeof words);
        snprintf(text, sizeof text, "%s%s%s", w->gpus, w->gpus[0] ? "  " : "", words);
        canvas_text(s->c, x + 42, y, s->c->width - x - 43, TINT_PLAIN, text);
        top_zone(s->t, ZONE_WORKER, 0, y, s->c->width, 1, (int64_t)i);
        if (i == t->worker)
            canvas_select(s->c, 0, y, s->c->width);
    }
    if (!t->worker_count)
        return;
    const struct top_worker *w = &t->workers[MIN_OF(t->worker, t->worker_count - 1)];
    char text[256];
    put_paragraph(s, 1, TINT_PLAIN, "");
    put_paragraph(s, 1, TINT_LABEL, "e evict  H hold  x release the hold  R resume");
    put_paragraph(s, 1, TINT_PLAIN, "");
    if (w->reason[0] && w->resumes_ms) /* otherwise its row says so */
        put_paragraph(s, 1, TINT_PLAIN, w->reason);
    if (w->problem[0])
        put_paragraph(s, 1, TINT_BAD, w->problem);
    char often[48] = "Not evicted yet.";
    if (w->evictions > 0)
        snprintf(often, sizeof often, w->evictions == 1 ? "Evicted once." : "Evicted %lld times.", (long long)w->evictions);
    snprintf(text, sizeof text, "%s%s%s", often, w->method[0] ? " Off the GPU through " : "", w->method);
    put_paragraph(s, 1, TINT_DIM, text);
    put_paragraph(s, 1, TINT_PLAIN, "");
}

void draw_tab(struct top *t, struct canvas *c, int y, int height)
{
    struct sheet s = {t, c, y, height, 0};
    if (t->tab == TAB_WHY) {
        draw_why(&s);
    } else if (t->tab == TAB_HOSTS) {
        s.line = draw_hosts(t, c, y, height);
    } else {
        if (t->cursor_ms)
            put_now(&s);
        if (t->tab == TAB_GUARD)
            draw_workers(&s);
        if (t->panes[t->tab])
            draw_text(&s, t->panes[t->tab]);
        else
            put_paragraph(&s, 1, TINT_DIM, "Asking...");
    }
    t->pane_lines = (size_t)s.line;
    t->page = (size_t)MAX_OF(height, 1);
}
