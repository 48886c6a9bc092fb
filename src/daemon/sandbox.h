/* SPDX-License-Identifier: Apache-2.0
 * A daemon that was taken over can do less: it writes only where whirr keeps things (Landlock), and cannot ask the kernel for what
 * whirr never needs (seccomp). Both are inherited by every thread and program started afterwards, and cannot be undone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/launch/outside.h"
#include "config/config.h"

struct sandbox {
    int landlock; /* version of the kernel's interface; 0: not in force */
    bool seccomp;
    char reason[256]; /* why one of them is not; "" */
};

/* Before any thread is started. `config` names the places. Programs in it that whirr is to run are run from outside, by a helper
 * that is made first (`outside`, with channel -1: there are none), because what they need is not known. Never fails: what the
 * kernel does not have is left out, and the reason is there. */
void sandbox_daemon(const struct config *config, struct outside *outside, struct sandbox *ret);
/* The first program in it that the helper does not know: "notify.NAME". false: there is none. */
bool sandbox_finds_new_program(const struct config *config, const struct outside *outside, char *name, size_t size);

/* The two halves. `places`: writing is allowed below these (or the nearest folder above that is there). The version, or -errno. */
int sandbox_writes(const char *const *places, size_t count);
int sandbox_calls(void);
