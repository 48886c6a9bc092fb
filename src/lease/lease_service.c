/* SPDX-License-Identifier: Apache-2.0
 * A command's requests to whirr-control about leases of GPUs, where that decides about them (lease_broker.h).
 */
#include "lease/lease_dir.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/net.h"
#include "base/os/shared.h"
#include "lease/settings_request.h"

/* A connection to whirr-control, or -errno. */
static int link_service(void)
{
    uid_t owner;
    int fd = helper_connect();
    if (fd >= 0 && (!net_peer_user(fd, &owner) || !shared_owner_trusted(owner))) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

int lease_service_ready(struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    AUTO_CLOSE int link = r ? link_service() : -ENOMEM;
    if (link == -ENOENT || link == -ECONNREFUSED || link == -EPERM || link == -EACCES || link == -ENOSYS)
        return 0;
    if (link < 0)
        return error_set(err, link, "whirr-control, which decides about GPUs, can't be reached: %s", strerror(-link));
    r->op = REQUEST_READY;
    int passed, rc = helper_ask_fd(link, r, NULL, &passed, err);
    return rc == 0 || rc == -EBUSY ? 1 : rc == -EPERM ? 0 : rc == -ECONNRESET ? -EPIPE : rc; /* busy: it is there */
}

/* All its places are taken for a moment, or it is being started again: what was begun before is to be begun anew (-EPIPE). */
int lease_service_ask(struct lease_dir *d, enum request_op op, const char *id, struct lease *l, int *ret_fd, struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    if (op == REQUEST_BEGIN && d->link >= 0) {
        close(d->link);
        d->link = -1;
    }
    r->op = op;
    str_copy(r->id, sizeof r->id, str_from(id));
    if (l)
        r->lease = *l;
    enum { PAUSE_MS = 20, WITHIN_MS = 30000 };
    struct mono begin = clock_mono(&clock_system);
    int none;
    bool begun = d->link >= 0;
    for (;;) {
        if (d->link < 0)
            d->link = link_service();
        int rc = d->link < 0 ? error_set(err, d->link, "whirr-control can't be reached: %s", strerror(-d->link))
                             : helper_ask_fd(d->link, r, l, ret_fd ? ret_fd : &none, err);
        bool keep = rc == 0 && op == REQUEST_BEGIN;
        if (!keep && d->link >= 0) {
            close(d->link);
            d->link = -1;
        }
        bool again = rc == -EBUSY || rc == -EPIPE || rc == -ECONNRESET || rc == -ECONNREFUSED || rc == -ENOENT;
        if (rc == -ENOENT && op == REQUEST_END)
            return rc; /* there is no such lease */
        if (again && begun)
            return -EPIPE;
        if (!again || mono_since_ms(clock_mono(&clock_system), begin) >= WITHIN_MS)
            return rc;
        poll(NULL, 0, PAUSE_MS);
    }
}
