/* SPDX-License-Identifier: Apache-2.0
 * Joining a thread with a wall-clock deadline.
 */
#pragma once

#include_next <pthread.h>
#include <time.h>

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until);
