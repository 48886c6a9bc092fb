/* SPDX-License-Identifier: Apache-2.0
 * Condition waits with a relative timeout, so that only the monotonic clock matters.
 */
#include "base/os/thread.h"

#include "base/cleanup.h"

void condition_init(pthread_cond_t *condition)
{
    pthread_cond_init(condition, NULL);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until)
{
    int64_t left = MAX_OF(until.ns - clock_mono(&clock_system).ns, (int64_t)0);
    const struct timespec time = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
    return pthread_cond_timedwait_relative_np(condition, lock, &time) == 0;
}
