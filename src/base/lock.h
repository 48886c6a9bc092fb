/* SPDX-License-Identifier: Apache-2.0
 * A lock file: held as long as the process lives, however it ends. A stale file doesn't block anything.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Creates and locks the file until *ret is closed. -EBUSY: another process holds it, *holder is its PID (0: unknown). Other
 * errors: the file can't be created, or the file system has no locks. */
int lock_take(const char *path, int *ret, pid_t *holder, struct error *err);

/* Whether a process holds it, and its PID (0: unknown). */
bool lock_held(const char *path, pid_t *holder);
