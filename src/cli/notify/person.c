/* SPDX-License-Identifier: Apache-2.0
 * Reading from a terminal.
 */
#include "cli/notify/person.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/os/console.h"
#include "base/str.h"

enum { LINE_MAX_SIZE = 2048 };

bool person_is_there(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* With a prompt, nothing of the answer is shown. */
static bool person_read_line(const char *prompt, char *to, size_t size)
{
    char line[LINE_MAX_SIZE];
    if (!(prompt ? console_secret(prompt, line, sizeof line) : console_line(line, sizeof line)))
        return false;
    str_copy(to, size, str_trim(str_from(line)));
    return true;
}

bool person_line(const char *question, const char *fallback, char *to, size_t size)
{
    fprintf(stderr, fallback[0] ? "%s [%s]: " : "%s: ", question, fallback);
    fflush(stderr);
    if (!person_read_line(NULL, to, size))
        return false;
    if (!to[0])
        str_copy(to, size, str_from(fallback));
    return true;
}

bool person_secret(const char *question, char *to, size_t size)
{
    char prompt[256];
    snprintf(prompt, sizeof prompt, "%s (not shown): ", question);
    bool read = person_read_line(prompt, to, size);
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
