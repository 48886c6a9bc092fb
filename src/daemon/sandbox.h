/* SPDX-License-Identifier: Apache-2.0
 * Limits what a compromised daemon can do: it can write only where whirr stores data (Landlock), and can't make system calls that
 * whirr never needs (seccomp). Every thread and program started afterwards inherits both, irrevocably.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/launch/outside.h"
#include "config/config.h"

struct sandbox {
    int landlock; /* ABI version of the kernel; 0: not in force */
    bool seccomp;
    char reason[256]; /* why one is missing, or "" */
};

/* Call before starting threads. `config` names the directories. Configured programs run outside of the sandbox, since their
 * needs are unknown, through a helper that is started first (`outside`; channel -1: there are none). Never fails: skips what the
 * kernel lacks and sets the reason. */
void sandbox_daemon(const struct config *config, struct outside *outside, struct sandbox *ret);
/* The first configured program that the helper does not know: "notify.NAME"; false: none. */
bool sandbox_finds_new_program(const struct config *config, const struct outside *outside, char *name, size_t size);

/* The two halves. `places`: writing is allowed below these (or the nearest existing parents). Returns the version, or -errno. */
int sandbox_writes(const char *const *places, size_t count);
int sandbox_calls(void);

/* For a process with capabilities (started by root): keeps those for other users' processes, counters, the kernel log, files and
 * low ports, and drops the rest. Call before starting threads: each has its own set. Returns how many were dropped, or -errno.
 * Does not affect programs that it runs. */
int privileges_drop(void);
