/* SPDX-License-Identifier: Apache-2.0
 * A console as a screen: what is typed and clicked, in plain numbers, and text in UTF-8. Knows no meaning of keys. A test may stand
 * in for it on any system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum console_event_kind { CONSOLE_NOTHING, CONSOLE_KEY, CONSOLE_MOUSE, CONSOLE_RESIZED };

struct console_event {
    enum console_event_kind kind;
    unsigned key;  /* virtual-key code of a key that went down */
    unsigned unit; /* the unit of UTF-16 that it types; 0: none */
    bool shift;
    bool pressed, moved; /* of the left button */
    int wheel;           /* away from the user: positive */
    int x, y;            /* in the window */
};

/* A place of a console that takes no sequences. */
struct console_cell {
    unsigned glyph; /* 0: the right half of the one before, which is wide */
    int color;      /* 0 to 15, as terminals count them; -1: the console's own */
    bool reverse;
};

enum console_kind { CONSOLE_SEQUENCES, CONSOLE_CELLS /* before Windows 10, the "legacy console", Wine */ };

/* A console_kind, or -ENOTTY: input and output are no console. Whatever ends the program, console_end() is done. */
int console_begin(bool mouse, const char *restore);
/* Writes `restore`, and sets all as it was. */
void console_end(void);
void console_write(const char *text, size_t len);
/* All of the window, on a console of cells. */
void console_show(const struct console_cell *cells, int width, int height);
/* Until there is input, or one of these sockets (-1: none) is readable. false: the console has gone. */
bool console_wait(const int *sockets, size_t count, int timeout_ms);
/* The next one that is there; never waits. */
struct console_event console_next(void);
size_t console_pending(void); /* how many are there */
