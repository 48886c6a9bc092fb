/* SPDX-License-Identifier: Apache-2.0
 * Condition waits with winpthreads' only clock, the wall clock. They wait in slices, so that setting the clock delays them by one
 * slice at most.
 */
#include "base/os/thread.h"

#include <errno.h>
#include <time.h>

enum { PIECE_MS = 1000 };

void condition_init(pthread_cond_t *condition)
{
    pthread_cond_init(condition, NULL);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until)
{
    for (;;) {
        int64_t left = until.ns - clock_mono(&clock_system).ns;
        if (left <= 0)
            return false;
        if (left > PIECE_MS * NS_PER_MS)
            left = PIECE_MS * NS_PER_MS;
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        int64_t ns = at.tv_nsec + left;
        at.tv_sec += ns / NS_PER_S;
        at.tv_nsec = (long)(ns % NS_PER_S);
        if (pthread_cond_timedwait(condition, lock, &at) == 0)
            return true;
    }
}

/* winpthreads only has a non-blocking join: poll it. */
int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *until)
{
    for (;;) {
        struct timespec now;
        int rc = _pthread_tryjoin(thread, ret);
        clock_gettime(CLOCK_REALTIME, &now);
        if (rc != EBUSY)
            return rc;
        if (now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec))
            return ETIMEDOUT;
        nanosleep(&(struct timespec){.tv_nsec = 2 * NS_PER_MS}, NULL);
    }
}
