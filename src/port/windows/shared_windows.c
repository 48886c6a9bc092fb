/* SPDX-License-Identifier: Apache-2.0
 * Directories and files of several users: opened by name, then checked. Permissions are set on creation.
 */
#include "base/os/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/place.h"

bool shared_owner_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

static int make_all(const char *path, mode_t mode, struct error *err)
{
    char part[4096];
    for (size_t len = path_root(path); len <= strlen(path); len++) {
        if ((path[len] && path[len] != '/') || len >= sizeof part)
            continue;
        memcpy(part, path, len);
        part[len] = '\0';
        int made = mkdir(part, path[len] ? mode & 0755 : mode);
        if (made && errno != EEXIST && errno != EROFS && !(errno == EACCES && path[len]))
            return error_set(err, -errno, "cannot create the directory '%s': %s", path, strerror(errno));
    }
    return 0;
}

static int open_trusted(const char *path, mode_t make, bool given, struct error *err)
{
    struct stat info;
    int rc = make ? make_all(path, make, err) : 0;
    if (rc < 0)
        return rc;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set(err, -errno, "cannot open the directory '%s': %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return error_set(err, -ENOTDIR, "cannot open the directory '%s': a file is in its place", path);
    if (!given && !shared_owner_trusted(info.st_uid))
        return error_set(err, -EPERM, "'%s' belongs to another user", path);
    int opened = fd;
    fd = -1;
    return opened;
}

int shared_dir_open(const char *path, mode_t make, struct error *err)
{
    return open_trusted(path, make, false, err);
}

int shared_dir_open_given(const char *path, struct error *err)
{
    return open_trusted(path, 0, true, err);
}

int shared_dir_make(const char *path, mode_t mode, struct error *err)
{
    AUTO_CLOSE int fd = shared_dir_open(path, mode, err);
    return fd < 0 ? fd : 0;
}

int shared_file_open(int dir, const char *name, int flags, mode_t mode, struct stat *ret)
{
    AUTO_CLOSE int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode);
    if (fd < 0 || fstat(fd, ret) < 0)
        return -errno;
    if (!S_ISREG(ret->st_mode))
        return -EBADMSG;
    int opened = fd;
    fd = -1;
    return opened;
}

void shared_file_limit(const char *path, mode_t most)
{
    struct stat file;
    if (lstat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() && (file.st_mode & 0777 & ~most))
        (void)!chmod(path, file.st_mode & most);
}
