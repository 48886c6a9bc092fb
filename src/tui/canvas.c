/* SPDX-License-Identifier: Apache-2.0
 * Text, bars and plots on a grid of cells.
 */
#include "tui/canvas.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/table/page_table.h"

int canvas_resize(struct canvas *c, int width, int height)
{
    width = MIN_OF(MAX_OF(width, 1), (int)CANVAS_WIDTH_MAX);
    height = MIN_OF(MAX_OF(height, 1), (int)CANVAS_HEIGHT_MAX);
    struct cell *cells = realloc(c->cells, (size_t)width * (size_t)height * sizeof *cells);
    if (!cells)
        return -ENOMEM;
    c->cells = cells;
    c->width = width;
    c->height = height;
    canvas_clear(c);
    return 0;
}

void canvas_done(struct canvas *c)
{
    free(c->cells);
    *c = (struct canvas){0};
}

void canvas_clear(struct canvas *c)
{
    for (int i = 0; i < c->width * c->height; i++)
        c->cells[i] = (struct cell){.glyph = ' '};
}

void canvas_put(struct canvas *c, int x, int y, enum tint tint, uint32_t glyph)
{
    struct cell *cell = canvas_cell(c, x, y);
    if (cell)
        *cell = (struct cell){glyph, (uint8_t)tint, 0};
}

