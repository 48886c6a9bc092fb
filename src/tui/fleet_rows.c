/* SPDX-License-Identifier: Apache-2.0
 * The state of the fleet's live view: which lines there are, in which order, and what keys do.
 */
#include "tui/fleet_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void fleet_top_done(struct fleet_top *t)
{
    fleet_done(&t->fleet);
    free(t->hosts);
    free(t->lines);
    *t = (struct fleet_top){0};
}

const char *fleet_line_host(const struct fleet_line *l)
{
    return l->host ? l->host->name : l->gpu ? l->gpu->host : l->process ? l->process->host : "";
}

struct reading fleet_host_free(const struct fleet_host *h)
{
    struct reading sum = reading_absent(READING_UNREAD);
    for (size_t i = 0; i < h->count; i++)
        if (h->gpus[i].up && h->gpus[i].free_bytes.state == READING_OK)
            sum = reading_ok(reading_or(sum, 0) + h->gpus[i].free_bytes.value);
    return sum;
}

/* ---- who holds memory ---- */

struct holder {
    const char *name;
    int64_t bytes;
};

static int most_first(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->name, y->name);
}

void fleet_holders(const struct fleet *f, const char *host, const char *gpu, char *text, size_t size)
{
    enum { HOLDERS = 64, NAMED = 2 };
    struct holder all[HOLDERS];
    size_t count = 0;
    text[0] = '\0';
    for (size_t i = 0; i < f->process_count; i++) {
        const struct fleet_process *p = &f->processes[i];
        size_t at = 0;
        if (strcmp(p->host, host) != 0 || (gpu && strcmp(p->gpu, gpu) != 0))
            continue;
        const char *name = p->user[0] ? p->user : p->process;
        while (at < count && strcmp(all[at].name, name) != 0)
            at++;
        if (at == HOLDERS)
            continue;
        if (at == count)
            all[count++] = (struct holder){.name = name};
        all[at].bytes += reading_or(p->mem_bytes, 0);
    }
    if (count)
        qsort(all, count, sizeof *all, most_first);
    AUTO_BUF struct buf out = BUF(1024);
    for (size_t i = 0; i < MIN_OF(count, (size_t)NAMED); i++)
        buf_printf(&out, "%s%s", i ? ", " : "", all[i].name);
    if (count > NAMED)
        buf_printf(&out, " +%zu", count - NAMED);
    str_copy(text, size, buf_view(&out));
}

/* ---- lines ---- */

static int64_t rank_of_host(const struct fleet_top *t, const struct fleet_host *h)
{
    switch (t->sort) {
    case FLEET_SORT_UTIL: return reading_or(h->util_permille, -1);
    case FLEET_SORT_FREE: return reading_or(fleet_host_free(h), -1);
    case FLEET_SORT_POWER: return reading_or(h->power_mw, -1);
    case FLEET_SORT_HOST: return 0;
    default: return -(h - t->hosts); /* as they came: worst first */
    }
}

static int64_t rank_of_gpu(const struct fleet_top *t, const struct fleet_gpu *g)
{
    switch (t->sort) {
    case FLEET_SORT_UTIL: return reading_or(g->util_permille, -1);
    case FLEET_SORT_FREE: return reading_or(g->free_bytes, -1);
    case FLEET_SORT_POWER: return reading_or(g->power_mw, -1);
    case FLEET_SORT_HOST: return 0;
    default: return t->view == FLEET_TOP_FREE ? reading_or(g->free_bytes, -1) : reading_or(g->used_bytes, -1);
    }
}

static int64_t rank_of_process(const struct fleet_top *t, const struct fleet_process *p)
{
    switch (t->sort) {
    case FLEET_SORT_UTIL: return reading_or(p->util_permille, -1);
    case FLEET_SORT_POWER: return reading_or(p->power_mw, -1);
    case FLEET_SORT_HOST: return 0;
    default: return reading_or(p->mem_bytes, -1);
    }
}

static int by_rank(const void *a, const void *b, void *user)
{
    const struct fleet_line *x = a, *y = b;
    const struct fleet_top *t = user;
    int order = x->rank != y->rank ? (x->rank < y->rank ? 1 : -1) : 0;
    if (!order)
        order = strverscmp(fleet_line_host(x), fleet_line_host(y));
    if (!order && x->gpu && y->gpu)
        order = strverscmp(x->gpu->gpu, y->gpu->gpu);
    return t->reverse ? -order : order;
}

