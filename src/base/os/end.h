/* SPDX-License-Identifier: Apache-2.0
 * The end of a program that is no child of ours.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { END_STATUS_UNKNOWN = -1 };

/* A handle of the running program, or -errno: -ESRCH: none has this number; -ENOSYS: this system has no such handles. */
int end_open(int32_t pid);
/* Waits for its end, at most so long: true, and sets *ret_status to its exit status as a shell counts it (128 + signal), or to
 * END_STATUS_UNKNOWN where only its parent is told. */
bool end_wait(int handle, int64_t ms, int *ret_status);
