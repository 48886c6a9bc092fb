/* SPDX-License-Identifier: Apache-2.0
 * flock() on a file that contains the holder's PID. Not fcntl(), which drops the lock when any descriptor of the file is closed.
 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { PID_TEXT = 32 };

static pid_t read_holder(int fd)
{
    char text[PID_TEXT];
    int64_t pid;
    ssize_t len = pread(fd, text, sizeof text, 0);
    return len > 0 && str_to_i64(str_trim((struct str){text, (size_t)len}), &pid) && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

int lock_take(const char *path, int *ret, pid_t *holder, struct error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        int code = errno == EWOULDBLOCK ? -EBUSY : -errno;
        *holder = code == -EBUSY ? read_holder(fd) : 0;
        return error_set(err, code, "cannot lock '%s': %s", path, strerror(-code));
    }
    char text[PID_TEXT];
    int len = snprintf(text, sizeof text, "%d\n", (int)getpid());
    /* The PID is informational; the lock works without it. */
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, text, (size_t)len, 0);
    *ret = fd;
    fd = -1;
    return 0;
}

bool lock_held(const char *path, pid_t *holder)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *holder = 0;
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return false;
    *holder = read_holder(fd);
    return true;
}
