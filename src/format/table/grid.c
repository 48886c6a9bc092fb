/* SPDX-License-Identifier: Apache-2.0
 * Layout of grids.
 */
#include "format/table/grid.h"

#include <stdlib.h>

#include "base/cleanup.h"

void grid_init(struct grid *g, const struct grid_column *columns, size_t count)
{
    *g = (struct grid){.columns = columns, .column_count = MIN_OF(count, (size_t)GRID_COLUMNS_MAX)};
}

void grid_done(struct grid *g)
{
    for (size_t i = 0; i < g->cell_count; i++)
        free(g->cells[i]);
    free(g->cells);
    free(g->inks);
    *g = (struct grid){0};
}

static bool grid_make_room(struct grid *g)
{
    if (g->cell_count < g->capacity)
        return true;
    size_t capacity = MAX_OF((size_t)64, g->capacity * 2);
    char **cells = realloc(g->cells, capacity * sizeof *cells);
    if (!cells)
        return false;
    g->cells = cells;
    enum ink *inks = realloc(g->inks, capacity * sizeof *inks);
    if (!inks)
        return false;
    g->inks = inks;
    g->capacity = capacity;
    return true;
}

void grid_add(struct grid *g, enum ink ink, const char *text)
{
    char *copy = grid_make_room(g) ? strdup(text) : NULL;
    if (!copy) {
        g->failed = true;
        return;
    }
    g->inks[g->cell_count] = ink;
    g->cells[g->cell_count++] = copy;
}

static void grid_measure(const struct grid *g, const struct page *page, int widths[GRID_COLUMNS_MAX])
{
    size_t rows = g->cell_count / g->column_count;
    for (size_t c = 0; c < g->column_count; c++) {
        bool known = g->columns[c].rank == 0;
        widths[c] = width_of(g->columns[c].title);
        for (size_t r = 0; r < rows; r++) {
            const char *text = g->cells[r * g->column_count + c];
            widths[c] = MAX_OF(widths[c], width_of(text));
            known |= text[0] && strcmp(text, page_dash(page)) != 0;
        }
        if (!known)
            widths[c] = 0;
    }
}

static int total(const struct grid *g, const int widths[GRID_COLUMNS_MAX])
{
    int sum = 0;
    for (size_t c = 0; c < g->column_count; c++)
        if (widths[c])
            sum += widths[c] + (sum ? 2 : 0);
    return sum;
}

/* Cuts the last column if needed: its words remain useful. */
static void squeeze(const struct grid *g, const struct page *page, int widths[GRID_COLUMNS_MAX])
{
    enum { LAST_LEAST = 16 };
    size_t last = g->column_count - 1;
    int request = widths[last];
    widths[last] = MIN_OF(request, LAST_LEAST);
    for (;;) {
        int over = total(g, widths) - page->width;
        size_t worst = 0;
        for (size_t c = 1; c < g->column_count; c++)
            if (widths[c] && g->columns[c].rank > (widths[worst] ? g->columns[worst].rank : 0))
                worst = c;
        if (over <= 0 || g->columns[worst].rank == 0)
            break;
        widths[worst] = 0;
    }
    if (widths[last])
        widths[last] = MIN_OF(request, MAX_OF(widths[last], widths[last] + page->width - total(g, widths)));
}

void grid_write(struct buf *out, const struct page *page, const struct grid *g)
{
    int widths[GRID_COLUMNS_MAX];
    size_t rows = g->cell_count / g->column_count, last = 0;
    if (g->failed)
        out->failed = out->no_memory = true;
    grid_measure(g, page, widths);
    if (page->width && !page->whole && total(g, widths) > page->width)
        squeeze(g, page, widths);
    for (size_t c = 0; c < g->column_count; c++)
        if (widths[c])
            last = c;
    for (size_t r = 0; r < rows + 1; r++) {
        bool first = true;
        for (size_t c = 0; c < g->column_count; c++) {
            if (!widths[c])
                continue;
            const char *text = r ? g->cells[(r - 1) * g->column_count + c] : g->columns[c].title;
            enum ink ink = r ? g->inks[(r - 1) * g->column_count + c] : INK_FAINT;
            /* No blanks after the last word of a line. */
            int width = c == last && g->columns[c].align == LEFT ? MIN_OF(widths[c], MAX_OF(width_of(text), 1)) : widths[c];
            buf_text(out, first ? "" : "  ");
            page_cell(out, page, ink, g->columns[c].align, text, width);
            first = false;
        }
        buf_char(out, '\n');
    }
}
