/* SPDX-License-Identifier: Apache-2.0
 * The terminal: a canvas in, keys, mouse and sizes out. On curses (curses_screen.c), or on a console of Windows
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

/* Before all others: ncurses is loaded when a screen is wanted. */
int screen_load(struct error *err);
/* -ENOTTY: stdin or stdout is no terminal that can be drawn on. `direct`: it is an
 * xterm with 16 million colors, whatever its description knows. After this the terminal is restored whatever ends the program. */
int screen_open(bool utf8, bool color, bool direct, const char *theme, bool mouse);
void screen_close(void);
void screen_theme(const char *name);
void screen_size(int *width, int *height);
/* Writes what differs from the last time. */
void screen_show(const struct canvas *c);
/* Everything anew: after Ctrl-L, or when another program wrote over it. */
void screen_redraw(void);
/* Waits until something is typed, the terminal changes or one of these descriptors (-1: none) is readable. false: the terminal has
 * gone. */
enum { SCREEN_NEWS_MAX = 65 };
bool screen_wait(const int *news, size_t count, int timeout_ms);
/* The next one that is there; never waits. */
struct screen_event screen_next(void);
/* Into the clipboard of the terminal (OSC 52), also over ssh and in tmux. */
void screen_copy(const char *text);
/* Ctrl-Z: gives the terminal back, stops, and takes it again. */
void screen_stop(void);

/* SIGINT, SIGTERM, SIGHUP, SIGQUIT came: time to end. */
int screen_signal(void);
bool screen_wants_stop(void); /* SIGTSTP came */
