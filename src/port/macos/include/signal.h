/* SPDX-License-Identifier: Apache-2.0
 * Waiting for a signal, with and without a timeout.
 */
#pragma once

#include_next <signal.h>
#include <time.h>

/* Returns the signal, or -1 with EAGAIN. `info` must be NULL. */
int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time);
int sigwaitinfo(const sigset_t *set, siginfo_t *info);
