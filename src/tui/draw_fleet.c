/* SPDX-License-Identifier: Apache-2.0
 * All hosts of a fleet: a summary, and a table of hosts, GPUs or processes.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "tui/draw.h"
#include "tui/fleet_rows.h"

enum { COLUMNS_MAX = 9, CELL_SIZE = 192, PARTS_FROM = 8 };

static const struct top_column_info host_columns[] = {
    {.title = "HOST", .sort = "host"},
    {.title = "GPUS", .width = 5, .right = true, .rank = 3},
    {.title = "UTIL", .width = 6, .right = true, .sort = "util"},
    {.title = "FREE GiB", .width = 9, .right = true, .rank = 1, .sort = "free"},
    {.title = "VRAM GiB", .width = 12, .right = true, .rank = 5},
    {.title = "HOTTEST", .width = 8, .right = true, .rank = 4},
    {.title = "POWER W", .width = 8, .right = true, .rank = 2, .sort = "power"},
    {.title = "HELD BY", .width = 18, .rank = 6},
    {.title = "NOTE", .sort = "first"},
};
static const struct top_column_info gpu_columns[] = {
    {.title = "HOST", .sort = "host"},
    {.title = "GPU", .width = 4, .right = true},
    {.title = "UTIL", .width = 6, .right = true, .sort = "util"},
    {.title = "FREE GiB", .width = 9, .right = true, .sort = "free"},
    {.title = "USED GiB", .width = 9, .right = true, .rank = 1, .sort = "first"},
    {.title = "TEMP", .width = 7, .right = true, .rank = 3},
    {.title = "POWER W", .width = 8, .right = true, .rank = 2, .sort = "power"},
    {.title = "HELD BY", .width = 22, .rank = 1},
    {.title = "NAME"},
};
static const struct top_column_info process_columns[] = {
    {.title = "HOST", .sort = "host"},
    {.title = "GPU", .width = 4, .right = true},
    {.title = "USER", .width = 12, .rank = 2},
    {.title = "VRAM GiB", .width = 9, .right = true, .sort = "first"},
    {.title = "UTIL", .width = 6, .right = true, .rank = 3, .sort = "util"},
    {.title = "POWER W", .width = 8, .right = true, .rank = 4, .sort = "power"},
    {.title = "CONTAINER", .width = 22, .rank = 5},
    {.title = "PROCESS"},
};

enum fleet_rows_of { ROWS_OF_HOSTS, ROWS_OF_GPUS, ROWS_OF_PROCESSES };
static const struct {
    const struct top_column_info *columns;
    int count;
} columns_of[] = {
    {host_columns, ARRAY_LEN(host_columns)}, {gpu_columns, ARRAY_LEN(gpu_columns)}, {process_columns, ARRAY_LEN(process_columns)}};

static enum tint tint_of(enum fleet_state state, const struct fleet_findings *findings)
{
    static const enum tint tints[] = {TINT_DIM, TINT_DIM, TINT_WARN, TINT_BAD}; /* by severity */
    return state == FLEET_FINE ? TINT_PLAIN : tints[findings->first.severity];
}

/* ---- cells ---- */

static void host_cells(const struct top_fleet *f, const struct page *page, const struct fleet_host *h, char cells[][CELL_SIZE])
{
    snprintf(cells[0], CELL_SIZE, "%s", h->name);
    snprintf(cells[1], CELL_SIZE, "%zu", h->all);
    fleet_show_gib(cells[3], page, fleet_host_free(h));
    fleet_show_host(h, page, cells[2], cells[4], cells[5], cells[6]);
    fleet_holders(&f->fleet, h->name, NULL, cells[7], CELL_SIZE);
    snprintf(cells[8], CELL_SIZE, "%s", h->note);
}

