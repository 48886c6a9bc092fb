/* SPDX-License-Identifier: Apache-2.0
 * Replaces log_journal.c and launch/outside.c on systems without a systemd journal, where processes don't confine themselves.
 */
#include <errno.h>

#include "base/launch/outside.h"
#include "base/log.h"

void log_journal_socket(const char *path)
{
    (void)path;
}

bool log_journal(enum log_level level, const char *text, const char *message, const struct log_field *fields)
{
    (void)level;
    (void)text;
    (void)message;
    (void)fields;
    return false;
}

int outside_start(struct outside *o, const char *const *const *commands, size_t count)
{
    *o = (struct outside){.channel = -1};
    (void)commands;
    (void)count;
    return -ENOSYS;
}

void outside_stop(struct outside *o)
{
    (void)o;
}

/* No helper: this process starts programs itself. */
int outside_find(const struct outside *o, const char *const *argv)
{
    (void)o;
    (void)argv;
    return -1;
}

int outside_run(const struct outside *o, int which, int in, int out, int diag)
{
    (void)o;
    (void)which;
    (void)in;
    (void)out;
    (void)diag;
    return -ENOSYS;
}

int outside_ended(int control, int *status)
{
    (void)control;
    (void)status;
    return -ENOSYS;
}

void outside_kill(int control)
{
    (void)control;
}
