/* SPDX-License-Identifier: Apache-2.0
 * Delivers samples at an interval, in the thread of the caller.
 */
#include <errno.h>
#include <string.h>

#include "lib/handle.h"

int handle_fail_at(struct whirr *w, int code, const char *what)
{
    struct error err = {0};
    error_set(&err, code, "%s: %s", what, strerror(-code));
    return handle_fail(w, &err);
}

int handle_deliver_sample(struct whirr *w, whirr_watch_fn *fn, void *user)
{
    struct whirr_sample *s;
    int rc = whirr_sample(w, &s);
    if (rc)
        return rc;
    rc = fn(user, s);
    whirr_sample_free(s);
    return rc;
}

int whirr_watch(struct whirr *w, int64_t interval_ms, whirr_watch_fn *fn, void *user)
{
    int use = handle_use(w, fn != NULL);
    if (use)
        return use;
    if (interval_ms <= 0)
        return handle_fail_at(w, -EINVAL, "the interval");
    struct mono next = clock_mono(&clock_system);
    for (;;) {
        int rc = handle_deliver_sample(w, fn, user);
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
