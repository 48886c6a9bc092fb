/* SPDX-License-Identifier: Apache-2.0
 * VT sequences (ECMA-48) for the console of Windows 10 and later, with 16 million colors.
 */
#include "tui/terminal/terminal.h"

enum { COLORS_DIRECT = 1 << 24 };

void terminal_plain(struct buf *out)
{
    buf_text(out, "\033[m");
}

void terminal_clear(struct buf *out)
{
    buf_text(out, "\033[H\033[2J");
}

void terminal_attributes(struct buf *out, unsigned attributes)
{
    buf_text(out, attributes & TERMINAL_REVERSE ? "\033[7m" : "");
    buf_text(out, attributes & TERMINAL_BOLD ? "\033[1m" : "");
    buf_text(out, attributes & TERMINAL_DIM ? "\033[2m" : "");
}

unsigned terminal_never_with_color(void)
{
    return 0;
}

int terminal_colors(void)
{
    return COLORS_DIRECT;
}

void terminal_color(struct buf *out, int color)
{
    buf_printf(out, "\033[38;2;%d;%d;%dm", color >> 16 & 255, color >> 8 & 255, color & 255);
}

void terminal_place(struct buf *out, int x, int y)
{
    buf_printf(out, "\033[%d;%dH", y + 1, x + 1);
}

bool terminal_row(struct buf *out, int y)
{
    buf_printf(out, "\033[%dd", y + 1);
    return true;
}

bool terminal_column(struct buf *out, int x)
{
    buf_printf(out, "\033[%dG", x + 1);
    return true;
}

bool terminal_scrolls_at_corner(void)
{
    return false;
}
