/* SPDX-License-Identifier: Apache-2.0
 * The fleet's live view on a canvas: tabs, the sentence about the whole, a table, keys.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "tui/fleet_rows.h"

enum { COLUMNS_MAX = 9, CELL_SIZE = 192 };

struct fleet_column {
    const char *title;
    int width; /* 0: as wide as it takes (the first), or what is left */
    bool right;
    int rank;                 /* the higher, the sooner it goes when there is no room */
    enum fleet_top_sort sort; /* what puts it in order; FLEET_SORT_COUNT: nothing */
};

#define NO_SORT FLEET_SORT_COUNT
static const struct fleet_column host_columns[] = {
    {"HOST", 0, false, 0, FLEET_SORT_HOST},    {"GPUS", 5, true, 3, NO_SORT},      {"UTIL", 6, true, 0, FLEET_SORT_UTIL},
    {"FREE GiB", 9, true, 1, FLEET_SORT_FREE}, {"VRAM GiB", 12, true, 5, NO_SORT}, {"HOTTEST", 8, true, 4, NO_SORT},
    {"POWER W", 8, true, 2, FLEET_SORT_POWER}, {"HELD BY", 18, false, 6, NO_SORT}, {"NOTE", 0, false, 0, FLEET_SORT_FIRST},
};
static const struct fleet_column gpu_columns[] = {
    {"HOST", 0, false, 0, FLEET_SORT_HOST},
    {"GPU", 4, true, 0, NO_SORT},
    {"UTIL", 6, true, 0, FLEET_SORT_UTIL},
    {"FREE GiB", 9, true, 0, FLEET_SORT_FREE},
    {"USED GiB", 9, true, 1, FLEET_SORT_FIRST},
    {"TEMP", 7, true, 3, NO_SORT},
    {"POWER W", 8, true, 2, FLEET_SORT_POWER},
    {"HELD BY", 22, false, 1, NO_SORT},
    {"NAME", 0, false, 4, NO_SORT},
};
static const struct fleet_column process_columns[] = {
    {"HOST", 0, false, 0, FLEET_SORT_HOST},     {"GPU", 4, true, 0, NO_SORT},          {"USER", 12, false, 2, NO_SORT},
    {"VRAM GiB", 9, true, 0, FLEET_SORT_FIRST}, {"UTIL", 6, true, 3, FLEET_SORT_UTIL}, {"POWER W", 8, true, 4, FLEET_SORT_POWER},
    {"CONTAINER", 22, false, 5, NO_SORT},       {"PROCESS", 0, false, 0, NO_SORT},
};

static enum tint tint_of(enum fleet_state state, const struct fleet_said *said)
{
    static const enum tint tints[] = {TINT_DIM, TINT_DIM, TINT_WARN, TINT_BAD}; /* by severity */
    return state == FLEET_FINE ? TINT_PLAIN : tints[said->first.severity];
}

static void gib(char *text, const struct page *page, struct reading bytes)
{
    int64_t value;
    if (reading_get(bytes, &value))
        snprintf(text, CELL_SIZE, value >= 1000LL << 30 ? "%.0f" : "%.1f", (double)value * PER_GIB);
    else
        snprintf(text, CELL_SIZE, "%s", page_dash(page));
}

static void watts(char *text, const struct page *page, struct reading mw)
{
    int64_t value;
    if (reading_get(mw, &value))
        snprintf(text, CELL_SIZE, "%lld", words_whole(value, 1000));
    else
        snprintf(text, CELL_SIZE, "%s", page_dash(page));
}

/* ---- cells ---- */

static void host_cells(const struct fleet_top *t, const struct page *page, const struct fleet_host *h, char cells[][CELL_SIZE])
{
    int64_t used, total;
    snprintf(cells[0], CELL_SIZE, "%s", h->name);
    snprintf(cells[1], CELL_SIZE, "%zu", h->count);
    show_percent(cells[2], page, h->util_permille);
    gib(cells[3], page, fleet_host_free(h));
    if (reading_get(h->used_bytes, &used) && reading_get(h->total_bytes, &total))
        snprintf(cells[4], CELL_SIZE, "%.0f/%.0f", (double)used * PER_GIB, (double)total * PER_GIB);
    else
        snprintf(cells[4], CELL_SIZE, "%s", page_dash(page));
    show_temperature(cells[5], page, h->temp_mdegc);
    watts(cells[6], page, h->power_mw);
    fleet_holders(&t->fleet, h->name, NULL, cells[7], CELL_SIZE);
    snprintf(cells[8], CELL_SIZE, "%s", h->note);
}

