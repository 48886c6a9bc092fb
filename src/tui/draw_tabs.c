/* SPDX-License-Identifier: Apache-2.0
 * All tabs except the overview: the explanation and the daemon's texts; hosts are in draw_hosts.c.
 */
#include "tui/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "insight/area/part.h"
#include "insight/view/why.h"
#include "model/finding.h"

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
