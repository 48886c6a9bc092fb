/* SPDX-License-Identifier: Apache-2.0
 * Cells that changed, as few bytes for a terminal: over ssh they are what the view costs. Knows the
 * sequences of terminal.h, no file descriptor. Curses itself sends a move and a color for each cell, and resets them after each
 * frame.
 */
#pragma once

#include "tui/canvas.h"

struct paint_style {
    int color;           /* -1: the terminal's own */
    unsigned attributes; /* TERMINAL_... */
};

struct paint {
    bool utf8;
    bool line_feeds;                       /* a line feed moves down and nowhere else */
    struct paint_style styles[TINT_COUNT]; /* of meanings */
    struct cell *shown;                    /* what is on the screen; NULL: not known */
    int width, height;
    int x, y; /* of the cursor; x < 0: not known */
    struct paint_style style;
    bool styled; /* `style` is known */
};

/* The colors of meanings. */
void paint_theme(struct paint *p, const char *name, bool color);
void paint_done(struct paint *p);
/* What is on the screen is not known any more, nor where the cursor is: the next frame is drawn whole. */
void paint_forget(struct paint *p);
/* Puts out what turns the screen into that; false: out of memory, nothing was put out. */
bool paint_frame(struct paint *p, const struct canvas *c, void (*put)(struct str text));
/* Back to plain letters, for the next text. */
void paint_plain(struct paint *p, struct buf *out);
/* Into the clipboard of the terminal (OSC 52), also over ssh and in tmux. */
void paint_copy(const char *text, void (*put)(struct str text));
