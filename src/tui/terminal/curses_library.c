/* SPDX-License-Identifier: Apache-2.0
 * Finds ncurses and the symbols that are needed.
 */
#define CURSES_WITHOUT_NAMES
#include "tui/terminal/curses_library.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/env.h"

struct curses_library curses;

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {#name, &curses.name},
    CURSES_FUNCTIONS(SYMBOL)
#undef SYMBOL
        {"tputs", &curses.tputs},
    {"set_escdelay", &curses.set_escdelay, .optional = true},
    {"use_tioctl", &curses.use_tioctl, .optional = true},
    {"stdscr", &curses.screen},
    {"curscr", &curses.current},
    {"COLORS", &curses.colors},
    {"cur_term", &curses.terminal},
};

int curses_load(struct error *err)
{
    struct error why = {0};
    void *library = library_load("libncursesw.so.6", &why);
    if (!library || library_symbols(library, symbols, ARRAY_LEN(symbols), &why) < 0)
        return error_set(err, -ENOSYS, "needs ncurses 6.1 or later (Debian: libncursesw6): %s", why.text);
    return 0;
}
