/* SPDX-License-Identifier: Apache-2.0
 * The rows of a fleet in the live view: their selection and order.
 */
#include "tui/fleet_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const char *const fleet_part_names[FLEET_PARTS] = {"Hosts", "Held", "Free", "Processes"};
const char *const fleet_sort_names[FLEET_SORT_COUNT] = {"first", "util", "free", "power", "host"};

struct top_fleet *top_fleet_new(void)
{
    return calloc(1, sizeof(struct top_fleet));
}

void top_fleet_free(struct top_fleet *f)
{
    if (!f)
        return;
    fleet_done(&f->fleet);
    free(f->hosts);
    free(f->rows);
    free(f);
}

const char *fleet_row_host(const struct fleet_row *row)
{
    return row->host ? row->host->name : row->gpu ? row->gpu->host : row->process ? row->process->host : "";
}

struct reading fleet_host_free(const struct fleet_host *h)
{
    struct reading sum = reading_absent(READING_UNREAD);
    for (size_t i = 0; i < h->count; i++)
        if (h->gpus[i].up && h->gpus[i].free_bytes.state == READING_OK)
            sum = reading_ok(reading_or(sum, 0) + h->gpus[i].free_bytes.value);
    return sum;
}

/* ---- holders of memory ---- */

struct holder {
    const char *name;
    int64_t bytes;
};

static int largest_first(const void *a, const void *b)
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
        qsort(all, count, sizeof *all, largest_first);
    AUTO_BUF struct buf out = BUF(1024);
    for (size_t i = 0; i < MIN_OF(count, (size_t)NAMED); i++)
        buf_printf(&out, "%s%s", i ? ", " : "", all[i].name);
    if (count > NAMED)
        buf_printf(&out, " +%zu", count - NAMED);
    str_copy(text, size, buf_view(&out));
}

/* ---- rows ---- */

/* `first`: the rank in the default order of its list. */
static int64_t rank_of(const struct top_fleet *f, struct reading util, struct reading free_bytes, struct reading power,
                       int64_t first)
{
    switch (f->sort) {
    case FLEET_SORT_UTIL: return reading_or(util, -1);
    case FLEET_SORT_FREE: return reading_or(free_bytes, -1);
    case FLEET_SORT_POWER: return reading_or(power, -1);
    case FLEET_SORT_HOST: return 0;
    default: return first;
    }
}

static int64_t rank_of_host(const struct top_fleet *f, const struct fleet_host *h)
{
    return rank_of(f, h->util_permille, fleet_host_free(h), h->power_mw, -(h - f->hosts)); /* as they come: worst first */
}

static int64_t rank_of_gpu(const struct top_fleet *f, const struct fleet_gpu *g)
{
    struct reading most = f->part == FLEET_PART_FREE ? g->free_bytes : g->used_bytes;
    return rank_of(f, g->util_permille, g->free_bytes, g->power_mw, reading_or(most, -1));
}

static int64_t rank_of_process(const struct top_fleet *f, const struct fleet_process *p)
{
    return rank_of(f, p->util_permille, p->mem_bytes, p->power_mw, reading_or(p->mem_bytes, -1));
}

static int by_rank(const void *a, const void *b, void *user)
{
    const struct fleet_row *x = a, *y = b;
    const struct top_fleet *f = user;
    int order = x->rank != y->rank ? (x->rank < y->rank ? 1 : -1) : 0;
    if (!order)
        order = strverscmp(fleet_row_host(x), fleet_row_host(y));
    if (!order && x->gpu && y->gpu)
        order = strverscmp(x->gpu->gpu, y->gpu->gpu);
    return f->reverse ? -order : order;
}

/* Every word of the filter must occur in the host, the GPU's name, a holder or the note, ignoring case. */
static bool passes(const struct top *t, const struct fleet_row *row)
{
    char holders[256] = "", all[1024];
    struct str rest = str_from(t->filter), word;
    if (!t->filter[0])
        return true;
    if (!row->process)
        fleet_holders(&t->fleet->fleet, fleet_row_host(row), row->gpu ? row->gpu->gpu : NULL, holders, sizeof holders);
    snprintf(all, sizeof all, "%s %s %s %s %s %s %s %s", fleet_row_host(row), holders, row->host ? row->host->note : "",
             row->host && row->host->count ? row->host->gpus->name
             : row->gpu                    ? row->gpu->name
                                           : "",
             row->gpu ? fleet_state_name(row->gpu->state) : "", row->process ? row->process->user : "",
             row->process ? row->process->process : "", row->process ? row->process->container : "");
    while (str_word(&rest, &word)) {
        char copy[sizeof t->filter];
        str_copy(copy, sizeof copy, word);
        if (!strcasestr(all, copy))
            return false;
    }
    return true;
}

