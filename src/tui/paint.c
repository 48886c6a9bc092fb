/* SPDX-License-Identifier: Apache-2.0
 * The shortest moves and changes of color, from cell to cell.
 */
#include "tui/paint.h"

#include <stdlib.h>
#include <string.h>

#include <curses.h>
#include <term.h>

#include "base/cleanup.h"
#include "tui/curses_library.h"

enum { MOVES_SIZE = 64, STEPS_MAX = 6, GAP_MAX = 4 };

static struct buf *sink; /* tputs() knows no user pointer */

static int put_byte(int c)
{
    buf_char(sink, (char)c);
    return c;
}

/* With the padding that old terminals want. */
static void paint_put(struct buf *out, const char *capability)
{
    sink = out;
    if (capability)
        tputs(capability, 1, put_byte);
}

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

/* Some leave the alternate character set first, which is never entered here. */
static const char *plain(void)
{
    const char *text = exit_attribute_mode;
    return text && strncmp(text, "\033(B\033[", 5) == 0 ? text + 3 : text;
}

void paint_plain(struct paint *p, struct buf *out)
{
    paint_put(out, plain());
    p->style = (struct paint_style){.color = -1};
    p->styled = true;
}

static struct paint_style style_of(const struct paint *p, const struct cell *cell)
{
    struct paint_style style = p->styles[cell->tint < TINT_COUNT ? cell->tint : 0];
    style.attributes |=
        (cell->flags & CELL_REVERSE ? (unsigned)PAINT_REVERSE : 0) | (cell->flags & CELL_BOLD ? (unsigned)PAINT_BOLD : 0);
    return style;
}

/* Letters are all that shows a color. */
static bool is_blank(const struct cell *cell)
{
    return cell->glyph == ' ' && !(cell->flags & (CELL_REVERSE | CELL_TAIL));
}

static bool same_style(struct paint_style a, struct paint_style b)
{
    return a.color == b.color && a.attributes == b.attributes;
}

/* Whether the cell looks right in the style that is set. */
static bool has_style(const struct paint *p, const struct cell *cell)
{
    if (is_blank(cell))
        return p->styled && !(p->style.attributes & PAINT_REVERSE);
    return p->styled && same_style(style_of(p, cell), p->style);
}

static void set_style(struct paint *p, struct paint_style style, struct buf *out)
{
    enum { NCV_REVERSE = 1 << 2, NCV_DIM = 1 << 4, NCV_BOLD = 1 << 5 };
    if (!p->styled || p->style.attributes != style.attributes || style.color < 0)
        paint_plain(p, out);
    /* What a terminal cannot show together with a color. */
    int never = style.color >= 0 && no_color_video > 0 ? no_color_video : 0;
    unsigned more = style.attributes & ~p->style.attributes;
    if (more & PAINT_REVERSE && !(never & NCV_REVERSE))
        paint_put(out, enter_reverse_mode);
    if (more & PAINT_BOLD && !(never & NCV_BOLD))
        paint_put(out, enter_bold_mode);
    if (more & PAINT_DIM && !(never & NCV_DIM))
        paint_put(out, enter_dim_mode);
    if (style.color >= 0 && style.color != p->style.color && set_a_foreground)
        paint_put(out, tparm(set_a_foreground, (long)style.color, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
    p->style = style;
}

/* ---- the cursor ---- */

static void repeat(struct buf *out, const char *text, int times)
{
    for (int i = 0; i < times; i++)
        buf_text(out, text);
}

/* To a row and a column by steps or by number; false: not from here. */
static bool move_parts(const struct paint *p, int x, int y, struct buf *out)
{
    int down = y - p->y, left = p->x - x;
    if (p->x < 0)
        return false;
    if (down > 0 && down <= STEPS_MAX && p->line_feeds)
        repeat(out, "\n", down);
    else if (down != 0 && row_address)
        paint_put(out, tparm(row_address, (long)y, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
    else if (down != 0)
        return false;
    if (left > 0 && left <= STEPS_MAX)
        repeat(out, "\b", left);
    else if (left != 0 && x == 0)
        buf_char(out, '\r');
    else if (left != 0 && column_address)
        paint_put(out, tparm(column_address, (long)x, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
    else if (left != 0)
        return false;
    return true;
}

static void write_cell(struct paint *p, const struct canvas *c, const struct cell *cell, struct buf *out);

/* Over what is there anyway: a few letters are shorter than a move. */
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

static void go_to(struct paint *p, const struct canvas *c, int x, int y, struct buf *out)
{
    if ((p->x == x && p->y == y) || write_over(p, c, x, y, out))
        return;
    AUTO_BUF struct buf parts = BUF(MOVES_SIZE), whole = BUF(MOVES_SIZE);
    paint_put(&whole, tparm(cursor_address, (long)y, (long)x, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
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
    /* Terminals differ in where they are behind the last column, and in how wide some signs are. */
    if (p->x >= c->width || wide)
        p->x = -1;
}

static bool looks_same(const struct cell *a, const struct cell *b)
{
    return (is_blank(a) && is_blank(b)) || (a->glyph == b->glyph && a->tint == b->tint && a->flags == b->flags);
}

/* The corner where a terminal without the usual kindness would scroll. */
static bool is_corner(const struct canvas *c, int x, int y)
{
    return auto_right_margin && !eat_newline_glitch && x == c->width - 1 && y == c->height - 1;
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
        go_to(p, c, x, y, out);
        if (!has_style(p, cell))
            set_style(p, style_of(p, cell), out);
        write_cell(p, c, cell, out);
    }
}

static bool begin_anew(struct paint *p, const struct canvas *c, struct buf *out)
{
    p->shown = calloc((size_t)c->width * (size_t)c->height, sizeof *p->shown);
    if (!p->shown)
        return false;
    for (int i = 0; i < c->width * c->height; i++)
        p->shown[i].glyph = ' ';
    p->width = c->width;
    p->height = c->height;
    paint_plain(p, out);
    paint_put(out, clear_screen);
    p->x = p->y = 0;
    return true;
}

void paint_frame(struct paint *p, const struct canvas *c, struct buf *out)
{
    if (p->shown && (p->width != c->width || p->height != c->height))
        paint_forget(p);
    if (!p->shown && !begin_anew(p, c, out))
        return;
    /* From where the cursor is: what changed last is likely to change now. */
    int first = p->x >= 0 ? p->y : 0;
    for (int i = 0; i < c->height; i++)
        paint_row(p, c, (first + i) % c->height, out);
}
