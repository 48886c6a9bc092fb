/* SPDX-License-Identifier: Apache-2.0
 * Conditions that go by CLOCK_MONOTONIC.
 */
#include "base/os/thread.h"

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until)
{
    const struct timespec at = {.tv_sec = until.ns / NS_PER_S, .tv_nsec = until.ns % NS_PER_S};
    return pthread_cond_timedwait(condition, lock, &at) == 0;
}
