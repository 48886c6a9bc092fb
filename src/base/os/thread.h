/* SPDX-License-Identifier: Apache-2.0
 * Condition waits with a monotonic deadline: setting the wall clock must not end or prolong them.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"

/* Required for condition_wait_until. */
void condition_init(pthread_cond_t *condition);
/* False: deadline passed. */
bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until);
