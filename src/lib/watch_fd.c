/* SPDX-License-Identifier: Apache-2.0
 * A timer descriptor for the program's own event loop.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/handle.h"

int whirr_watch_fd(struct whirr *w, int64_t interval_ms)
{
    int use = handle_use(w, true);
    if (use)
        return use;
    if (interval_ms < 0)
        return handle_fail_at(w, -EINVAL, "the interval");
    if (interval_ms == 0) {
        if (w->timer >= 0)
            close(w->timer);
        w->timer = -1;
        return 0;
    }
    if (w->timer < 0)
        w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    const struct timespec every = {interval_ms / MS_PER_S, interval_ms % MS_PER_S * (NS_PER_MS)};
    /* The first sample is due at once. */
    const struct itimerspec timer = {.it_interval = every, .it_value = {.tv_nsec = 1}};
    if (w->timer < 0 || timerfd_settime(w->timer, 0, &timer, NULL))
        return handle_fail_at(w, -errno, "cannot start a timer");
    return w->timer;
}

int whirr_watch_dispatch(struct whirr *w, whirr_watch_fn *fn, void *user)
{
    uint64_t due;
    int use = handle_use(w, fn != NULL);
    if (use)
        return use;
    if (w->timer < 0)
        return handle_fail_at(w, -EBADF, "nothing is watched (whirr_watch_fd)");
    if (read(w->timer, &due, sizeof due) != sizeof due)
        return errno == EAGAIN ? 0 : handle_fail_at(w, -errno, "cannot read the timer");
    return handle_deliver_sample(w, fn, user);
}
