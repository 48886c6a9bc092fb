/* SPDX-License-Identifier: Apache-2.0
 * Finds the shortest moves and color changes from cell to cell.
 */
#include "tui/terminal/paint.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tui/terminal/terminal.h"
#include "tui/theme.h"

enum { MOVES_SIZE = 64, STEPS_MAX = 6, GAP_MAX = 4, FRAME_MAX = 8 << 20, COPY_MAX = 8192 };

void paint_done(struct paint *p)
{
    free(TAKE(p->shown));
}

void paint_forget(struct paint *p)
{
    free(TAKE(p->shown));
    p->x = -1;
    p->styled = false;
}

/* ---- style ---- */

static int color_of(const struct theme_color *c, int colors)
{
    return colors > 256 ? c->rgb : colors >= 256 ? c->indexed : colors >= 16 ? c->basic : c->basic > 7 ? c->basic - 8 : c->basic;
}

void paint_theme(struct paint *p, const char *name, bool color)
{
    const struct theme *theme = theme_find(name);
    int colors = color ? terminal_colors() : 0;
    for (int i = 0; i < TINT_COUNT; i++) {
        struct paint_style *style = &p->styles[i];
        *style = (struct paint_style){.color = color ? color_of(&theme->color[i], colors) : -1};
        /* Eight colors have no gray, and without colors only attributes are left. */
        if (i == TINT_DIM && colors < 16)
            style->attributes |= TERMINAL_DIM;
        if (!color && (i == TINT_BAD || i == TINT_WARN))
            style->attributes |= TERMINAL_BOLD;
    }
}

void paint_plain(struct paint *p, struct buf *out)
{
    terminal_plain(out);
    p->style = (struct paint_style){.color = -1};
    p->styled = true;
}

static struct paint_style style_of(const struct paint *p, const struct cell *cell)
{
    struct paint_style style = p->styles[cell->tint < TINT_COUNT ? cell->tint : 0];
    style.attributes |=
        (cell->flags & CELL_REVERSE ? (unsigned)TERMINAL_REVERSE : 0) | (cell->flags & CELL_BOLD ? (unsigned)TERMINAL_BOLD : 0);
    return style;
}

/* A blank shows no color. */
static bool is_blank(const struct cell *cell)
{
    return cell->glyph == ' ' && !(cell->flags & (CELL_REVERSE | CELL_TAIL));
}

static bool same_style(struct paint_style a, struct paint_style b)
{
    return a.color == b.color && a.attributes == b.attributes;
}

/* Whether the cell looks right in the current style. */
static bool has_style(const struct paint *p, const struct cell *cell)
{
    if (is_blank(cell))
        return p->styled && !(p->style.attributes & TERMINAL_REVERSE);
    return p->styled && same_style(style_of(p, cell), p->style);
}

static void set_style(struct paint *p, struct paint_style style, struct buf *out)
{
    if (!p->styled || p->style.attributes != style.attributes || style.color < 0)
        paint_plain(p, out);
    terminal_attributes(out, style.attributes & ~p->style.attributes & ~(style.color >= 0 ? terminal_never_with_color() : 0U));
    if (style.color >= 0 && style.color != p->style.color)
        terminal_color(out, style.color);
    p->style = style;
}

/* ---- the cursor ---- */

static void repeat(struct buf *out, const char *text, int times)
{
    for (int i = 0; i < times; i++)
        buf_text(out, text);
}

/* Moves to the row and the column separately, by steps or by number; false: not possible from here. */
static bool move_parts(const struct paint *p, int x, int y, struct buf *out)
{
    int down = y - p->y, left = p->x - x;
    if (p->x < 0)
        return false;
    if (down > 0 && down <= STEPS_MAX && p->line_feeds)
        repeat(out, "\n", down);
    else if (down != 0 && !terminal_row(out, y))
        return false;
    if (left > 0 && left <= STEPS_MAX)
        repeat(out, "\b", left);
    else if (left != 0 && x == 0)
        buf_char(out, '\r');
    else if (left != 0 && !terminal_column(out, x))
        return false;
    return true;
}

static void write_cell(struct paint *p, const struct canvas *c, const struct cell *cell, struct buf *out);

/* Rewrites the cells in between: a few characters are shorter than a move. */
static bool write_over(struct paint *p, const struct canvas *c, int x, int y, struct buf *out)
{
    if (p->x < 0 || p->y != y || x <= p->x || x - p->x > GAP_MAX)
        return false;
    const struct cell *row = &c->cells[y * c->width];
    for (int i = p->x; i < x; i++)
        if (row[i].glyph >= 0x80 || row[i].flags & CELL_TAIL || !has_style(p, &row[i]))
            return false;
    while (p->x < x)
        write_cell(p, c, &row[p->x], out);
    return true;
}

