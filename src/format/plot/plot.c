/* SPDX-License-Identifier: Apache-2.0
 * The field of dots, the axis of values, and the lines on it.
 *
 *   2 x 4 dots in a cell (braille), 1 x 8 (blocks: filled from below) or 1 x 3 (ASCII: _ - ')
 */
#include "format/plot/plot.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/plot/axis.h"

enum { COLUMNS_MAX = 1000, ROWS_MAX = 200 };

struct plot_cell {
    unsigned short dots; /* bit y * columns + x */
    unsigned char ink;
    bool line; /* a line, not only the band */
};

struct field {
    const struct plot *plot;
    struct axis axis;
    int columns, rows;        /* cells */
    int dots_wide, dots_high; /* of a cell */
    struct plot_cell *cells;
};

static const enum ink line_inks[PLOT_LINES_MAX] = {INK_LOAD,  INK_MEMORY, INK_WARN,   INK_BAD,
                                                   INK_PLAIN, INK_FAINT,  INK_STRONG, INK_GOOD};

static enum ink plot_ink_of(const struct plot *plot, size_t line)
{
    return plot->line_count == 1 ? INK_LOAD : line_inks[line];
}

/* ---- dots ---- */

static void set_dot(struct field *f, int x, int y, enum ink ink, bool line)
{
    int wide = f->columns * f->dots_wide, high = f->rows * f->dots_high;
    if (x < 0 || x >= wide || y < 0 || y >= high)
        return;
    int row = f->rows - 1 - y / f->dots_high;
    struct plot_cell *cell = &f->cells[row * f->columns + x / f->dots_wide];
    cell->dots |= (unsigned short)(1 << (y % f->dots_high * f->dots_wide + x % f->dots_wide));
    if (line || !cell->line) {
        cell->ink = (unsigned char)ink;
        cell->line |= line;
    }
}

static int x_of(const struct field *f, double at)
{
    double share = (at - f->plot->since) / (f->plot->until - f->plot->since);
    return (int)floor(share * (f->columns * f->dots_wide));
}

static int y_of(const struct field *f, double value)
{
    double share = (value - f->axis.low) / (f->axis.high - f->axis.low);
    int most = f->rows * f->dots_high - 1;
    return (int)fmin(fmax(round(share * most), 0), most);
}

static void draw_column(struct field *f, int x, int from, int to, enum ink ink, bool line)
{
    for (int y = MIN_OF(from, to); y <= MAX_OF(from, to); y++)
        set_dot(f, x, y, ink, line);
}

/* From one point to the next; blocks fill everything below the line. */
static void draw_between(struct field *f, int x0, int y0, int x1, int y1, enum ink ink)
{
    int last = y0;
    if (x0 == x1 && f->plot->style != PLOT_BLOCKS)
        draw_column(f, x0, y0, y1, ink, true);
    for (int x = x0; x <= x1; x++) {
        int y = x1 == x0 ? y1 : y0 + (int)lround((double)(y1 - y0) * (x - x0) / (x1 - x0));
        if (f->plot->style == PLOT_BLOCKS)
            draw_column(f, x, 0, y, ink, true);
        else
            draw_column(f, x, x == x0 ? y : last + (y > last) - (y < last), y, ink, true);
        last = y;
    }
}

static void draw_band(struct field *f, const struct plot_line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        if (isnan(line->mean[i]) || isnan(line->min[i]) || isnan(line->max[i]))
            continue;
        int from = x_of(f, line->times[i]), to = from + 1;
        if (i + 1 < line->count && !isnan(line->mean[i + 1]))
            to = MAX_OF(to, x_of(f, line->times[i + 1]));
        for (int x = from; x < to; x++)
            draw_column(f, x, y_of(f, line->min[i]), y_of(f, line->max[i]), INK_FAINT, false);
    }
}

static void draw_line(struct field *f, const struct plot_line *line, enum ink ink)
{
    bool before = false;
    int last_x = 0, last_y = 0;
    for (size_t i = 0; i < line->count; i++) {
        bool known = !isnan(line->mean[i]) && line->times[i] < f->plot->until;
        if (known) {
            int x = x_of(f, fmax(line->times[i], f->plot->since)), y = y_of(f, line->mean[i]);
            draw_between(f, before ? last_x : x, before ? last_y : y, x, y, ink);
            last_x = x;
            last_y = y;
        }
        before = known;
    }
}

/* ---- cells to text ---- */

