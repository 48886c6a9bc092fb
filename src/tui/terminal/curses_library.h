/* SPDX-License-Identifier: Apache-2.0
 * ncurses, loaded when `whirr top` opens its screen: other commands start faster without it. This header gives the functions their
 * usual names; add new ones to the list and to the names below it. Include term.h before this header. Does not know what is drawn.
 */
#pragma once

#include <ncurses.h>

#include "base/error.h"

/* clang-format off */
#define CURSES_FUNCTIONS(X) \
    X(newterm) X(endwin) X(wrefresh) X(wget_wch) X(cbreak) X(noecho) X(nonl) X(keypad) X(nodelay) X(curs_set) X(define_key) \
    X(mousemask) X(mouseinterval) X(getmouse) X(has_colors) X(start_color) X(use_env) X(clearok) X(resize_term) X(tparm)
/* clang-format on */

struct curses_library {
#define DECLARE(name) typeof(name) *name;
    CURSES_FUNCTIONS(DECLARE)
#undef DECLARE
    int (*tputs)(const char *, int, int (*)(int)); /* declared in term.h */
    int (*set_escdelay)(int);                      /* this and the next one: NULL in ncurses 5 (macOS) */
    void (*use_tioctl)(bool);
    WINDOW **screen, **current;
    struct term **terminal;
    int *colors;
};
/* Filled by curses_load. */
extern struct curses_library curses;

int curses_load(struct error *err);

#ifndef CURSES_WITHOUT_NAMES
#define newterm curses.newterm
#define endwin curses.endwin
#define wrefresh curses.wrefresh
#define wget_wch curses.wget_wch
#define cbreak curses.cbreak
#define noecho curses.noecho
#define nonl curses.nonl
#define keypad curses.keypad
#define nodelay curses.nodelay
#define curs_set curses.curs_set
#define define_key curses.define_key
#define set_escdelay curses.set_escdelay
#define mousemask curses.mousemask
#define mouseinterval curses.mouseinterval
#define getmouse curses.getmouse
#define has_colors curses.has_colors
#define start_color curses.start_color
#define use_env curses.use_env
#define use_tioctl curses.use_tioctl
#define clearok curses.clearok
#define resize_term curses.resize_term
#define tparm curses.tparm
#define tputs curses.tputs
/* Data of the library; the macros of ncurses.h and term.h use it, too. */
#undef stdscr
#undef curscr
#undef COLORS
#define stdscr (*curses.screen)
#define curscr (*curses.current)
#define COLORS (*curses.colors)
#define cur_term (*curses.terminal)
#endif
