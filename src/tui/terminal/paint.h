/* SPDX-License-Identifier: Apache-2.0
 * Encodes changed cells in few bytes for a terminal: over ssh they are the cost of the view. Knows the sequences of terminal.h, but
 * no file descriptor. Curses itself sends a move and a color for each cell, and resets them after each frame.
 */
#pragma once

#include "tui/canvas.h"

struct paint_style {
    int color;           /* -1: the terminal's default */
    unsigned attributes; /* TERMINAL_... */
};

struct paint {
    bool utf8;
    bool line_feeds;                       /* a line feed only moves down */
    struct paint_style styles[TINT_COUNT]; /* by meaning */
    struct cell *shown;                    /* the screen's content; NULL: unknown */
    int width, height;
    int x, y; /* cursor; x < 0: unknown */
    struct paint_style style;
    bool styled; /* `style` is known */
};

/* Sets the colors of a theme. */
void paint_theme(struct paint *p, const char *name, bool color);
void paint_done(struct paint *p);
/* Forgets the screen's content and the cursor: the next frame is drawn in full. */
void paint_forget(struct paint *p);
/* Outputs what turns the screen into that; false: out of memory, nothing was output. */
bool paint_frame(struct paint *p, const struct canvas *c, void (*put)(struct str text));
/* Resets to plain letters, for other output. */
void paint_plain(struct paint *p, struct buf *out);
/* Copies to the terminal's clipboard (OSC 52), also over ssh and in tmux. */
void paint_copy(const char *text, void (*put)(struct str text));
