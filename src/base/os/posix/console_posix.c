/* SPDX-License-Identifier: Apache-2.0
 * The terminal at stdin and stdout.
 */
#include "base/os/console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"

bool console_size(int *columns, int *rows)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return false;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return true;
}

/* Avoid setlocale(): it loads the locale, and says no on a UTF-8 terminal whose locale isn't installed. */
bool console_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

bool console_takes_sequences(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && term[0] && strcmp(term, "dumb") != 0;
}

ssize_t console_out(const char *text, size_t len)
{
    return write(STDOUT_FILENO, text, len);
}

bool console_line(char *line, size_t size)
{
    return fgets(line, (int)size, stdin);
}

bool console_secret(const char *prompt, char *line, size_t size)
{
    struct termios before, hidden;
    bool changed = tcgetattr(STDIN_FILENO, &before) == 0;
    hidden = before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    changed = changed && tcsetattr(STDIN_FILENO, TCSADRAIN, &hidden) == 0; // DRAIN, not FLUSH: keep what was typed ahead
    fputs(prompt, stderr);                                                 // only now: an answer to it is not echoed
    fflush(stderr);
    bool read = console_line(line, size);
    if (changed)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    return read;
}