/* Every word of the filter is in the host, the GPU's name, a holder or the note, in any case. */
static bool passes(const struct fleet_top *t, const struct fleet_line *l)
{
    char holders[256] = "", all[1024];
    struct str rest = str_from(t->filter), word;
    if (!t->filter[0])
        return true;
    if (!l->process)
        fleet_holders(&t->fleet, fleet_line_host(l), l->gpu ? l->gpu->gpu : NULL, holders, sizeof holders);
    snprintf(all, sizeof all, "%s %s %s %s %s %s %s %s", fleet_line_host(l), holders, l->host ? l->host->note : "",
             l->host && l->host->count ? l->host->gpus->name
             : l->gpu                  ? l->gpu->name
                                       : "",
             l->gpu ? fleet_state_name(l->gpu->state) : "", l->process ? l->process->user : "",
             l->process ? l->process->process : "", l->process ? l->process->container : "");
    while (str_word(&rest, &word)) {
        char copy[sizeof t->filter];
        str_copy(copy, sizeof copy, word);
        if (!strcasestr(all, copy))
            return false;
    }
    return true;
}

static void add_line(struct fleet_top *t, struct fleet_line line)
{
    if (t->open[0] && strcmp(fleet_line_host(&line), t->open) != 0)
        return;
    if (passes(t, &line))
        t->lines[t->line_count++] = line;
}

static void add_gpus(struct fleet_top *t)
{
    for (size_t i = 0; i < t->fleet.gpu_count; i++) {
        const struct fleet_gpu *g = &t->fleet.gpus[i];
        bool free = fleet_is_usable(g) && g->free_bytes.state == READING_OK;
        if (t->open[0] || (t->view == FLEET_TOP_HELD ? g->state == FLEET_HELD : free))
            add_line(t, (struct fleet_line){.gpu = g, .rank = t->open[0] ? 0 : rank_of_gpu(t, g)});
    }
}

static void add_processes(struct fleet_top *t)
{
    for (size_t i = 0; i < t->fleet.process_count; i++)
        add_line(t, (struct fleet_line){.process = &t->fleet.processes[i], .rank = rank_of_process(t, &t->fleet.processes[i])});
}

static void sort_lines(struct fleet_top *t, size_t from)
{
    if (t->line_count > from)
        qsort_r(t->lines + from, t->line_count - from, sizeof *t->lines, by_rank, t);
}

static void make_lines(struct fleet_top *t)
{
    size_t most = t->host_count + t->fleet.gpu_count + t->fleet.process_count + 2;
    struct fleet_line *lines = realloc(t->lines, most * sizeof *lines);
    t->line_count = 0;
    if (!lines)
        return;
    t->lines = lines;
    if (t->open[0] || t->view == FLEET_TOP_HELD || t->view == FLEET_TOP_FREE) {
        add_gpus(t);
        sort_lines(t, 0);
    } else if (t->view == FLEET_TOP_HOSTS) {
        for (size_t i = 0; i < t->host_count; i++)
            add_line(t, (struct fleet_line){.host = &t->hosts[i], .rank = rank_of_host(t, &t->hosts[i])});
        sort_lines(t, 0);
    }
    if (t->open[0] || t->view == FLEET_TOP_PROCESSES) {
        size_t from = t->line_count;
        if (t->open[0])
            t->lines[t->line_count++] = (struct fleet_line){0}; /* the heading */
        size_t first = t->line_count;
        add_processes(t);
        sort_lines(t, first);
        if (t->open[0] && t->line_count == first)
            t->line_count = from;
    }
    t->selected = t->line_count ? MIN_OF(t->selected, t->line_count - 1) : 0;
}

/* ---- answers ---- */

void fleet_top_take(struct fleet_top *t, struct fleet *f, struct wall at)
{
    char host[HOST_NAME_SIZE] = "";
    if (t->selected < t->line_count)
        str_copy(host, sizeof host, str_from(fleet_line_host(&t->lines[t->selected])));
    t->line_count = 0; /* they point into it */
    fleet_done(&t->fleet);
    free(t->hosts);
    t->fleet = *f;
    *f = (struct fleet){0};
    t->hosts = fleet_hosts(&t->fleet, &t->host_count);
    t->known = true;
    t->at = at;
    t->trouble[0] = '\0';
    make_lines(t);
    /* The selection stays with the host, wherever it has gone. */
    for (size_t i = 0; t->view == FLEET_TOP_HOSTS && !t->open[0] && t->selected && i < t->line_count; i++)
        if (strcmp(fleet_line_host(&t->lines[i]), host) == 0)
            t->selected = i;
}

void fleet_top_trouble(struct fleet_top *t, const char *text)
{
    str_copy(t->trouble, sizeof t->trouble, str_from(text));
}

/* ---- keys ---- */

static void select_line(struct fleet_top *t, int64_t at)
{
    t->selected = t->line_count ? (size_t)MIN_OF(MAX_OF(at, (int64_t)0), (int64_t)t->line_count - 1) : 0;
}

