/* SPDX-License-Identifier: Apache-2.0
 * Boxes over the view: keys, columns, and confirmations.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tui/draw.h"
#include "tui/keys/signals.h"

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