static void gpu_cells(const struct fleet_top *t, const struct page *page, const struct fleet_gpu *g, char cells[][CELL_SIZE])
{
    snprintf(cells[0], CELL_SIZE, "%s", g->host);
    snprintf(cells[1], CELL_SIZE, "%s", g->gpu[0] ? g->gpu : page_dash(page));
    show_percent(cells[2], page, g->util_permille);
    gib(cells[3], page, g->free_bytes);
    gib(cells[4], page, g->used_bytes);
    show_temperature(cells[5], page, g->temp_mdegc);
    watts(cells[6], page, g->power_mw);
    fleet_holders(&t->fleet, g->host, g->gpu, cells[7], CELL_SIZE);
    char said[CELL_SIZE] = "";
    if (t->open[0] && g->state != FLEET_FINE)
        fleet_headline(g, said, sizeof said);
    snprintf(cells[8], CELL_SIZE, "%s%s%s", said, said[0] ? "  " : "", g->name);
}

static void process_cells(const struct page *page, const struct fleet_process *p, char cells[][CELL_SIZE])
{
    snprintf(cells[0], CELL_SIZE, "%s", p->host);
    snprintf(cells[1], CELL_SIZE, "%s", p->gpu);
    snprintf(cells[2], CELL_SIZE, "%s", p->user[0] ? p->user : page_dash(page));
    gib(cells[3], page, p->mem_bytes);
    show_percent(cells[4], page, p->util_permille);
    watts(cells[5], page, p->power_mw);
    snprintf(cells[6], CELL_SIZE, "%s", p->container[0] ? p->container : page_dash(page));
    snprintf(cells[7], CELL_SIZE, "%s", p->process);
}

/* ---- the table ---- */

struct table {
    const struct fleet_column *columns;
    size_t count;
    unsigned shown;
    int host, last; /* how wide the first and the last one are */
};

static int width_in(const struct table *table, size_t column)
{
    return column == 0 ? table->host : table->columns[column].width ? table->columns[column].width : table->last;
}

static int host_width(const struct fleet_top *t, int width)
{
    int most = 4;
    for (size_t i = 0; i < t->host_count; i++)
        most = MAX_OF(most, width_of(t->hosts[i].name));
    return MIN_OF(most, MAX_OF(width / 4, 8));
}

/* The columns that there is room for. */
static struct table table_of(const struct fleet_top *t, const struct fleet_column *columns, size_t count, int width)
{
    int least = MIN_OF(MAX_OF(width / 3, 12), 32); /* of the last one, which says what is wrong */
    struct table table = {columns, count, (1U << count) - 1, host_width(t, width), 0};
    for (int rank = 9;; rank--) {
        int used = 1;
        for (size_t i = 0; i + 1 < count; i++)
            if (table.shown & 1U << i)
                used += width_in(&table, i) + 1;
        table.last = width - used - 1;
        if (table.last >= least || rank == 0)
            return table;
        for (size_t i = 0; i + 1 < count; i++)
            if (columns[i].rank == rank)
                table.shown &= ~(1U << i);
    }
}

static void put_cells(struct canvas *c, const struct table *table, int y, const enum tint *tints, char cells[][CELL_SIZE])
{
    int x = 1;
    for (size_t i = 0; i < table->count; i++) {
        int width = width_in(table, i);
        if (!(table->shown & 1U << i))
            continue;
        if (table->columns[i].right)
            canvas_right(c, x, y, width, tints[i], cells[i]);
        else
            canvas_text(c, x, y, width, tints[i], cells[i]);
        x += width + 1;
    }
}

