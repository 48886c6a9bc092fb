/* SPDX-License-Identifier: Apache-2.0
 * A write lock of the open file: other than flock(), the kernel gives it only to who has opened the file for writing, so that users
 * who may read it can neither have it nor keep it.
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
    /* Also that of earlier versions, which look for it. */
    return flock(fd, LOCK_EX | LOCK_NB) < 0 || fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
}

bool file_is_held(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_WRLCK;
}

/* "12: FLOCK  ADVISORY  WRITE 4711 00:2d:1234 0 EOF"; those who wait for it follow as "12: -> FLOCK ...". */
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
