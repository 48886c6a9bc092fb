/* SPDX-License-Identifier: Apache-2.0
 * Reading from a terminal.
 */
#include "cli/notify/person.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"

enum { LINE_MAX_SIZE = 2048 };

bool person_is_there(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static bool person_read_line(char *to, size_t size)
{
    char line[LINE_MAX_SIZE];
    if (!fgets(line, sizeof line, stdin))
        return false;
    str_copy(to, size, str_trim(str_from(line)));
    return true;
}

bool person_line(const char *question, const char *fallback, char *to, size_t size)
{
    fprintf(stderr, fallback[0] ? "%s [%s]: " : "%s: ", question, fallback);
    fflush(stderr);
    if (!person_read_line(to, size))
        return false;
    if (!to[0])
        str_copy(to, size, str_from(fallback));
    return true;
}

bool person_secret(const char *question, char *to, size_t size)
{
    struct termios before, hidden;
    bool changed = tcgetattr(STDIN_FILENO, &before) == 0;
    hidden = before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    changed = changed && tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0;
    fprintf(stderr, "%s (not shown): ", question);
    fflush(stderr);
    bool read = person_read_line(to, size);
    if (changed)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    fputc('\n', stderr);
    return read;
}

bool person_agrees(const char *question, bool fallback)
{
    char answer[16];
    if (!person_line(question, fallback ? "Y/n" : "y/N", answer, sizeof answer))
        return false;
    if (strcmp(answer, "Y/n") == 0 || strcmp(answer, "y/N") == 0)
        return fallback;
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}
