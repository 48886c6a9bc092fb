/* SPDX-License-Identifier: Apache-2.0
 * A console as a screen: keys and clicks as plain numbers, text in UTF-8. It assigns no meaning to keys. Tests can replace it on
 * any system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum console_event_kind { CONSOLE_NOTHING, CONSOLE_KEY, CONSOLE_MOUSE, CONSOLE_RESIZED };

struct console_event {
    enum console_event_kind kind;
    unsigned key;  /* virtual-key code of a pressed key */
    unsigned unit; /* the UTF-16 unit it types; 0: none */
    bool shift;
    bool pressed, moved; /* of the left button */
    int wheel;           /* positive: away from the user */
    int x, y;            /* relative to the window */
};

/* One cell of a console without escape sequences. */
struct console_cell {
    unsigned glyph; /* 0: right half of the wide character before */
    int color;      /* 0 to 15 in terminal order; -1: the console's default */
    bool reverse;
};

enum console_kind { CONSOLE_SEQUENCES, CONSOLE_CELLS /* before Windows 10, "legacy console", Wine */ };

/* A console_kind, or -ENOTTY if not a console. console_end() runs however the program ends. */
int console_begin(bool mouse, const char *restore);
/* Writes `restore` and restores the console's modes. */
void console_end(void);
void console_write(const char *text, size_t len);
/* Draws the whole window, in cell mode. */
void console_show(const struct console_cell *cells, int width, int height);
/* Waits for input or a readable socket (-1: none). False: the console is gone. */
bool console_wait(const int *sockets, size_t count, int timeout_ms);
/* The next pending event; never blocks. */
struct console_event console_next(void);
size_t console_pending(void); /* number of pending events */
