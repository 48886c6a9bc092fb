/* SPDX-License-Identifier: Apache-2.0
 * The fleet as tables.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "fleet/fleet.h"
#include "format/table/grid.h"

static enum ink show_ink_of(const struct fleet_host *h)
{
    static const enum ink inks[] = {INK_FAINT, INK_FAINT, INK_WARN, INK_BAD}; /* by severity */
    return h->state == FLEET_FINE ? INK_PLAIN : inks[h->first->first.severity];
}

static void head(struct buf *out, const struct page *page, const struct fleet *f)
{
    char answer[FLEET_SENTENCE];
    fleet_answer(f, answer, sizeof answer);
    page_ink(out, page, INK_STRONG, str_from(answer));
    buf_char(out, '\n');
}

/* "12/80" GiB. */
static void show_used(char text[NUMBER_SIZE], const struct page *page, struct reading used, struct reading total)
{
    int64_t u, t;
    if (reading_get(used, &u) && reading_get(total, &t))
        snprintf(text, NUMBER_SIZE, "%.0f/%.0f", (double)u * PER_GIB, (double)t * PER_GIB);
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

void fleet_show_gib(char text[NUMBER_SIZE], const struct page *page, struct reading bytes)
{
    int64_t value;
    if (reading_get(bytes, &value))
        snprintf(text, NUMBER_SIZE, value >= 1000LL << 30 ? "%.0f" : "%.1f", (double)value * PER_GIB);
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

void fleet_show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw)
{
    int64_t value;
    if (reading_get(mw, &value))
        snprintf(text, NUMBER_SIZE, "%lld", words_whole(value, 1000));
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

static void put_in_parentheses(char text[NUMBER_SIZE])
{
    char inner[NUMBER_SIZE];
    memcpy(inner, text, sizeof inner);
    snprintf(text, NUMBER_SIZE, "(%.*s)", NUMBER_SIZE - 3, inner);
}

void fleet_show_host(const struct fleet_host *h, const struct page *page, char util[NUMBER_SIZE], char used[NUMBER_SIZE],
                     char temp[NUMBER_SIZE], char power[NUMBER_SIZE])
{
    const struct reading of[] = {h->util_permille, h->used_bytes, h->temp_mdegc, h->power_mw};
    char *const texts[] = {util, used, temp, power};
    show_percent(util, page, h->util_permille);
    show_used(used, page, h->used_bytes, h->total_bytes);
    show_temperature(temp, page, h->temp_mdegc);
    fleet_show_watts(power, page, h->power_mw);
    for (size_t i = 0; i < ARRAY_LEN(of) && h->old; i++)
        if (of[i].state == READING_OK)
            put_in_parentheses(texts[i]);
}

static void rest(struct buf *out, const struct page *page, size_t left, const char *what)
{
    char text[128];
    if (!left)
        return;
    snprintf(text, sizeof text, "and %zu more %s; --all shows them", left, what);
    page_ink(out, page, INK_FAINT, str_from(text));
    buf_char(out, '\n');
}

static size_t rows_of(const struct fleet_view *v, size_t count)
{
    return v->all ? count : MIN_OF(count, (size_t)FLEET_ROWS);
}

static bool empty(struct buf *out, const struct fleet *f)
{
    if (f->gpu_count || f->silent || f->sum_count)
        return false;
    buf_text(out, "No whirr metrics in this database.\n");
    return true;
}

void fleet_table_status(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v)
{
    static const struct grid_column columns[] = {{"HOST", LEFT, 0},      {"GPUS", RIGHT, 1},    {"UTIL", RIGHT, 0},
                                                 {"VRAM GiB", RIGHT, 0}, {"HOTTEST", RIGHT, 2}, {"POWER W", RIGHT, 3},
                                                 {"NOTE", LEFT, 0}};
    size_t count;
    bool old = false;
    if (empty(out, f))
        return;
    AUTO_FREE struct fleet_host *hosts = fleet_hosts(f, &count);
    AUTO_GRID struct grid g;
    head(out, page, f);
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < rows_of(v, count); i++) {
        const struct fleet_host *h = &hosts[i];
        char text[NUMBER_SIZE], used[NUMBER_SIZE], temp[NUMBER_SIZE], power[NUMBER_SIZE];
        const char *const cells[] = {text, used, temp, power};
        grid_add(&g, show_ink_of(h), h->name);
        snprintf(text, sizeof text, "%zu", h->all);
        grid_add(&g, INK_PLAIN, text);
        fleet_show_host(h, page, text, used, temp, power);
        old |= h->old;
        for (size_t k = 0; k < ARRAY_LEN(cells); k++)
            grid_add(&g, h->old ? INK_FAINT : INK_PLAIN, cells[k]);
        grid_add(&g, show_ink_of(h), h->note);
    }
    grid_write(out, page, &g);
    if (old)
        page_ink(out, page, INK_FAINT, STR("(in parentheses: the last numbers of hosts that don't answer)\n"));
    rest(out, page, count - rows_of(v, count), "hosts");
    out->failed |= g.failed;
}

void fleet_table_why(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v)
{
    enum { LINES = 12 };
    size_t count, shown = 0, bad = 0;
    if (empty(out, f))
        return;
    AUTO_FREE struct fleet_host *hosts = fleet_hosts(f, &count);
    head(out, page, f);
    for (size_t i = 0; hosts && i < count && hosts[i].state; i++)
        bad++;
    for (; shown < bad && (v->all || shown < LINES); shown++) {
        char text[400];
        snprintf(text, sizeof text, "%s: %s", hosts[shown].name, hosts[shown].note);
        page_cell(out, page, show_ink_of(&hosts[shown]), LEFT, text, MAX_OF(48, width_of(text)));
        snprintf(text, sizeof text, "  whirr --host %s why", hosts[shown].name);
        page_ink(out, page, INK_FAINT, str_from(text));
        buf_char(out, '\n');
    }
    const char *calm = calm_words(false); /* hosts' missing inputs are not known here */
    if (!bad)
        buf_printf(out, "%c%s.\n", toupper((unsigned char)calm[0]), calm + 1);
    rest(out, page, bad - shown, "hosts with something unusual");
}

void fleet_table_ps(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v)
{
    static const struct grid_column columns[] = {{"HOST", LEFT, 0},      {"GPU", RIGHT, 0},     {"USER", LEFT, 0},
                                                 {"VRAM GiB", RIGHT, 0}, {"UTIL", RIGHT, 2},    {"POWER W", RIGHT, 3},
                                                 {"PROCESS", LEFT, 0},   {"CONTAINER", LEFT, 1}};
    const struct grid_column groups[] = {{fleet_by_words[v->by].title, LEFT, 0},
                                         {"VRAM GiB", RIGHT, 0},
                                         {"GPUS BUSY", RIGHT, 1},
                                         {"POWER W", RIGHT, 2},
                                         {"PROCESSES", RIGHT, 3},
                                         {"HOSTS", RIGHT, 0}};
    size_t count;
    AUTO_FREE struct fleet_process *list = fleet_processes(f, v, &count);
    AUTO_GRID struct grid g;
    if (!count) {
        buf_text(out, "No processes.\n");
        return;
    }
    grid_init(&g, v->by ? groups : columns, v->by ? ARRAY_LEN(groups) : ARRAY_LEN(columns));
    for (size_t i = 0; i < rows_of(v, count); i++) {
        const struct fleet_process *p = &list[i];
        char memory[NUMBER_SIZE], util[NUMBER_SIZE], power[NUMBER_SIZE], gpus[NUMBER_SIZE];
        fleet_show_gib(memory, page, p->mem_bytes);
        show_percent(util, page, p->util_permille);
        fleet_show_watts(power, page, p->power_mw);
        gpus[0] = '\0';
        if (p->util_permille.state == READING_OK)
            snprintf(gpus, sizeof gpus, "%.1f", (double)p->util_permille.value / 1000);
        const char *user = p->user[0] ? p->user : page_dash(page);
        const char *plain[] = {p->host, p->gpu, user, memory, util, power, p->process, p->container};
        const char *summed[] = {fleet_key(p, v->by), memory, gpus, power, p->process, p->gpu};
        const char **cells = v->by ? summed : plain;
        for (size_t k = 0; k < g.column_count; k++)
            grid_add(&g, INK_PLAIN, cells[k][0] ? cells[k] : page_dash(page));
    }
    grid_write(out, page, &g);
    rest(out, page, count - rows_of(v, count), v->by ? "rows" : "groups of processes");
    out->failed |= g.failed;
}

static const struct fleet_gpu *freest(const struct fleet *f)
{
    const struct fleet_gpu *best = NULL;
    for (size_t i = 0; i < f->gpu_count; i++)
        if (fleet_is_usable(&f->gpus[i]) && fleet_room(&f->gpus[i]).state == READING_OK &&
            (!best || fleet_room(&f->gpus[i]).value > fleet_room(best).value))
            best = &f->gpus[i];
    return best;
}

bool fleet_table_fit(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v)
{
    static const struct grid_column columns[] = {
        {"HOST", LEFT, 0}, {"GPU", RIGHT, 0}, {"FREE GiB", RIGHT, 0}, {"UTIL", RIGHT, 0}, {"NAME", LEFT, 1}};
    enum { PLACES = 10 };
    size_t count;
    char size[WORDS_SIZE], most[WORDS_SIZE];
    AUTO_FREE struct fleet_gpu *list = fleet_fitting(f, v->size_bytes, &count);
    words_bytes(v->size_bytes, size);
    if (!count) {
        const struct fleet_gpu *best = freest(f);
        size_t unknown = fleet_unknown_room(f, v->size_bytes);
        if (unknown)
            buf_printf(out, "Unknown: the free memory of %zu GPU%s isn't known; %s fits on no other", unknown,
                       unknown == 1 ? "" : "s", size);
        else
            buf_printf(out, "%s fits nowhere", size);
        if (best)
            buf_printf(out, "; %sGPU %s of %s has the most free memory: %s", best->divided ? "an instance of " : "", best->gpu,
                       best->host, words_bytes(fleet_room(best).value, most));
        buf_text(out, "\n");
        return false;
    }
    buf_printf(out, "%s fits on %zu GPU%s:\n", size, count, count == 1 ? "" : "s"); /* a program sees an instance as a GPU */
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    size_t shown = v->all ? count : MIN_OF(count, (size_t)PLACES);
    for (size_t i = 0; i < shown; i++) {
        char memory[NUMBER_SIZE], util[NUMBER_SIZE];
        fleet_show_gib(memory, page, fleet_room(&list[i]));
        show_percent(util, page, list[i].util_permille);
        const char *cells[] = {list[i].host, list[i].gpu, memory, util, list[i].name};
        for (size_t k = 0; k < ARRAY_LEN(cells); k++)
            grid_add(&g, INK_PLAIN, cells[k]);
    }
    grid_write(out, page, &g);
    rest(out, page, count - shown, "GPUs");
    out->failed |= g.failed;
    return true;
}
