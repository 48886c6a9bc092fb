/* SPDX-License-Identifier: Apache-2.0
 * Encodes changed cells in few bytes, because over ssh bytes are the cost of the view: curses itself sends a move and a color for
 * each cell, and resets them after each frame. Knows the sequences of terminal.h, but no file descriptor.
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
/* Writes the changes that turn the screen into that canvas; false: out of memory, nothing was written. */
bool paint_frame(struct paint *p, const struct canvas *c, void (*put)(struct str text));
/* Resets color and attributes, for other output. */
void paint_plain(struct paint *p, struct buf *out);
/* Copies to the terminal's clipboard (OSC 52), also over ssh and in tmux. */
void paint_copy(const char *text, void (*put)(struct str text));
