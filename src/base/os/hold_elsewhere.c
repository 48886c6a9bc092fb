/* SPDX-License-Identifier: Apache-2.0
 * Replaces linux/hold.c on systems that have only flock().
 */
#include <errno.h>
#include <sys/file.h>

#include "base/os/shared.h"

int file_hold(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

bool file_is_held(int fd)
{
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!held)
        flock(fd, LOCK_UN);
    return held;
}

int file_hold_reading(int fd)
{
    return file_hold(fd);
}

bool file_is_held_at_all(int fd)
{
    return file_is_held(fd);
}

int32_t file_locker(int fd)
{
    (void)fd;
    return 0;
}