static void gpu_cells(const struct top_fleet *f, const struct page *page, const struct fleet_gpu *g, char cells[][CELL_SIZE])
{
    snprintf(cells[0], CELL_SIZE, "%s", g->host);
    snprintf(cells[1], CELL_SIZE, "%s", g->gpu[0] ? g->gpu : page_dash(page));
    show_percent(cells[2], page, g->util_permille);
    fleet_show_gib(cells[3], page, g->free_bytes);
    fleet_show_gib(cells[4], page, g->used_bytes);
    show_temperature(cells[5], page, g->temp_mdegc);
    fleet_show_watts(cells[6], page, g->power_mw);
    fleet_holders(&f->fleet, g->host, g->gpu, cells[7], CELL_SIZE);
    char headline[CELL_SIZE] = "";
    if (f->open[0] && g->state != FLEET_FINE)
        fleet_headline(g, headline, sizeof headline);
    snprintf(cells[8], CELL_SIZE, "%s%s%s", headline, headline[0] ? "  " : "", g->name);
}

static void process_cells(const struct page *page, const struct fleet_process *p, char cells[][CELL_SIZE])
{
    snprintf(cells[0], CELL_SIZE, "%s", p->host);
    snprintf(cells[1], CELL_SIZE, "%s", p->gpu);
    snprintf(cells[2], CELL_SIZE, "%s", p->user[0] ? p->user : page_dash(page));
    fleet_show_gib(cells[3], page, p->mem_bytes);
    show_percent(cells[4], page, p->util_permille);
    fleet_show_watts(cells[5], page, p->power_mw);
    snprintf(cells[6], CELL_SIZE, "%s", p->container[0] ? p->container : page_dash(page));
    snprintf(cells[7], CELL_SIZE, "%s", p->process);
}

/* ---- the table ---- */

struct fleet_table {
    struct top_column_info columns[COLUMNS_MAX]; /* the host column is as wide as the names */
    int count;
    unsigned shown;
};

static int host_width(const struct top_fleet *f, int width)
{
    int longest = 4;
    for (size_t i = 0; i < f->host_count; i++)
        longest = MAX_OF(longest, width_of(f->hosts[i].name));
    return MIN_OF(longest, MAX_OF(width / 4, 8));
}

static struct fleet_table table_of(const struct top_fleet *f, enum fleet_rows_of kind, int width)
{
    int last = MIN_OF(MAX_OF(width / 3, 12), 32); /* minimum of the last column, which shows the problem */
    struct fleet_table table = {.count = columns_of[kind].count};
    for (int i = 0; i < table.count; i++)
        table.columns[i] = columns_of[kind].columns[i];
    table.columns[0].width = host_width(f, width);
    table.shown = draw_columns_that_fit(table.columns, table.count, (1U << table.count) - 1, width - last - 1);
    return table;
}

static void put_heading(struct top *t, struct canvas *c, const struct fleet_table *table, int y, bool sorted)
{
    const struct top_fleet *f = t->fleet;
    /* Among the default orders, only that of free GPUs is the order of a column. */
    enum fleet_sort sort = f->sort == FLEET_SORT_FIRST && f->part == FLEET_PART_FREE ? FLEET_SORT_FREE : f->sort;
    struct column_titles titles = {.columns = table->columns, .count = table->count, .shown = table->shown, .reverse = f->reverse};
    titles.sort = sorted ? fleet_sort_names[sort] : NULL;
    draw_column_titles(t, c, &titles, y);
}

static void put_cells(struct canvas *c, const struct fleet_table *table, int y, enum tint tint, char cells[][CELL_SIZE])
{
    int x = 1;
    for (int i = 0; i < table->count; i++) {
        const struct top_column_info *info = &table->columns[i];
        int width = info->width ? info->width : c->width - x - 1;
        enum tint own = tint != TINT_PLAIN ? tint : i ? TINT_DIM : TINT_STRONG;
        if (!(table->shown & 1U << i))
            continue;
        (info->right ? canvas_right : canvas_text)(c, x, y, width, i && i + 1 < table->count ? TINT_PLAIN : own, cells[i]);
        x += width + 1;
    }
}

