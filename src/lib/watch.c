/* SPDX-License-Identifier: Apache-2.0
 * Samples in the rhythm of a timer: one that is waited for here, or one that a program's own loop waits for.
 */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/handle.h"

static int watch_fail(struct whirr *w, int code, const char *what)
{
    struct error err = {0};
    error_set(&err, code, "%s: %s", what, strerror(-code));
    return handle_fail(w, &err);
}

int whirr_watch_fd(struct whirr *w, int64_t interval_ms)
{
    if (interval_ms < 0)
        return watch_fail(w, -EINVAL, "the interval");
    if (interval_ms == 0) {
        if (w->timer >= 0)
            close(w->timer);
        w->timer = -1;
        return 0;
    }
    if (w->timer < 0)
        w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    const struct timespec every = {interval_ms / MS_PER_S, interval_ms % MS_PER_S * (NS_PER_MS)};
    /* The first one is due at once. */
    const struct itimerspec rhythm = {.it_interval = every, .it_value = {.tv_nsec = 1}};
    if (w->timer < 0 || timerfd_settime(w->timer, 0, &rhythm, NULL))
        return watch_fail(w, -errno, "cannot start a timer");
    return w->timer;
}

static int call_with_sample(struct whirr *w, whirr_watch_fn *fn, void *user)
{
    struct whirr_sample *s;
    int rc = whirr_sample(w, &s);
    if (rc)
        return rc;
    rc = fn(user, s);
    whirr_sample_free(s);
    return rc;
}

int whirr_watch_dispatch(struct whirr *w, whirr_watch_fn *fn, void *user)
{
    uint64_t due;
    if (w->timer < 0)
        return watch_fail(w, -EBADF, "nothing is watched (whirr_watch_fd)");
    if (read(w->timer, &due, sizeof due) != sizeof due)
        return errno == EAGAIN ? 0 : watch_fail(w, -errno, "cannot read the timer");
    return call_with_sample(w, fn, user);
}

int whirr_watch(struct whirr *w, int64_t interval_ms, whirr_watch_fn *fn, void *user)
{
    if (interval_ms <= 0)
        return watch_fail(w, -EINVAL, "the interval");
    struct mono next = clock_mono(&clock_system);
    for (;;) {
        int rc = call_with_sample(w, fn, user);
        if (rc)
            return rc;
        next.ns += interval_ms * NS_PER_MS;
        int64_t left_ms = mono_since_ms(next, clock_mono(&clock_system));
        if (left_ms > 0)
            pause_ms(left_ms);
        else
            next = clock_mono(&clock_system);
    }
}
