/* SPDX-License-Identifier: Apache-2.0
 * A file that says "this is in use": held as long as a process lives, whatever becomes of it. A file that was left behind keeps
 * no process waiting.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Makes the file and holds it until the descriptor in *ret is closed. -EBUSY: another process does, *holder is its PID (0: not
 * known). Other errors: the file cannot be made, or the file system has no locks. */
int lock_take(const char *path, int *ret, pid_t *holder, struct error *err);

/* Who holds it now: true, and the PID (0: not known). */
bool lock_held(const char *path, pid_t *holder);