static void put_row(struct top *t, struct canvas *c, const struct fleet_row *row, int y)
{
    const struct top_fleet *f = t->fleet;
    struct page page = draw_page(t);
    char cells[COLUMNS_MAX][CELL_SIZE];
    enum tint tint = TINT_PLAIN;
    struct fleet_table table;
    if (row->host) {
        table = table_of(f, ROWS_OF_HOSTS, c->width);
        tint = tint_of(row->host->state, row->host->first);
        host_cells(f, &page, row->host, cells);
    } else if (row->gpu) {
        table = table_of(f, ROWS_OF_GPUS, c->width);
        tint = tint_of(row->gpu->state, &row->gpu->findings);
        gpu_cells(f, &page, row->gpu, cells);
    } else {
        table = table_of(f, ROWS_OF_PROCESSES, c->width);
        if (!row->process) {
            put_heading(t, c, &table, y, true);
            return;
        }
        process_cells(&page, row->process, cells);
    }
    if (tint == TINT_WARN || tint == TINT_BAD)
        canvas_text(c, 0, y, 1, tint, "▲");
    put_cells(c, &table, y, tint, cells);
}

/* Draws the names of the lists, the selected one in bold. */
static void draw_parts(struct top *t, struct canvas *c, int y)
{
    int x = 1;
    for (int i = 0; i < FLEET_PARTS; i++) {
        bool chosen = i == (int)t->fleet->part;
        int width = width_of(fleet_part_names[i]);
        canvas_text(c, x, y, width, chosen ? TINT_STRONG : TINT_DIM, fleet_part_names[i]);
        if (chosen)
            canvas_flag(c, x, y, width, CELL_BOLD);
        top_zone(t, ZONE_PART, x, y, width, 1, i);
        x += width + 3;
    }
}

void draw_fleet(struct top *t, struct canvas *c, int y, int height)
{
    static const char *const none[] = {"No whirr metrics in this database.", "No GPU is held but idle.",
                                       "No GPU reports free memory.", "No processes."};
    const struct top_fleet *f = t->fleet;
    if (!f->known || height < 2)
        return;
    if (height >= PARTS_FROM) {
        draw_parts(t, c, y++);
        height--;
    }
    bool gpus = f->open[0] || f->part == FLEET_PART_HELD || f->part == FLEET_PART_FREE;
    struct fleet_table table = table_of(f,
                                        gpus                          ? ROWS_OF_GPUS
                                        : f->part == FLEET_PART_HOSTS ? ROWS_OF_HOSTS
                                                                      : ROWS_OF_PROCESSES,
                                        c->width);
    put_heading(t, c, &table, y, !f->open[0]);
    draw_filter_words(t, c, y++);
    size_t room = (size_t)(height - 1);
    draw_scroll(t, room);
    for (size_t i = 0; i < room && t->first + i < t->row_count; i++) {
        size_t at = t->first + i;
        put_row(t, c, &f->rows[at], y + (int)i);
        top_zone(t, ZONE_ROW, 0, y + (int)i, c->width, 1, (int64_t)at);
        if (at == t->selected)
            canvas_select(c, 0, y + (int)i, c->width);
    }
    if (!t->row_count)
        canvas_text(c, 1, y + 1, c->width - 2, TINT_DIM, t->filter[0] ? "Nothing matches the filter." : none[f->part]);
}

/* ---- the frame ---- */

const char *draw_fleet_headline(const struct top *t, char *text, size_t size, enum tint *tint)
{
    const struct top_fleet *f = t->fleet;
    char answer[320];
    *tint = t->trouble[0] ? TINT_BAD : TINT_DIM;
    if (!f->known)
        return t->trouble[0] ? t->trouble : "Asking...";
    enum tint worst = f->host_count ? tint_of(f->hosts[0].state, f->hosts[0].first) : TINT_PLAIN;
    *tint = worst == TINT_BAD || worst == TINT_WARN ? worst : TINT_GOOD;
    fleet_answer(&f->fleet, answer, sizeof answer);
    snprintf(text, size, "%s%s%s", f->open, f->open[0] ? ", one of " : "", answer);
    return text;
}

void draw_fleet_place(const struct top *t, struct canvas *c, int y)
{
    char text[64];
    if (t->row_count <= t->page)
        return;
    snprintf(text, sizeof text, " %zu of %zu", t->selected + 1, t->row_count);
    canvas_right(c, c->width - 1 - width_of(text), y, width_of(text), TINT_DIM, text);
}
