/* SPDX-License-Identifier: Apache-2.0
 * Sequences from terminfo, which curses has opened.
 */
#include "tui/terminal/terminal.h"

#include <string.h>

#include <curses.h>
#include <term.h>

#include "tui/terminal/curses_library.h"

static struct buf *sink; /* tputs() takes no user pointer */

static int put_byte(int c)
{
    buf_char(sink, (char)c);
    return c;
}

/* Adds the padding that old terminals need. */
static void put(struct buf *out, const char *capability)
{
    sink = out;
    if (capability)
        tputs(capability, 1, put_byte);
}

/* Skips the exit from the alternate character set, which some terminals put first: it is never entered here. */
void terminal_plain(struct buf *out)
{
    const char *text = exit_attribute_mode;
    put(out, text && strncmp(text, "\033(B\033[", 5) == 0 ? text + 3 : text);
}

void terminal_clear(struct buf *out)
{
    put(out, clear_screen);
}

void terminal_attributes(struct buf *out, unsigned attributes)
{
    if (attributes & TERMINAL_REVERSE)
        put(out, enter_reverse_mode);
    if (attributes & TERMINAL_BOLD)
        put(out, enter_bold_mode);
    if (attributes & TERMINAL_DIM)
        put(out, enter_dim_mode);
}

unsigned terminal_never_with_color(void)
{
    enum { NCV_REVERSE = 1 << 2, NCV_DIM = 1 << 4, NCV_BOLD = 1 << 5 };
    int never = no_color_video > 0 ? no_color_video : 0;
    return (never & NCV_REVERSE ? (unsigned)TERMINAL_REVERSE : 0) | (never & NCV_BOLD ? (unsigned)TERMINAL_BOLD : 0) |
           (never & NCV_DIM ? (unsigned)TERMINAL_DIM : 0);
}

int terminal_colors(void)
{
    return COLORS;
}

void terminal_color(struct buf *out, int color)
{
    if (set_a_foreground)
        put(out, tparm(set_a_foreground, (long)color, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
}

void terminal_place(struct buf *out, int x, int y)
{
    put(out, tparm(cursor_address, (long)y, (long)x, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
}

bool terminal_row(struct buf *out, int y)
{
    if (row_address)
        put(out, tparm(row_address, (long)y, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
    return row_address;
}

bool terminal_column(struct buf *out, int x)
{
    if (column_address)
        put(out, tparm(column_address, (long)x, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
    return column_address;
}

bool terminal_scrolls_at_corner(void)
{
    return auto_right_margin && !eat_newline_glitch;
}
