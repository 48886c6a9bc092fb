/* SPDX-License-Identifier: Apache-2.0
 * The *at() calls: they join the directory's current path and the name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/windows/internal.h"

enum { AT_PATH = 4096 };

static bool path_at(int dir, const char *name, char path[AT_PATH])
{
    wchar_t wide[WIDE_PATH];
    char folder[AT_PATH];
    if (dir == AT_FDCWD || name[0] == '/' || (name[0] && name[1] == ':'))
        return snprintf(path, AT_PATH, "%s", name) < AT_PATH;
    DWORD len = GetFinalPathNameByHandleW((HANDLE)_get_osfhandle(dir), wide, WIDE_PATH, FILE_NAME_NORMALIZED);
    errno = EBADF;
    if (len == 0 || len >= WIDE_PATH || !utf8_from(wide, folder, sizeof folder))
        return false;
    errno = ENAMETOOLONG;
    path_make_plain(folder);
    return snprintf(path, AT_PATH, strcmp(name, ".") == 0 ? "%s" : "%s/%s", folder, name) < AT_PATH;
}

int openat(int dir, const char *name, int flags, ...)
{
    char path[AT_PATH];
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    return path_at(dir, name, path) ? open(path, flags, mode) : -1;
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    char path[AT_PATH];
    return path_at(dir, name, path) ? posix_mkdir(path, mode) : -1;
}

int unlinkat(int dir, const char *name, int flags)
{
    char path[AT_PATH];
    if (!path_at(dir, name, path))
        return -1;
    return flags & AT_REMOVEDIR ? rmdir(path) : unlink(path);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    char old[AT_PATH], fresh[AT_PATH];
    return path_at(from_dir, from, old) && path_at(to_dir, to, fresh) ? rename(old, fresh) : -1;
}

int fstatat(int dir, const char *name, struct posix_stat *ret, int flags)
{
    char path[AT_PATH];
    if (!path_at(dir, name, path))
        return -1;
    return flags & AT_SYMLINK_NOFOLLOW ? posix_lstat(path, ret) : posix_stat(path, ret);
}

int faccessat(int dir, const char *name, int mode, int flags)
{
    char path[AT_PATH];
    (void)flags;
    return path_at(dir, name, path) ? access(path, mode) : -1;
}

int symlinkat(const char *target, int dir, const char *name)
{
    (void)dir;
    return symlink(target, name);
}

/* Takes ownership of the descriptor. */
struct posix_dir *fdopendir(int fd)
{
    char path[AT_PATH];
    struct posix_dir *dir = path_at(fd, ".", path) ? posix_opendir(path) : NULL;
    if (dir)
        close(fd);
    return dir;
}
