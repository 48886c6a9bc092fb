/* SPDX-License-Identifier: Apache-2.0
 * Finds ncurses and what is needed of it.
 */
#define CURSES_WITHOUT_NAMES
#include "tui/curses_library.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/env.h"

struct curses_library curses;

int curses_load(struct error *err)
{
    struct error why = {0};
    void *library = library_load("libncursesw.so.6", &why);
    if (!library)
        return error_set(err, -ENOSYS, "needs ncurses (Debian: libncursesw6): %s", why.text);
#define LOOK_UP(name)                           \
    if (!(curses.name = dlsym(library, #name))) \
        return error_set(err, -ENOSYS, "needs ncurses 6.1 or later: this one has no %s", #name);
    CURSES_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    curses.screen = dlsym(library, "stdscr");
    curses.current = dlsym(library, "curscr");
    curses.colors = dlsym(library, "COLORS");
    curses.terminal = dlsym(library, "cur_term");
    curses.tputs = dlsym(library, "tputs");
    if (!curses.terminal || !curses.tputs || !curses.screen || !curses.current || !curses.colors)
        return error_set(err, -ENOSYS, "needs ncurses 6.1 or later: it has no stdscr or cur_term");
    return 0;
}
