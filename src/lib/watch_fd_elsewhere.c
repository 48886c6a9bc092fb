/* SPDX-License-Identifier: Apache-2.0
 * Replaces watch_fd.c on systems without timer descriptors.
 */
#include <errno.h>

#include "lib/handle.h"

static int no_descriptor(struct whirr *w)
{
    struct error err = {0};
    error_set(&err, -ENOSYS, "no descriptor is a timer on this system; use whirr_watch() or whirr_sample()");
    return handle_fail(w, &err);
}

int whirr_watch_fd(struct whirr *w, int64_t interval_ms)
{
    int use = handle_use(w, true);
    return use || interval_ms == 0 ? use : no_descriptor(w);
}

int whirr_watch_dispatch(struct whirr *w, whirr_watch_fn *fn, void *user)
{
    (void)user;
    int use = handle_use(w, fn != NULL);
    return use ? use : no_descriptor(w);
}
