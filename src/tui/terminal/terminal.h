/* SPDX-License-Identifier: Apache-2.0
 * The sequences that change a terminal: as terminfo has them (curses_terminal.c), or those that every console of today knows
 * (vt_terminal.c). A program has one of the two. Knows nothing of what is drawn.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Attributes of letters, besides their color. */
enum { TERMINAL_REVERSE = 1, TERMINAL_BOLD = 2, TERMINAL_DIM = 4 };

void terminal_plain(struct buf *out); /* neither color nor attributes */
void terminal_clear(struct buf *out);
void terminal_attributes(struct buf *out, unsigned attributes); /* besides those that are set */
unsigned terminal_never_with_color(void);                       /* what cannot be shown together with one */

/* How many colors there are; beyond 256 a color is 0xrrggbb. */
int terminal_colors(void);
void terminal_color(struct buf *out, int color);

void terminal_place(struct buf *out, int x, int y);
bool terminal_row(struct buf *out, int y); /* the column stays; false: it can't */
bool terminal_column(struct buf *out, int x);
bool terminal_scrolls_at_corner(void); /* a letter in the last corner moves everything up */
