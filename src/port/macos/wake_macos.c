/* SPDX-License-Identifier: Apache-2.0
 * A pipe.
 */
#include "base/os/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int wake_open(struct wake *w)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    *w = (struct wake){.in = ends[0], .out = ends[1]};
    return 0;
}

void wake_close(struct wake *w)
{
    close(w->in);
    close(w->out);
}

/* A full pipe is readable already. */
void wake_set(struct wake *w)
{
    (void)!write(w->out, "", 1);
}

void wake_clear(struct wake *w)
{
    char ignored[64];
    while (read(w->in, ignored, sizeof ignored) > 0)
        ;
}

int wake_fd(struct wake *w)
{
    return w->in;
}
