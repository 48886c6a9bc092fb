/* SPDX-License-Identifier: Apache-2.0
 * The terminal: a canvas in, keys, mouse and sizes out. Based on curses (curses_screen.c), or on a Windows console
 * (console_screen.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tui/canvas.h"

enum screen_event_kind { SCREEN_NOTHING, SCREEN_KEY, SCREEN_CLICK, SCREEN_DRAG, SCREEN_WHEEL_UP, SCREEN_WHEEL_DOWN, SCREEN_RESIZE };

struct screen_event {
    enum screen_event_kind kind;
    int key; /* a character, or TOP_KEY_... */
    int x, y;
};

/* Loads ncurses. Call first: only commands that need a screen load it. */
int screen_load(struct error *err);
/* -ENOTTY: stdin or stdout is not a suitable terminal. `direct`: an xterm with 16 million colors, whatever terminfo says. From
 * then on the terminal is restored however the program ends. */
int screen_open(bool utf8, bool color, bool direct, const char *theme, bool mouse);
void screen_close(void);
void screen_theme(const char *name);
void screen_size(int *width, int *height);
/* Draws the differences from the last frame. */
void screen_show(const struct canvas *c);
/* Draws everything again: after Ctrl-L, or if another program wrote over it. */
void screen_redraw(void);
/* Waits for input, a change of the terminal, or until one of these descriptors (-1: none) is readable. false: the terminal is
 * gone. */
enum { SCREEN_NEWS_MAX = 65 };
bool screen_wait(const int *news, size_t count, int timeout_ms);
/* The next available event; never blocks. */
struct screen_event screen_next(void);
/* Copies to the terminal's clipboard (OSC 52), also over ssh and in tmux. */
void screen_copy(const char *text);
/* Ctrl-Z: restores the terminal, stops, and takes it again. */
void screen_stop(void);

/* SIGINT, SIGTERM, SIGHUP or SIGQUIT arrived: time to end. */
int screen_signal(void);
bool screen_wants_stop(void); /* SIGTSTP arrived */
