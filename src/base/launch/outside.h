/* SPDX-License-Identifier: Apache-2.0
 * Runs programs for a process that confines itself: a helper, forked before and not confined, runs them. It runs only the command
 * lines fixed at its start, so an attacker in the confined process controls nothing but their input.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct outside {
    int channel; /* socket to the helper */
    pid_t helper;
    const char *const *const *commands; /* each NULL-terminated; borrowed until outside_stop */
    size_t count;
};

/* Call before any thread starts. 0 or -errno. */
int outside_start(struct outside *o, const char *const *const *commands, size_t count);
/* Ends the helper and abandons running programs. */
void outside_stop(struct outside *o);

/* Index of the command; -1: not one of them. */
int outside_find(const struct outside *o, const char *const *argv);
/* Starts a command with these descriptors; `in` -1: no input. Returns its control socket, which the caller closes, or -errno. */
int outside_run(const struct outside *o, int which, int in, int out, int diag);
/* 1: ended with *status; 0: still running; -errno: the helper is gone. */
int outside_ended(int control, int *status);
void outside_kill(int control); /* kills its children, too */