static void move_to(struct paint *p, const struct canvas *c, int x, int y, struct buf *out)
{
    if ((p->x == x && p->y == y) || write_over(p, c, x, y, out))
        return;
    AUTO_BUF struct buf parts = BUF(MOVES_SIZE), whole = BUF(MOVES_SIZE);
    terminal_place(&whole, x, y);
    bool by_parts = move_parts(p, x, y, &parts) && !parts.failed && parts.len < whole.len;
    buf_str(out, by_parts ? buf_view(&parts) : buf_view(&whole));
    p->x = x;
    p->y = y;
}

/* ---- cells ---- */

static void write_cell(struct paint *p, const struct canvas *c, const struct cell *cell, struct buf *out)
{
    bool wide = p->x + 1 < c->width && cell[1].flags & CELL_TAIL;
    canvas_glyph(out, p->utf8 || cell->glyph < 0x80 ? cell->glyph : '?');
    p->x += wide ? 2 : 1;
    /* Terminals differ in the cursor position after the last column, and in the width of some glyphs. */
    if (p->x >= c->width || wide)
        p->x = -1;
}

static bool looks_same(const struct cell *a, const struct cell *b)
{
    return (is_blank(a) && is_blank(b)) || (a->glyph == b->glyph && a->tint == b->tint && a->flags == b->flags);
}

/* The corner where some terminals would scroll. */
static bool is_corner(const struct canvas *c, int x, int y)
{
    return terminal_scrolls_at_corner() && x == c->width - 1 && y == c->height - 1;
}

static void paint_row(struct paint *p, const struct canvas *c, int y, struct buf *out)
{
    for (int x = 0; x < c->width; x++) {
        const struct cell *cell = &c->cells[y * c->width + x];
        struct cell *shown = &p->shown[y * c->width + x];
        bool wide = x + 1 < c->width && cell[1].flags & CELL_TAIL;
        if (looks_same(shown, cell) && (!wide || shown[1].flags & CELL_TAIL))
            continue;
        *shown = *cell;
        if (cell->flags & CELL_TAIL || is_corner(c, x, y))
            continue;
        move_to(p, c, x, y, out);
        if (!has_style(p, cell))
            set_style(p, style_of(p, cell), out);
        write_cell(p, c, cell, out);
    }
}

static bool start_over(struct paint *p, const struct canvas *c, struct buf *out)
{
    p->shown = calloc((size_t)c->width * (size_t)c->height, sizeof *p->shown);
    if (!p->shown)
        return false;
    for (int i = 0; i < c->width * c->height; i++)
        p->shown[i].glyph = ' ';
    p->width = c->width;
    p->height = c->height;
    paint_plain(p, out);
    terminal_clear(out);
    p->x = p->y = 0;
    return true;
}

static void append_frame(struct paint *p, const struct canvas *c, struct buf *out)
{
    if (p->shown && (p->width != c->width || p->height != c->height))
        paint_forget(p);
    if (!p->shown && !start_over(p, c, out))
        return;
    /* Start in the row of the cursor: it is likely to change again. */
    int first = p->x >= 0 ? p->y : 0;
    for (int i = 0; i < c->height; i++)
        paint_row(p, c, (first + i) % c->height, out);
}

bool paint_frame(struct paint *p, const struct canvas *c, void (*put)(struct str text))
{
    AUTO_BUF struct buf out = BUF(FRAME_MAX);
    append_frame(p, c, &out);
    if (!out.failed)
        put(buf_view(&out));
    return !out.failed;
}

void paint_copy(const char *text, void (*put)(struct str text))
{
    AUTO_BUF struct buf out = BUF(COPY_MAX);
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)text;
    size_t len = strlen(text);
    buf_text(&out, "\033]52;c;");
    for (size_t i = 0; i < len; i += 3) {
        unsigned value = (unsigned)at[i] << 16 | (i + 1 < len ? (unsigned)at[i + 1] << 8 : 0) | (i + 2 < len ? at[i + 2] : 0U);
        buf_char(&out, digits[value >> 18 & 63]);
        buf_char(&out, digits[value >> 12 & 63]);
        buf_char(&out, i + 1 < len ? digits[value >> 6 & 63] : '=');
        buf_char(&out, i + 2 < len ? digits[value & 63] : '=');
    }
    buf_char(&out, '\a');
    if (!out.failed)
        put(buf_view(&out));
}
