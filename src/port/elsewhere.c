/* SPDX-License-Identifier: Apache-2.0
 * What only Linux has, for the other systems: descriptors that can be limited and listed from outside, handles of programs, locks
 * that readers can't take, memory to give back, the journal, and a helper outside of a confined daemon.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/launch/outside.h"
#include "base/log.h"
#include "base/os/library.h"
#include "base/os/memory.h"
#include "base/os/program.h"
#include "base/os/shared.h"
#include "port/library_names.h"

/* ---- libraries that have other names ---- */

const struct library_name *library_find(const char *name)
{
    for (const struct library_name *l = library_names; l->name; l++)
        if (strcmp(l->name, name) == 0)
            return l;
    return NULL;
}

const char *library_name(const char *name)
{
    const struct library_name *l = library_find(name);
    return l ? l->own : name;
}

const char *library_package(const char *name, const char *of_debian)
{
    const struct library_name *l = library_find(name);
    return l ? l->package : of_debian;
}

/* ---- descriptors ---- */

/* Only a process itself can lower its limit: child processes keep the raised one. */
void descriptors_lower_of(int32_t pid)
{
    (void)pid;
}

ssize_t dir_entries(int dir, void *buffer, size_t size)
{
    (void)dir, (void)buffer, (void)size;
    errno = ENOSYS;
    return -1;
}

/* ---- programs without handles ---- */

int end_open(int32_t pid)
{
    (void)pid;
    return -ENOSYS;
}

bool end_wait(int handle, int64_t ms, int *ret_status)
{
    (void)handle, (void)ms;
    *ret_status = END_STATUS_UNKNOWN;
    return false;
}

/* ---- files in use: flock() is all there is ---- */

int file_hold(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

bool file_is_held(int fd)
{
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!held)
        flock(fd, LOCK_UN);
    return held;
}

int file_hold_reading(int fd)
{
    return file_hold(fd);
}

bool file_is_held_at_all(int fd)
{
    return file_is_held(fd);
}

int32_t file_locker(int fd)
{
    (void)fd;
    return 0;
}

/* ---- memory: the system takes back by itself what isn't used ---- */

void memory_give_back(struct memory *m, const struct env *env, struct mono now)
{
    (void)m, (void)env, (void)now;
}

size_t memory_drop_files(const struct env *env)
{
    (void)env;
    return 0;
}

/* ---- the journal, and programs outside of a process that confines itself ---- */

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
