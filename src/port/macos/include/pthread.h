/* SPDX-License-Identifier: Apache-2.0
 * Waiting for the end of a thread no longer than until a moment of the wall's clock.
 */
#pragma once

#include_next <pthread.h>
#include <time.h>

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until);
