/* SPDX-License-Identifier: Apache-2.0
 * Waiting for other threads until a moment of the monotonic clock: what a clock of the wall does must not end or prolong it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"

/* For condition_wait_until. */
void condition_init(pthread_cond_t *condition);
/* false: the moment has come. */
bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until);