static void put_heading(const struct fleet_top *t, struct canvas *c, const struct table *table, int y, bool sorted)
{
    char cells[COLUMNS_MAX][CELL_SIZE];
    enum tint tints[COLUMNS_MAX];
    /* What the view puts first has its own column in one of the others. */
    enum fleet_top_sort sort = t->sort == FLEET_SORT_FIRST && t->view == FLEET_TOP_FREE ? FLEET_SORT_FREE : t->sort;
    for (size_t i = 0; i < table->count; i++) {
        bool mark = sorted && table->columns[i].sort == sort;
        snprintf(cells[i], CELL_SIZE, "%s%s", table->columns[i].title,
                 !mark        ? ""
                 : !t->utf8   ? (t->reverse ? "^" : "v")
                 : t->reverse ? "▲"
                              : "▼");
        tints[i] = mark ? TINT_STRONG : TINT_DIM;
    }
    put_cells(c, table, y, tints, cells);
}

static void put_line(const struct fleet_top *t, struct canvas *c, const struct fleet_line *l, int y)
{
    struct page page = {.width = c->width, .utf8 = t->utf8, .now = t->at};
    char cells[COLUMNS_MAX][CELL_SIZE];
    enum tint tints[COLUMNS_MAX] = {0};
    enum tint tint = l->host  ? tint_of(l->host->state, l->host->first)
                     : l->gpu ? tint_of(l->gpu->state, &l->gpu->said)
                              : TINT_PLAIN;
    struct table table;
    if (l->host) {
        table = table_of(t, host_columns, ARRAY_LEN(host_columns), c->width);
        host_cells(t, &page, l->host, cells);
    } else if (l->gpu) {
        table = table_of(t, gpu_columns, ARRAY_LEN(gpu_columns), c->width);
        gpu_cells(t, &page, l->gpu, cells);
    } else {
        table = table_of(t, process_columns, ARRAY_LEN(process_columns), c->width);
        if (!l->process) {
            put_heading(t, c, &table, y, true);
            return;
        }
        process_cells(&page, l->process, cells);
    }
    if (tint == TINT_WARN || tint == TINT_BAD)
        canvas_text(c, 0, y, 1, tint, "▲");
    tints[0] = tint == TINT_PLAIN ? TINT_STRONG : tint;
    tints[table.count - 1] = tint == TINT_PLAIN ? TINT_DIM : tint;
    put_cells(c, &table, y, tints, cells);
}

static void draw_table(struct fleet_top *t, struct canvas *c, int y, int height)
{
    bool gpus = t->open[0] || t->view == FLEET_TOP_HELD || t->view == FLEET_TOP_FREE;
    struct table table = gpus                         ? table_of(t, gpu_columns, ARRAY_LEN(gpu_columns), c->width)
                         : t->view == FLEET_TOP_HOSTS ? table_of(t, host_columns, ARRAY_LEN(host_columns), c->width)
                                                      : table_of(t, process_columns, ARRAY_LEN(process_columns), c->width);
    put_heading(t, c, &table, y, !t->open[0]);
    t->rows_at = y + 1;
    t->page = (size_t)MAX_OF(height - 1, 1);
    if (t->selected < t->first)
        t->first = t->selected;
    if (t->selected >= t->first + t->page)
        t->first = t->selected - t->page + 1;
    t->first = t->line_count > t->page ? MIN_OF(t->first, t->line_count - t->page) : 0;
    for (size_t i = t->first; i < t->line_count && i - t->first < t->page; i++) {
        int row = t->rows_at + (int)(i - t->first);
        put_line(t, c, &t->lines[i], row);
        if (i == t->selected)
            canvas_select(c, 0, row, c->width);
    }
    static const char *const none[FLEET_TOP_VIEWS] = {"No whirr metrics in this database.", "No GPU is held but idle.",
                                                      "No GPU reports free memory.", "No processes."};
    if (!t->line_count)
        canvas_text(c, 1, t->rows_at + 1, c->width - 2, TINT_DIM, t->filter[0] ? "Nothing matches the filter." : none[t->view]);
}

/* ---- the frame ---- */

