/* SPDX-License-Identifier: Apache-2.0
 * An eventfd.
 */
#include "base/os/wake.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int wake_open(struct wake *w)
{
    *w = (struct wake){.in = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .out = -1};
    return w->in < 0 ? -errno : 0;
}

void wake_close(struct wake *w)
{
    close(w->in);
}

void wake_set(struct wake *w)
{
    eventfd_write(w->in, 1);
}

void wake_clear(struct wake *w)
{
    eventfd_t ignored;
    eventfd_read(w->in, &ignored);
}

int wake_fd(struct wake *w)
{
    return w->in;
}
