/* SPDX-License-Identifier: Apache-2.0
 * Resolves a path name by name, each relative to the descriptor of its parent.
 */
#include "base/os/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#ifndef O_PATH
#define O_PATH 0 /* parent directories must be readable then */
#endif

enum { UNMAPPED = 65534, NAME_SIZE = 256, WHOLE_MAP = -1 };

/* In a user namespace that maps only some users, files of all others (the host's root, for one) have this owner. The container's
 * creator put them there. */
static bool is_of_outside(uid_t owner)
{
    char map[64] = "";
    unsigned inside, outside, count;
    AUTO_CLOSE int fd = owner == UNMAPPED ? open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC) : -1;
    return fd >= 0 && read(fd, map, sizeof map - 1) > 0 && sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 &&
           count != (unsigned)WHOLE_MAP;
}

bool shared_owner_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid() || is_of_outside(owner);
}

static int say_owner(const char *path, uid_t owner, const char *what, struct error *err)
{
    struct passwd one, *who = NULL;
    char room[1024], number[16];
    if (getpwuid_r(owner, &one, room, sizeof room, &who) != 0) /* reentrant: several threads may get here */
        who = NULL;
    snprintf(number, sizeof number, "%u", (unsigned)owner);
    return error_set(err, -EPERM, "%s'%s' belongs to another user, %s", what, path, who ? who->pw_name : number);
}

/* The next component of a path; false at the end. */
static bool next_name(const char **rest, char name[NAME_SIZE])
{
    *rest += strspn(*rest, "/");
    size_t len = strcspn(*rest, "/");
    if (!len || len >= NAME_SIZE)
        return false;
    memcpy(name, *rest, len);
    name[len] = '\0';
    *rest += len;
    *rest += strspn(*rest, "/");
    return true;
}

/* Follows a symlink only if no other user can have created it. */
static int open_name(int at, const char *name, bool last)
{
    struct stat link;
    const int flags = (last ? O_RDONLY : O_PATH) | O_DIRECTORY | O_CLOEXEC;
    int fd = openat(at, name, flags | O_NOFOLLOW);
    if (fd >= 0 || (errno != ELOOP && errno != ENOTDIR))
        return fd;
    if (fstatat(at, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode) && shared_owner_trusted(link.st_uid))
        return openat(at, name, flags);
    errno = ELOOP;
    return -1;
}

/* Sets the exact mode regardless of the umask, on the open directory that we created. */
static int set_mode(int fd, mode_t mode)
{
    struct stat made;
    return fstat(fd, &made) < 0 || made.st_uid != geteuid() || fchmod(fd, mode) < 0 ? -1 : 0;
}

/* Opens the directory; `above` receives its parent. */
static int walk(const char *path, mode_t make, struct stat *above, struct error *err)
{
    const char *rest = path;
    char name[NAME_SIZE];
    if (!make && lstat(path, above) < 0 && errno == ENOENT) /* asked for with each sample, and mostly not there */
        return error_set(err, -ENOENT, "cannot open the directory '%s': %s", path, strerror(ENOENT));
    AUTO_CLOSE int at = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0 && next_name(&rest, name)) {
        bool last = !*rest, made = false;
        if (last && fstat(at, above) < 0)
            break;
        int next = open_name(at, name, last);
        if (next < 0 && errno == ENOENT && make) {
            made = mkdirat(at, name, make & 0700) == 0;
            if (!made && errno != EEXIST)
                return error_set(err, -errno, "cannot create the directory '%s': %s", path, strerror(errno));
            next = open_name(at, name, last);
        }
        if (next >= 0 && made && !last) { /* a parent: users of the last directory must be able to traverse it */
            AUTO_CLOSE int full = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
            (void)!set_mode(full, make & 0755);
        } else if (next >= 0 && made && set_mode(next, make) < 0) {
            close(next);
            next = -1;
        }
        if (next < 0)
            return error_set(err, errno == ELOOP ? -EPERM : -errno, "cannot open the directory '%s': %s", path,
                             errno == ELOOP ? "a link or a file is in its way" : strerror(errno));
        close(at);
        at = next;
    }
    if (at < 0 || *rest)
        return error_set(err, at < 0 ? -errno : -ENAMETOOLONG, "cannot open the directory '%s'", path);
    int fd = at;
    at = -1;
    return fd;
}

/* A user with write access to the parent could replace the directory. */
static bool others_write(const struct stat *dir)
{
    bool group = (dir->st_mode & S_IWGRP) && dir->st_gid != 0 && dir->st_gid != getegid();
    return ((dir->st_mode & S_IWOTH) || group) && !(dir->st_mode & S_ISVTX);
}

static int open_trusted(const char *path, mode_t make, bool given, struct error *err)
{
    struct stat above = {.st_uid = geteuid()}, info;
    AUTO_CLOSE int fd = walk(path, make, &above, err);
    if (fd < 0)
        return fd;
    if (fstat(fd, &info) < 0)
        return error_set(err, -errno, "cannot open the directory '%s': %s", path, strerror(errno));
    given &= above.st_uid == 0 && !(above.st_mode & (S_IWGRP | S_IWOTH));
    if (!given && !shared_owner_trusted(info.st_uid))
        return say_owner(path, info.st_uid, "", err);
    if (!shared_owner_trusted(above.st_uid))
        return say_owner(path, above.st_uid, "the directory above ", err);
    if (others_write(&above))
        return error_set(err, -EPERM, "all users can write the directory above '%s'", path);
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
    struct stat above;
    AUTO_CLOSE int fd = walk(path, mode, &above, err);
    return MIN_OF(fd, 0);
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
    AUTO_CLOSE int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    char opened[32];
    if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_uid != geteuid() || !(file.st_mode & 0777 & ~most))
        return;
    snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd); /* fchmod() fails on an O_PATH descriptor */
    (void)!(O_PATH ? chmod(opened, file.st_mode & most) : fchmod(fd, file.st_mode & most));
}

int shared_socket_bind(int fd, const char *path, mode_t mode)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    mode_t before = umask(0777 & ~mode);
    int rc = bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    umask(before);
    return rc;
}