static void fleet_rows_add_row(struct top *t, struct fleet_row row)
{
    struct top_fleet *f = t->fleet;
    if (f->open[0] && strcmp(fleet_row_host(&row), f->open) != 0)
        return;
    if (passes(t, &row))
        f->rows[t->row_count++] = row;
}

static void sort_rows(struct top *t, size_t from)
{
    if (t->row_count > from)
        qsort_r(t->fleet->rows + from, t->row_count - from, sizeof *t->fleet->rows, by_rank, t->fleet);
}

static void add_hosts(struct top *t)
{
    const struct top_fleet *f = t->fleet;
    for (size_t i = 0; i < f->host_count; i++)
        fleet_rows_add_row(t, (struct fleet_row){.host = &f->hosts[i], .rank = rank_of_host(f, &f->hosts[i])});
    sort_rows(t, 0);
}

static void add_gpus(struct top *t)
{
    const struct top_fleet *f = t->fleet;
    for (size_t i = 0; i < f->fleet.gpu_count; i++) {
        const struct fleet_gpu *g = &f->fleet.gpus[i];
        bool free = fleet_is_usable(g) && g->free_bytes.state == READING_OK;
        if (f->open[0] || (t->fleet->part == FLEET_PART_HELD ? g->state == FLEET_HELD : free))
            fleet_rows_add_row(t, (struct fleet_row){.gpu = g, .rank = f->open[0] ? 0 : rank_of_gpu(f, g)});
    }
    sort_rows(t, 0);
}

/* Adds the processes; below the GPUs of an open host, a heading separates them. */
static void add_processes(struct top *t)
{
    struct top_fleet *f = t->fleet;
    size_t before = t->row_count;
    if (f->open[0])
        f->rows[t->row_count++] = (struct fleet_row){0};
    size_t first = t->row_count;
    for (size_t i = 0; i < f->fleet.process_count; i++)
        fleet_rows_add_row(
            t, (struct fleet_row){.process = &f->fleet.processes[i], .rank = rank_of_process(f, &f->fleet.processes[i])});
    sort_rows(t, first);
    if (t->row_count == first)
        t->row_count = before;
}

void top_fleet_rows(struct top *t)
{
    struct top_fleet *f = t->fleet;
    size_t max = f->host_count + f->fleet.gpu_count + f->fleet.process_count + 2;
    struct fleet_row *rows = realloc(f->rows, max * sizeof *rows);
    t->row_count = 0;
    if (!rows)
        return;
    f->rows = rows;
    if (f->open[0] || t->fleet->part == FLEET_PART_HELD || t->fleet->part == FLEET_PART_FREE)
        add_gpus(t);
    else if (t->fleet->part == FLEET_PART_HOSTS)
        add_hosts(t);
    if (f->open[0] || t->fleet->part == FLEET_PART_PROCESSES)
        add_processes(t);
    t->selected = t->row_count ? MIN_OF(t->selected, t->row_count - 1) : 0;
}

/* ---- answers ---- */

void top_fleet_take(struct top *t, struct fleet *answer, struct wall at)
{
    struct top_fleet *f = t->fleet;
    char host[HOST_NAME_SIZE] = "";
    if (t->selected < t->row_count)
        str_copy(host, sizeof host, str_from(fleet_row_host(&f->rows[t->selected])));
    t->row_count = 0; /* they point into the old answer */
    fleet_done(&f->fleet);
    free(f->hosts);
    f->fleet = *answer;
    *answer = (struct fleet){0};
    f->hosts = fleet_hosts(&f->fleet, &f->host_count);
    f->known = true;
    t->now = at;
    t->trouble[0] = '\0';
    top_fleet_rows(t);
    /* The selection follows the host. */
    for (size_t i = 0; t->fleet->part == FLEET_PART_HOSTS && !f->open[0] && t->selected && i < t->row_count; i++)
        if (strcmp(fleet_row_host(&f->rows[i]), host) == 0)
            t->selected = i;
}
