/* SPDX-License-Identifier: Apache-2.0
 * Waiting for a signal, also no longer than a time.
 */
#pragma once

#include_next <signal.h>
#include <time.h>

/* The signal, or -1 and EAGAIN. `info` is not filled in: NULL. */
int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time);
int sigwaitinfo(const sigset_t *set, siginfo_t *info);
