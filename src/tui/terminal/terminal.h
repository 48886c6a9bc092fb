/* SPDX-License-Identifier: Apache-2.0
 * The control sequences of a terminal: from terminfo (curses_terminal.c), or those that every modern console knows (vt_terminal.c).
 * A program contains one of the two. Does not know what is drawn.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Text attributes besides color. */
enum { TERMINAL_REVERSE = 1, TERMINAL_BOLD = 2, TERMINAL_DIM = 4 };

void terminal_plain(struct buf *out); /* resets color and attributes */
void terminal_clear(struct buf *out);
void terminal_attributes(struct buf *out, unsigned attributes); /* adds to the present ones */
unsigned terminal_never_with_color(void);                       /* attributes that can't be combined with a color */

/* The number of colors; beyond 256 a color is 0xrrggbb. */
int terminal_colors(void);
void terminal_color(struct buf *out, int color);

void terminal_place(struct buf *out, int x, int y);
bool terminal_row(struct buf *out, int y); /* keeps the column; false: not supported */
bool terminal_column(struct buf *out, int x);
bool terminal_scrolls_at_corner(void); /* writing to the last corner scrolls the screen */