static uint32_t decode(struct str sign)
{
    const unsigned char *at = (const unsigned char *)sign.at;
    switch (sign.len) {
    case 1: return at[0];
    case 2: return (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
    case 3: return (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    default: return (at[0] & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
    }
}

static int put_text(struct canvas *c, int x, int y, enum tint tint, struct str text)
{
    int start = x;
    while (text.len) {
        size_t len = str_utf8(text);
        struct str sign = {text.at, len ? len : 1};
        int columns = !len || (len == 1 && *text.at >= ' ' && *text.at < 0x7f) ? 1 : text_width(sign);
        if (columns > 0) {
            canvas_put(c, x, y, tint, len ? decode(sign) : '?');
            if (columns == 2) {
                canvas_put(c, x + 1, y, tint, ' ');
                canvas_flag(c, x + 1, y, 1, CELL_TAIL);
            }
            x += columns;
        }
        text = (struct str){text.at + sign.len, text.len - sign.len};
    }
    return x - start;
}

/* Shortens the text to the width, in characters that the terminal has. */
static int fit(const struct canvas *c, struct buf *out, const char *text, int width)
{
    /* Our own symbols have ASCII substitutes here; page_fit() replaces others. */
    static const struct {
        const char *glyph, *plain;
    } symbols[] = {{"▲", "!"}, {"●", "*"}, {"▼", "v"}};
    struct page page = {.utf8 = c->utf8};
    for (size_t i = 0; !c->utf8 && i < ARRAY_LEN(symbols); i++)
        if (strcmp(text, symbols[i].glyph) == 0)
            text = symbols[i].plain;
    return page_fit(out, &page, str_from(text), width);
}

int canvas_text(struct canvas *c, int x, int y, int width, enum tint tint, const char *text)
{
    AUTO_BUF struct buf fitted = BUF(16384);
    width = MIN_OF(width, c->width - x);
    if (width <= 0 || y < 0 || y >= c->height)
        return 0;
    fit(c, &fitted, text, width);
    return put_text(c, x, y, tint, buf_view(&fitted));
}

int canvas_right(struct canvas *c, int x, int y, int width, enum tint tint, const char *text)
{
    AUTO_BUF struct buf fitted = BUF(16384);
    if (width <= 0 || y < 0 || y >= c->height)
        return 0;
    int columns = fit(c, &fitted, text, width);
    return put_text(c, x + width - columns, y, tint, buf_view(&fitted));
}

/* "W" of "317 W" */
static bool is_unit_of(struct str line, struct str word)
{
    return line.len && line.at[line.len - 1] >= '0' && line.at[line.len - 1] <= '9' && word.len <= 5 &&
           strchr("WkMGT\xc2", word.at[0]);
}

/* Cuts the next line off `rest`: whole words, or a part of one that is longer than a line. A number stays with its unit. */
static struct str cut_line(struct str *rest, int width)
{
    struct str line = {rest->at, 0}, shorter = line, tail = *rest, word;
    while (str_word(&tail, &word)) {
        struct str longer = {line.at, (size_t)(word.at + word.len - line.at)};
        if (line.len && text_width(longer) > width) {
            line = is_unit_of(line, word) && shorter.len ? shorter : line;
            break;
        }
        shorter = line;
        line = longer;
        if (text_width(line) > width)
            break;
    }
    size_t used = (size_t)(line.at + line.len - rest->at);
    rest->at += used;
    rest->len -= used;
    *rest = str_trim(*rest);
    return line;
}

int canvas_wrap(struct canvas *c, int x, int y, int width, int lines, enum tint tint, const char *text)
{
    struct str rest = str_trim(str_from(text));
    int used = 0;
    while (width > 0 && rest.len && (!lines || used < lines)) {
        struct str line = cut_line(&rest, width);
        if (lines && used + 1 == lines && rest.len) /* the last line ends with an ellipsis */
            line.len = (size_t)(rest.at + rest.len - line.at);
        char copy[1024];
        str_copy(copy, sizeof copy, line);
        canvas_text(c, x, y + used++, width, tint, copy);
    }
    return used;
}

int canvas_wrap_lines(int width, const char *text)
{
    struct str rest = str_trim(str_from(text));
    int used = 0;
    for (; width > 0 && rest.len; used++)
        cut_line(&rest, width);
    return used;
}

void canvas_flag(struct canvas *c, int x, int y, int width, unsigned flag)
{
    for (int i = 0; i < width; i++) {
        struct cell *cell = canvas_cell(c, x + i, y);
        if (cell)
            cell->flags |= (uint8_t)flag;
    }
}

void canvas_select(struct canvas *c, int x, int y, int width)
{
    for (int i = 0; i < width; i++) {
        struct cell *cell = canvas_cell(c, x + i, y);
        if (cell) {
            cell->tint = TINT_PLAIN;
            cell->flags |= CELL_REVERSE;
        }
    }
}

void canvas_bar(struct canvas *c, int x, int y, int width, enum tint tint, struct reading permille)
{
    AUTO_BUF struct buf bar = BUF(4096);
    struct page page = {.utf8 = c->utf8};
    if (permille.state != READING_OK || width <= 0)
        return;
    page_bar(&bar, &page, INK_PLAIN, permille, width);
    put_text(c, x, y, tint, buf_view(&bar));
    for (int i = 0; i < width; i++) {
        struct cell *cell = canvas_cell(c, x + i, y);
        if (cell && (cell->glyph == 0x2591 || cell->glyph == '.')) /* the unfilled part */
            cell->tint = TINT_DIM;
    }
}

/* The number of `steps` that a value fills; at least one if it is known. */
static int plot_level(float value, int steps)
{
    return isnan(value) ? 0 : MAX_OF(1, (int)lroundf(MIN_OF(MAX_OF(value, 0.0F), 1.0F) * (float)steps));
}

static void plot_braille(struct canvas *c, int x, int y, int width, int height, enum tint tint, enum plot_form form,
                         const float *values)
{
    static const uint8_t left[] = {0x40, 0x04, 0x02, 0x01}, right[] = {0x80, 0x20, 0x10, 0x08};
    int before = 0;
    for (int slot = 0; slot < 2 * width; slot++) {
        int level = plot_level(values[slot], 4 * height);
        int from = form != PLOT_LINE || !level ? 0 : !before ? level - 1 : MIN_OF(level, before) - (level <= before);
        for (int step = from; step < level || (form == PLOT_LINE && level && step < before); step++) {
            int row = form == PLOT_DOWN ? step / 4 : height - 1 - step / 4, dot = form == PLOT_DOWN ? 3 - step % 4 : step % 4;
            struct cell *cell = canvas_cell(c, x + slot / 2, y + row);
            uint32_t there = cell && cell->glyph >= 0x2800 && cell->glyph < 0x2900 ? cell->glyph : 0x2800;
            canvas_put(c, x + slot / 2, y + row, tint, there | (slot % 2 ? right[dot] : left[dot]));
        }
        before = level;
    }
}

/* One value per column, in eighths of a line. Downward plots have no eighths: they round to whole lines. */
static void plot_columns(struct canvas *c, int x, int y, int width, int height, enum tint tint, enum plot_form form,
                         const float *values)
{
    static const char parts[] = "_.:-=+*#";
    enum { LEVELS = sizeof parts - 1 };
    for (int column = 0; column < width; column++) {
        int level = plot_level(values[column], LEVELS * height);
        for (int row = 0; row < height; row++) {
            int filled = MIN_OF(level - LEVELS * (form == PLOT_DOWN ? row : height - 1 - row), (int)LEVELS);
            if (filled <= 0 || (form == PLOT_LINE && filled == LEVELS && level > LEVELS * (height - row)))
                continue;
            if (form == PLOT_DOWN)
                filled = filled < LEVELS / 2 ? 1 : LEVELS;
            canvas_put(c, x + column, y + row, tint, c->utf8 ? 0x2580U + (uint32_t)filled : (uint32_t)parts[filled - 1]);
        }
    }
}

void canvas_plot(struct canvas *c, int x, int y, int width, int height, enum tint tint, enum plot_form form, const float *values)
{
    (c->utf8 && !c->blocks ? plot_braille : plot_columns)(c, x, y, width, height, tint, form, values);
}

void canvas_box(struct canvas *c, int x, int y, int width, int height, const char *title)
{
    static const uint32_t lines[] = {0x250c, 0x2510, 0x2514, 0x2518, 0x2500, 0x2502}, plain[] = {'+', '+', '+', '+', '-', '|'};
    const uint32_t *set = c->utf8 ? lines : plain;
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++) {
            bool top = row == 0, bottom = row == height - 1, first = column == 0, last = column == width - 1;
            uint32_t glyph = top && first      ? set[0]
                             : top && last     ? set[1]
                             : bottom && first ? set[2]
                             : bottom && last  ? set[3]
                             : top || bottom   ? set[4]
                             : first || last   ? set[5]
                                               : ' ';
            canvas_put(c, x + column, y + row, TINT_DIM, glyph);
        }
    canvas_put(c, x + 2, y, TINT_DIM, ' ');
    int used = canvas_text(c, x + 3, y, width - 6, TINT_STRONG, title);
    canvas_put(c, x + 3 + used, y, TINT_DIM, ' ');
}

void canvas_glyph(struct buf *out, uint32_t glyph)
{
    if (glyph < 0x80) {
        buf_char(out, (char)glyph);
    } else if (glyph < 0x800) {
        buf_char(out, (char)(0xc0 | glyph >> 6));
        buf_char(out, (char)(0x80 | (glyph & 0x3f)));
    } else if (glyph < 0x10000) {
        buf_char(out, (char)(0xe0 | glyph >> 12));
        buf_char(out, (char)(0x80 | (glyph >> 6 & 0x3f)));
        buf_char(out, (char)(0x80 | (glyph & 0x3f)));
    } else {
        buf_char(out, (char)(0xf0 | glyph >> 18));
        buf_char(out, (char)(0x80 | (glyph >> 12 & 0x3f)));
        buf_char(out, (char)(0x80 | (glyph >> 6 & 0x3f)));
        buf_char(out, (char)(0x80 | (glyph & 0x3f)));
    }
}

void canvas_write(const struct canvas *c, struct buf *out)
{
    for (int y = 0; y < c->height; y++) {
        const struct cell *row = &c->cells[y * c->width];
        int end = c->width;
        while (end > 0 && row[end - 1].glyph == ' ')
            end--;
        for (int x = 0; x < end; x++)
            if (!(row[x].flags & CELL_TAIL))
                canvas_glyph(out, row[x].glyph);
        buf_char(out, '\n');
    }
}
