/* SPDX-License-Identifier: Apache-2.0
 * Replaces watch.c on systems without directory notifications: waiters poll.
 */
#include <errno.h>

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
