/* SPDX-License-Identifier: Apache-2.0
 * Child processes, reaped with waitpid() and ended with kill(): with a negative PID including their children.
 */
#pragma once

#include <sys/types.h>

/* Starts a child in its own process group with default signals. `in` -1: no input. 0 or -errno. */
int launch_spawn(const char *const *argv, int in, int out, int diag, pid_t *ret);
/* Starts a child that keeps our terminal to ask there, has no other input or output, and ends with us, however we end. */
int launch_companion(const char *const *argv, int diag, pid_t *ret);
