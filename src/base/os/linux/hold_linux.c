/* SPDX-License-Identifier: Apache-2.0
 * An open file description lock for writing: unlike flock(), the kernel grants it only on a file opened for writing, so users with
 * read access can neither take nor block it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/os/shared.h"

int file_hold(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    /* Also take the flock() that earlier versions check. */
    return flock(fd, LOCK_EX | LOCK_NB) < 0 || fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
}

bool file_is_held(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_WRLCK;
}

int file_hold_reading(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
}

bool file_is_held_at_all(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

/* "12: FLOCK  ADVISORY  WRITE 4711 00:2d:1234 0 EOF"; waiters follow as "12: -> FLOCK ...". */
int32_t file_locker(int fd)
{
    struct stat file;
    char line[256];
    AUTO_FCLOSE FILE *locks = fstat(fd, &file) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && fgets(line, sizeof line, locks)) {
        int pid;
        unsigned major_number, minor_number;
        unsigned long long inode;
        if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major_number, &minor_number, &inode) == 4 && pid > 0 &&
            inode == file.st_ino && makedev(major_number, minor_number) == file.st_dev)
            return pid;
    }
    return 0;
}
