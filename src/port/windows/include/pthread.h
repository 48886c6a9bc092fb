/* SPDX-License-Identifier: Apache-2.0
 * Threads, and joining one with a deadline.
 */
#pragma once

#include_next <pthread.h>

int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *until);
