/* SPDX-License-Identifier: Apache-2.0
 * Replaces watch.c on systems without directory notifications, where waiters poll, and without whirr-control.
 */
#include <errno.h>
#include <unistd.h>

#include "lease/control_request.h"
#include "lease/lease_dir.h"

int lease_dir_watch(const struct lease_dir *d)
{
    (void)d;
    return -ENOSYS;
}

int lease_file_watch(int fd)
{
    (void)fd;
    return -ENOSYS;
}

bool lease_dir_changed(int watch)
{
    (void)watch;
    return false;
}

ssize_t helper_receive(int fd, char *byte, int *passed)
{
    (void)passed;
    return read(fd, byte, 1);
}
