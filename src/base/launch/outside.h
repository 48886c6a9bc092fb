/* SPDX-License-Identifier: Apache-2.0
 * Programs for a process that confines itself: a helper that was made before runs them, and is not confined. It runs the command
 * lines that it was made with and no others, so that one who takes over the confined process gains nothing but their input.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct outside {
    int channel; /* to the helper */
    pid_t helper;
    const char *const *const *commands; /* each ends with NULL; borrowed until the end */
    size_t count;
};

/* Before any thread is started. 0 or -errno. */
int outside_start(struct outside *o, const char *const *const *commands, size_t count);
/* Ends the helper; programs that still run are left to themselves. */
void outside_stop(struct outside *o);

/* Which of its commands this is; -1: none. */
int outside_find(const struct outside *o, const char *const *argv);
/* Starts it with these descriptors; `in` -1: nothing to read. Its control, to be closed, or -errno. */
int outside_run(const struct outside *o, int which, int in, int out, int diag);
/* 1: it has ended, with this status; 0: not yet; -errno: the helper is gone. */
int outside_ended(int control, int *status);
void outside_kill(int control); /* with its children */
