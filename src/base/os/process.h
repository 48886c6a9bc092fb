/* SPDX-License-Identifier: Apache-2.0
 * Programs that run beside this one, and are waited for with waitpid() and ended with kill(): alone, or, with its number below
 * zero, with their children.
 */
#pragma once

#include <sys/types.h>

/* A child in a process group of its own, with default signals. `in` -1: nothing to read. 0 or -errno. */
int launch_spawn(const char *const *argv, int in, int out, int diag, pid_t *ret);
/* One that keeps our terminal, so that it may ask there, reads and writes nothing else, and ends with us, however that happens. */
int launch_companion(const char *const *argv, int diag, pid_t *ret);