static void draw_head(const struct fleet_top *t, struct canvas *c)
{
    static const char *const names[FLEET_TOP_VIEWS] = {"Hosts", "Held", "Free", "Processes"};
    char clock[32] = "", text[480] = "Asking...", answer[320];
    time_t seconds = (time_t)(t->at.ms / MS_PER_S);
    struct tm local;
    int x = 1 + canvas_text(c, 1, 0, 5, TINT_STRONG, "whirr") + 2;
    canvas_flag(c, 1, 0, 5, CELL_BOLD);
    for (int i = 0; i < FLEET_TOP_VIEWS; i++) {
        bool on = i == (int)t->view;
        int width = width_of(names[i]);
        canvas_text(c, x + 1, 0, width, on ? TINT_STRONG : TINT_DIM, names[i]);
        if (on)
            canvas_flag(c, x, 0, width + 2, CELL_REVERSE);
        x += width + 2;
    }
    if (t->known && localtime_r(&seconds, &local))
        strftime(clock, sizeof clock, "%H:%M:%S", &local);
    if (c->width - 1 - x > width_of(clock))
        canvas_right(c, x, 0, c->width - 1 - x, TINT_DIM, clock);
    if (t->known)
        fleet_answer(&t->fleet, answer, sizeof answer);
    if (t->known)
        snprintf(text, sizeof text, "%s%s%s", t->open, t->open[0] ? ", one of " : "", answer);
    enum tint worst = t->host_count ? tint_of(t->hosts[0].state, t->hosts[0].first) : TINT_PLAIN;
    bool bad = worst == TINT_BAD || worst == TINT_WARN;
    canvas_text(c, 1, 1, 1, !t->known ? TINT_DIM : bad ? worst : TINT_GOOD, bad ? "▲" : "●");
    canvas_text(c, 3, 1, c->width - 4, t->known ? TINT_STRONG : TINT_DIM, text);
}

static void draw_foot(const struct fleet_top *t, struct canvas *c)
{
    char text[512];
    int y = c->height - 1;
    if (t->typing)
        snprintf(text, sizeof text, "Filter: %s_", t->filter);
    else if (t->trouble[0])
        snprintf(text, sizeof text, "%s", t->trouble);
    else if (t->note[0])
        snprintf(text, sizeof text, "%s", t->note);
    else if (t->open[0])
        snprintf(text, sizeof text, "Esc back  c copy: whirr --host %s top  s sort  ? help  q quit", t->open);
    else
        snprintf(text, sizeof text, "q quit  ? help  Enter open  / filter  s sort  r reverse  1-4 view%s%s",
                 t->filter[0] ? "  Filter: " : "", t->filter);
    canvas_text(c, 1, y, c->width - 2, t->trouble[0] && !t->typing ? TINT_BAD : t->typing ? TINT_STRONG : TINT_DIM, text);
    if (t->line_count > t->page) {
        snprintf(text, sizeof text, " %zu of %zu", t->selected + 1, t->line_count);
        canvas_right(c, c->width - 1 - width_of(text), y, width_of(text), TINT_DIM, text);
    }
}

static void draw_help(struct canvas *c)
{
    static const char *const help[] = {
        "Move     up/down k/j, PgUp/PgDn, Home, End/G, wheel",
        "Views    1 hosts, worst first   2 GPUs that are held but idle",
        "         3 GPUs with free VRAM  4 processes   Tab, Shift-Tab",
        "Host     Enter opens it, Esc comes back, c copies the command for it",
        "Table    / filter (host, user, GPU, note), s/S sort, r reverse",
        "Other    Ctrl-L redraw, Ctrl-Z, q quit",
    };
    int width = MIN_OF(c->width, 74), height = MIN_OF(c->height, (int)ARRAY_LEN(help) + 4);
    int x = (c->width - width) / 2, y = (c->height - height) / 2;
    canvas_box(c, x, y, width, height, "Keys");
    for (int i = 0; i < (int)ARRAY_LEN(help) && i + 3 < height; i++)
        canvas_text(c, x + 2, y + 1 + i, width - 4, TINT_PLAIN, help[i]);
    canvas_text(c, x + 2, y + height - 2, width - 4, TINT_DIM, "Any key closes this.");
}

void fleet_top_draw(struct fleet_top *t, struct canvas *c)
{
    c->utf8 = t->utf8;
    canvas_clear(c);
    draw_head(t, c);
    if (t->known && c->height > 5)
        draw_table(t, c, 3, c->height - 4);
    draw_foot(t, c);
    if (t->helping)
        draw_help(c);
}
