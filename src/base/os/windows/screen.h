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

/* 0, or -ENOTTY: input and output are no console that takes sequences. Whatever ends the program, console_end() is done. */
int console_begin(bool mouse, const char *restore);
/* Writes `restore`, and sets all as it was. */
void console_end(void);
void console_write(const char *text, size_t len);
/* Until there is input, or one of these sockets (-1: none) is readable. false: the console has gone. */
bool console_wait(const int *sockets, size_t count, int timeout_ms);
/* The next one that is there; never waits. */
struct console_event console_next(void);
size_t console_pending(void); /* how many are there */