static void braille(struct buf *out, unsigned dots)
{
    /* Bit for (x, y) with y from below; Unicode's order of the dots is older than the fourth row. */
    static const unsigned char bits[8] = {0x40, 0x80, 0x04, 0x20, 0x02, 0x10, 0x01, 0x08};
    unsigned sign = 0;
    for (int i = 0; i < 8; i++)
        if (dots & 1u << i)
            sign |= bits[i];
    char utf8[4] = {(char)0xe2, (char)(0xa0 | sign >> 6), (char)(0x80 | (sign & 0x3f)), 0};
    buf_text(out, utf8);
}

static void block(struct buf *out, unsigned dots)
{
    int filled = 0;
    while (dots >> filled)
        filled++;
    char utf8[4] = {(char)0xe2, (char)0x96, (char)(0x80 + filled), 0};
    buf_text(out, utf8);
}

static void ascii(struct buf *out, unsigned dots)
{
    static const char signs[8] = {' ', '_', '-', '|', '\'', '|', '|', '|'};
    buf_char(out, signs[dots & 7]);
}

static void write_cell(struct buf *out, enum plot_style style, unsigned dots)
{
    if (dots == 0)
        buf_char(out, ' ');
    else if (style == PLOT_BRAILLE)
        braille(out, dots);
    else if (style == PLOT_BLOCKS)
        block(out, dots);
    else
        ascii(out, dots);
}

/* Writes cells of the same ink together. */
static void write_row(struct buf *out, const struct page *page, const struct field *f, int row)
{
    const struct plot_cell *cells = &f->cells[row * f->columns];
    int end = f->columns;
    while (end > 0 && !cells[end - 1].dots)
        end--;
    for (int i = 0; i < end;) {
        AUTO_BUF struct buf run = BUF(COLUMNS_MAX * 4);
        int from = i;
        for (; i < end && (cells[i].ink == cells[from].ink || !cells[i].dots); i++)
            write_cell(&run, f->plot->style, cells[i].dots);
        page_ink(out, page, cells[from].dots ? (enum ink)cells[from].ink : INK_PLAIN, buf_view(&run));
    }
}

/* ---- the whole plot ---- */

static void write_title(struct buf *out, const struct page *page, const struct plot *plot, const struct axis *axis)
{
    page_ink(out, page, INK_STRONG, str_from(plot->title));
    AUTO_BUF struct buf unit = BUF(64);
    page_fit(&unit, page, str_from(axis->unit), 0);
    if (unit.len)
        buf_printf(out, " %s", unit.at);
    int left = plot->width - width_of(plot->title) - text_width(buf_view(&unit)) - 3;
    for (size_t i = 0; i < plot->line_count && left > 8; i++) {
        AUTO_BUF struct buf text = BUF(256), fitted = BUF(256);
        axis_statistics(&text, page, plot, i, axis, plot->line_count == 1);
        left -= page_fit(&fitted, page, buf_view(&text), left) + 3;
        buf_text(out, i ? page_dot(page) : "  ");
        page_ink(out, page, plot->line_count == 1 ? INK_PLAIN : plot_ink_of(plot, i), buf_view(&fitted));
    }
    buf_char(out, '\n');
}

int plot_margin(const struct plot *plot)
{
    struct axis axis;
    axis_init(&axis, plot);
    return axis.label_width + 2;
}

void plot_write(struct buf *out, const struct page *page, const struct plot *plot)
{
    struct field f = {.plot = plot, .dots_wide = plot->style == PLOT_BRAILLE ? 2 : 1};
    f.dots_high = plot->style == PLOT_BRAILLE ? 4 : plot->style == PLOT_BLOCKS ? 8 : 3;
    axis_init(&f.axis, plot);
    f.rows = MIN_OF(MAX_OF(plot->height, (int)PLOT_HEIGHT_LEAST), (int)ROWS_MAX);
    f.columns = MIN_OF(MAX_OF(plot->width - plot->margin, 10), (int)COLUMNS_MAX);
    AUTO_FREE struct plot_cell *cells = calloc((size_t)(f.columns * f.rows), sizeof *cells);
    if (!cells)
        return;
    f.cells = cells;
    /* Draw the band of min and max behind the line if colors can tell them apart. */
    if (plot->line_count == 1 && page->color && plot->style == PLOT_BRAILLE)
        draw_band(&f, &plot->lines[0]);
    for (size_t i = plot->line_count; i > 0; i--)
        draw_line(&f, &plot->lines[i - 1], plot_ink_of(plot, i - 1));
    write_title(out, page, plot, &f.axis);
    for (int row = 0; row < f.rows; row++) {
        axis_label(out, page, &f.axis, f.rows, row, plot->margin);
        write_row(out, page, &f, row);
        buf_char(out, '\n');
    }
    axis_times(out, page, plot, f.columns);
}
