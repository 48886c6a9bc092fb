/* SPDX-License-Identifier: Apache-2.0
 * Threads, and waiting for the end of one until a moment.
 */
#pragma once

#include_next <pthread.h>

int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *until);