static void show_view(struct fleet_top *t, enum fleet_top_view view)
{
    t->view = view;
    t->open[0] = '\0';
    t->sort = FLEET_SORT_FIRST;
    t->reverse = false;
    t->selected = t->first = 0;
    make_lines(t);
}

static void open_host(struct fleet_top *t)
{
    if (t->open[0] || t->selected >= t->line_count)
        return;
    str_copy(t->open, sizeof t->open, str_from(fleet_line_host(&t->lines[t->selected])));
    t->back = t->selected;
    t->filter[0] = '\0';
    t->selected = t->first = 0;
    make_lines(t);
}

static void close_host(struct fleet_top *t)
{
    if (t->open[0]) {
        t->open[0] = '\0';
        t->selected = t->back;
    } else {
        t->filter[0] = '\0';
    }
    make_lines(t);
}

static void copy_command(struct fleet_top *t)
{
    if (!t->open[0] && t->selected >= t->line_count)
        return;
    snprintf(t->copy, sizeof t->copy, "whirr --host %s top", t->open[0] ? t->open : fleet_line_host(&t->lines[t->selected]));
    snprintf(t->note, sizeof t->note, "Copied: %.140s", t->copy);
}

static void type_filter(struct fleet_top *t, int key)
{
    size_t len = strlen(t->filter);
    if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE) {
        t->typing = false;
        if (key == TOP_KEY_ESCAPE)
            t->filter[0] = '\0';
    } else if (key == TOP_KEY_BACKSPACE) {
        t->filter[len ? len - 1 : 0] = '\0';
    } else if (key >= ' ' && key < 0x7f && len + 1 < sizeof t->filter) {
        t->filter[len] = (char)key;
        t->filter[len + 1] = '\0';
    }
    t->selected = t->first = 0;
    make_lines(t);
}

static void sort_next(struct fleet_top *t, int step)
{
    do
        t->sort = (enum fleet_top_sort)(((int)t->sort + step + FLEET_SORT_COUNT) % FLEET_SORT_COUNT);
    while ((t->view == FLEET_TOP_PROCESSES || t->view == FLEET_TOP_FREE) && t->sort == FLEET_SORT_FREE); /* it is their own */
    t->selected = t->first = 0;
    make_lines(t);
}

static bool move_key(struct fleet_top *t, int key)
{
    int64_t at = (int64_t)t->selected, page = (int64_t)MAX_OF(t->page, (size_t)1);
    switch (key) {
    case TOP_KEY_UP:
    case 'k': select_line(t, at - 1); return true;
    case TOP_KEY_DOWN:
    case 'j': select_line(t, at + 1); return true;
    case TOP_KEY_PAGE_UP: select_line(t, at - page); return true;
    case TOP_KEY_PAGE_DOWN: select_line(t, at + page); return true;
    case TOP_KEY_HOME: select_line(t, 0); return true;
    case TOP_KEY_END:
    case 'G': select_line(t, INT32_MAX); return true;
    default: return false;
    }
}

void fleet_top_key(struct fleet_top *t, int key)
{
    t->note[0] = '\0';
    if (t->helping) {
        t->helping = false;
        return;
    }
    if (t->typing) {
        type_filter(t, key);
        return;
    }
    if (move_key(t, key))
        return;
    switch (key) {
    case 'q': t->ended = true; break;
    case '?': t->helping = true; break;
    case '/': t->typing = true; break;
    case '1':
    case '2':
    case '3':
    case '4': show_view(t, (enum fleet_top_view)(key - '1')); break;
    case TOP_KEY_TAB: show_view(t, (enum fleet_top_view)((t->view + 1) % FLEET_TOP_VIEWS)); break;
    case TOP_KEY_BACK_TAB: show_view(t, (enum fleet_top_view)((t->view + FLEET_TOP_VIEWS - 1) % FLEET_TOP_VIEWS)); break;
    case 's': sort_next(t, 1); break;
    case 'S': sort_next(t, -1); break;
    case 'r':
        t->reverse = !t->reverse;
        make_lines(t);
        break;
    case TOP_KEY_ENTER: open_host(t); break;
    case TOP_KEY_ESCAPE:
    case TOP_KEY_BACKSPACE: close_host(t); break;
    case 'c': copy_command(t); break;
    default: break;
    }
}

void fleet_top_mouse(struct fleet_top *t, enum top_mouse what, int x, int y)
{
    (void)x;
    if (what == TOP_DRAG)
        return;
    if (what != TOP_CLICK) {
        select_line(t, (int64_t)t->selected + (what == TOP_WHEEL_UP ? -3 : 3));
        return;
    }
    size_t at = t->first + (size_t)MAX_OF(y - t->rows_at, 0);
    if (y < t->rows_at || at >= t->line_count)
        return;
    if (t->selected == at)
        open_host(t);
    else
        t->selected = at;
}
