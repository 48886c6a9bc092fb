/* SPDX-License-Identifier: Apache-2.0
 * Files and directories with UTF-8 names and POSIX semantics: never text mode, rename replaces, removing works while others read.
 * open(), fopen(), rename(), remove(), unlink(), rmdir() and access() replace the C library's, with the same types.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <wchar.h>

#include "port/windows/internal.h"
#include "port/windows/rights_windows.h"

#include <bcrypt.h>

enum { REPLACE_TRIES = 50, REPLACE_PAUSE_MS = 10, ANY_MODE = 0666 };

/* ---- opening ---- */

static DWORD disposition(int flags)
{
    if (flags & O_CREAT)
        return flags & O_EXCL ? CREATE_NEW : flags & O_TRUNC ? CREATE_ALWAYS : OPEN_ALWAYS;
    return flags & O_TRUNC ? TRUNCATE_EXISTING : OPEN_EXISTING;
}

/* Deduplicated, compressed and cloud files are reparse points, too, but not links. */
static bool is_link(const wchar_t *path)
{
    FILE_ATTRIBUTE_TAG_INFO mark = {.ReparseTag = IO_REPARSE_TAG_SYMLINK};
    DWORD attributes = GetFileAttributesW(path);
    if (attributes == INVALID_FILE_ATTRIBUTES || !(attributes & FILE_ATTRIBUTE_REPARSE_POINT))
        return false;
    HANDLE file = CreateFileW(path, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file != INVALID_HANDLE_VALUE) {
        GetFileInformationByHandleEx(file, FileAttributeTagInfo, &mark, sizeof mark);
        CloseHandle(file);
    }
    return mark.ReparseTag == IO_REPARSE_TAG_SYMLINK || mark.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT;
}

/* Share everything, as POSIX does: others may read, write and remove the file meanwhile. */
static int open_wide(const wchar_t *path, int flags, mode_t mode)
{
    DWORD access = flags & O_RDWR ? GENERIC_READ | GENERIC_WRITE : flags & O_WRONLY ? GENERIC_WRITE : GENERIC_READ;
    if ((flags & O_NOFOLLOW) && is_link(path)) {
        errno = ELOOP;
        return -1;
    }
    SECURITY_ATTRIBUTES *rights = flags & O_CREAT ? rights_new(mode, false) : NULL;
    HANDLE file = CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, rights, disposition(flags),
                              FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS, NULL);
    rights_free(rights);
    if (file == INVALID_HANDLE_VALUE)
        return fail_with(GetLastError());
    int fd = _open_osfhandle((intptr_t)file, (flags & (O_APPEND | O_RDWR | O_WRONLY)) | _O_BINARY | _O_NOINHERIT);
    if (fd < 0)
        CloseHandle(file);
    return fd;
}

int open(const char *path, int flags, ...)
{
    wchar_t wide[WIDE_PATH];
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(more, int) : 0;
    va_end(more);
    return wide_path(path, wide) ? open_wide(wide, flags, mode) : -1;
}

FILE *fopen(const char *path, const char *mode)
{
    bool plus = strchr(mode, '+');
    int flags = plus ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
    if (mode[0] != 'r')
        flags |= O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND) | (strchr(mode, 'x') ? O_EXCL : 0);
    int fd = open(path, flags, ANY_MODE);
    if (fd < 0)
        return NULL;
    const char plain[] = {mode[0], 'b', plus ? '+' : '\0', '\0'};
    FILE *file = _fdopen(fd, plain);
    if (!file)
        close(fd);
    return file;
}

/* Files never block and are never inherited: nothing to set. */
int fcntl(int fd, int command, ...)
{
    (void)fd;
    return command == F_SETFD || command == F_SETFL || command == F_GETFL || command == F_GETFD ? 0 : (errno = EINVAL, -1);
}

/* ---- names ---- */

/* Retries while another program briefly has the target open. */
int rename(const char *from, const char *to)
{
    wchar_t old[WIDE_PATH], fresh[WIDE_PATH];
    if (!wide_path(from, old) || !wide_path(to, fresh))
        return -1;
    for (int i = 0; !MoveFileExW(old, fresh, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH); i++) {
        DWORD error = GetLastError();
        if ((error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION) || i == REPLACE_TRIES)
            return fail_with(error);
        Sleep(REPLACE_PAUSE_MS);
    }
    return 0;
}

int unlink(const char *path)
{
    wchar_t wide[WIDE_PATH];
    return !wide_path(path, wide) ? -1 : DeleteFileW(wide) ? 0 : fail_with(GetLastError());
}

int rmdir(const char *path)
{
    wchar_t wide[WIDE_PATH];
    return !wide_path(path, wide) ? -1 : RemoveDirectoryW(wide) ? 0 : fail_with(GetLastError());
}

int remove(const char *path)
{
    return unlink(path) == 0 ? 0 : rmdir(path);
}

int posix_mkdir(const char *path, mode_t mode)
{
    wchar_t wide[WIDE_PATH];
    if (!wide_path(path, wide))
        return -1;
    SECURITY_ATTRIBUTES *rights = rights_new(mode, true);
    BOOL made = CreateDirectoryW(wide, rights);
    rights_free(rights);
    return made ? 0 : fail_with(GetLastError());
}

int chmod(const char *path, int mode)
{
    wchar_t wide[WIDE_PATH];
    return wide_path(path, wide) ? rights_set(wide, (mode_t)mode) : -1;
}

/* By name: a handle opened for writing may not change permissions. */
int fchmod(int fd, mode_t mode)
{
    wchar_t wide[WIDE_PATH];
    DWORD len = GetFinalPathNameByHandleW((HANDLE)_get_osfhandle(fd), wide, WIDE_PATH, FILE_NAME_NORMALIZED);
    return len && len < WIDE_PATH ? rights_set(wide, mode) : (errno = EBADF, -1);
}

int fchown(int fd, uid_t user, gid_t group)
{
    (void)fd;
    (void)user;
    (void)group;
    return 0;
}

int access(const char *path, int mode)
{
    wchar_t wide[WIDE_PATH];
    if (!wide_path(path, wide))
        return -1;
    DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES)
        return fail_with(GetLastError());
    bool read_only = (attributes & FILE_ATTRIBUTE_READONLY) && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
    return (mode & W_OK) && read_only ? (errno = EACCES, -1) : 0;
}

char *realpath(const char *path, char *resolved)
{
    wchar_t wide[WIDE_PATH], whole[WIDE_PATH];
    char *to = resolved ? resolved : malloc(WIDE_PATH);
    bool good = to && wide_path(path, wide) && access(path, F_OK) == 0 && GetFullPathNameW(wide, WIDE_PATH, whole, NULL) > 0 &&
                utf8_from(whole, to, resolved ? PATH_MAX : WIDE_PATH);
    if (good)
        path_make_plain(to);
    for (char *c = to; good && *c; c++)
        if (*c == '\\')
            *c = '/';
    if (!good && !resolved)
        free(to);
    return good ? to : NULL;
}

ssize_t readlink(const char *path, char *target, size_t size)
{
    (void)target;
    (void)size;
    errno = access(path, F_OK) == 0 ? EINVAL : ENOENT;
    return -1;
}

int link(const char *path, const char *fresh)
{
    wchar_t old[WIDE_PATH], other[WIDE_PATH];
    if (!wide_path(path, old) || !wide_path(fresh, other))
        return -1;
    return CreateHardLinkW(other, old, NULL) ? 0 : fail_with(GetLastError());
}

int symlink(const char *target, const char *path)
{
    (void)target;
    (void)path;
    errno = EPERM;
    return -1;
}

/* Replaces the six letters with an unused name. */
static bool name_anew(char *pattern)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[6];
    size_t len = strlen(pattern);
    if (len < sizeof random || getrandom(random, sizeof random, 0) < 0)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        pattern[len - sizeof random + i] = letters[random[i] % 32];
    return true;
}

char *mkdtemp(char *pattern)
{
    for (int tries = 0; tries < REPLACE_TRIES && name_anew(pattern); tries++) {
        if (posix_mkdir(pattern, 0700) == 0)
            return pattern;
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

int mkostemp(char *pattern, int flags)
{
    for (int tries = 0; tries < REPLACE_TRIES && name_anew(pattern); tries++) {
        int fd = open(pattern, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Replaces the C library's, whose files no other call can open. */
int mkstemp(char *pattern)
{
    return mkostemp(pattern, 0);
}

/* ---- file attributes ---- */

static struct timespec time_from(FILETIME t)
{
    const int64_t epoch = 116444736000000000; /* 1970 in units of 100 ns since 1601 */
    int64_t ticks = ((int64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) - epoch;
    return (struct timespec){.tv_sec = ticks / 10000000, .tv_nsec = (long)(ticks % 10000000 * 100)};
}

static int stat_handle(HANDLE file, struct posix_stat *ret)
{
    BY_HANDLE_FILE_INFORMATION info;
    *ret = (struct posix_stat){.st_uid = user_number(), .st_gid = user_number(), .st_nlink = 1};
    if (GetFileType(file) != FILE_TYPE_DISK) {
        ret->st_mode = (GetFileType(file) == FILE_TYPE_CHAR ? S_IFCHR : S_IFIFO) | 0600;
        return 0;
    }
    if (!GetFileInformationByHandle(file, &info))
        return fail_with(GetLastError());
    bool folder = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    ret->st_mode = folder ? S_IFDIR | 0700 : S_IFREG | (info.dwFileAttributes & FILE_ATTRIBUTE_READONLY ? 0400 : 0600);
    ret->st_dev = info.dwVolumeSerialNumber;
    ret->st_ino = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    ret->st_nlink = info.nNumberOfLinks;
    ret->st_size = (int64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    ret->st_blocks = (ret->st_size + 511) / 512;
    ret->st_atim = time_from(info.ftLastAccessTime);
    ret->st_mtim = time_from(info.ftLastWriteTime);
    ret->st_ctim = ret->st_mtim;
    rights_read(file, ret);
    return 0;
}

int posix_fstat(int fd, struct posix_stat *ret)
{
    HANDLE file = (HANDLE)_get_osfhandle(fd);
    return file == INVALID_HANDLE_VALUE ? (errno = EBADF, -1) : stat_handle(file, ret);
}

static HANDLE open_to_look(const wchar_t *path, DWORD access)
{
    return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                       FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

int posix_stat(const char *path, struct posix_stat *ret)
{
    wchar_t wide[WIDE_PATH];
    if (!wide_path(path, wide))
        return -1;
    /* A file that hides its permissions still reveals the rest. */
    HANDLE file = open_to_look(wide, FILE_READ_ATTRIBUTES | READ_CONTROL);
    if (file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_ACCESS_DENIED)
        file = open_to_look(wide, FILE_READ_ATTRIBUTES);
    if (file == INVALID_HANDLE_VALUE)
        return fail_with(GetLastError());
    int rc = stat_handle(file, ret);
    CloseHandle(file);
    return rc;
}

int posix_lstat(const char *path, struct posix_stat *ret)
{
    wchar_t wide[WIDE_PATH];
    int rc = posix_stat(path, ret);
    if (rc == 0 && wide_path(path, wide) && is_link(wide))
        ret->st_mode = S_IFLNK | 0700;
    return rc;
}

int statvfs(const char *path, struct statvfs *ret)
{
    wchar_t wide[WIDE_PATH];
    ULARGE_INTEGER free_to_us, all, free_in_all;
    if (!wide_path(path, wide))
        return -1;
    if (!GetDiskFreeSpaceExW(wide, &free_to_us, &all, &free_in_all))
        return fail_with(GetLastError());
    *ret = (struct statvfs){
        .f_bsize = 1, .f_frsize = 1, .f_blocks = all.QuadPart, .f_bfree = free_in_all.QuadPart, .f_bavail = free_to_us.QuadPart};
    return 0;
}

/* ---- contents ---- */

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)((uint64_t)at >> 32)};
    DWORD got = 0;
    if (ReadFile((HANDLE)_get_osfhandle(fd), to, (DWORD)size, &got, &place) || GetLastError() == ERROR_HANDLE_EOF)
        return (ssize_t)got;
    return fail_with(GetLastError());
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)((uint64_t)at >> 32)};
    DWORD sent = 0;
    return WriteFile((HANDLE)_get_osfhandle(fd), from, (DWORD)size, &sent, &place) ? (ssize_t)sent : fail_with(GetLastError());
}

/* A directory needs none: renames are written through. */
int fsync(int fd)
{
    struct posix_stat st;
    if (posix_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return FlushFileBuffers((HANDLE)_get_osfhandle(fd)) ? 0 : fail_with(GetLastError());
}

int fdatasync(int fd)
{
    return fsync(fd);
}

/* Locks one byte far beyond the end instead of the file, so that others can still read the contents. */
int flock(int fd, int how)
{
    HANDLE file = (HANDLE)_get_osfhandle(fd);
    OVERLAPPED place = {.Offset = 0, .OffsetHigh = 0x40000000};
    DWORD flags = (how & LOCK_EX ? LOCKFILE_EXCLUSIVE_LOCK : 0) | (how & LOCK_NB ? LOCKFILE_FAIL_IMMEDIATELY : 0);
    if (how & LOCK_UN)
        return UnlockFileEx(file, 0, 1, 0, &place) ? 0 : fail_with(GetLastError());
    return LockFileEx(file, flags, 0, 1, 0, &place) ? 0 : fail_with(GetLastError());
}

ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    (void)flags;
    return BCryptGenRandom(NULL, to, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0 ? (ssize_t)size : (errno = EIO, -1);
}

int pipe2(int ends[2], int flags)
{
    (void)flags;
    return _pipe(ends, 65536, _O_BINARY | _O_NOINHERIT);
}

/* Read-only: a temporary file, deleted on close. */
FILE *fmemopen(void *bytes, size_t size, const char *mode)
{
    wchar_t folder[MAX_PATH], path[MAX_PATH];
    (void)mode;
    if (!GetTempPathW(MAX_PATH, folder) || !GetTempFileNameW(folder, L"whr", 0, path))
        return NULL;
    HANDLE file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_DELETE, NULL, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    int fd = file == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)file, _O_RDWR | _O_BINARY | _O_NOINHERIT);
    FILE *stream = fd < 0 ? NULL : _fdopen(fd, "r+b");
    if (stream && (fwrite(bytes, 1, size, stream) != size || fseek(stream, 0, SEEK_SET))) {
        fclose(stream);
        return NULL;
    }
    return stream;
}

int dprintf(int fd, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return len < 0 ? -1 : (int)write(fd, text, (unsigned)(len < (int)sizeof text ? len : (int)sizeof text - 1));
}

/* ---- directories and their entries ---- */

struct posix_dir {
    HANDLE search; /* INVALID_HANDLE_VALUE: not started */
    WIN32_FIND_DATAW found;
    struct posix_dirent entry;
    wchar_t pattern[WIDE_PATH];
    int fd; /* from dirfd(); -1: not asked yet */
    char path[WIDE_PATH];
};

struct posix_dir *posix_opendir(const char *path)
{
    struct posix_dir *dir = calloc(1, sizeof *dir);
    if (!dir)
        return NULL;
    dir->search = INVALID_HANDLE_VALUE;
    dir->fd = -1;
    snprintf(dir->path, sizeof dir->path, "%s", path);
    bool named = wide_path(path, dir->pattern) && wcslen(dir->pattern) + 3 < WIDE_PATH;
    DWORD attributes = named ? GetFileAttributesW(dir->pattern) : 0;
    if (!named || attributes == INVALID_FILE_ATTRIBUTES || !(attributes & FILE_ATTRIBUTE_DIRECTORY)) {
        if (named)
            fail_with(attributes == INVALID_FILE_ATTRIBUTES ? GetLastError() : ERROR_DIRECTORY);
        free(dir);
        return NULL;
    }
    wcscat(dir->pattern, L"\\*");
    return dir;
}

struct posix_dirent *posix_readdir(struct posix_dir *dir)
{
    bool more;
    if (dir->search == INVALID_HANDLE_VALUE) {
        dir->search = FindFirstFileW(dir->pattern, &dir->found);
        more = dir->search != INVALID_HANDLE_VALUE;
    } else {
        more = FindNextFileW(dir->search, &dir->found);
    }
    if (!more || !utf8_from(dir->found.cFileName, dir->entry.d_name, sizeof dir->entry.d_name))
        return NULL;
    dir->entry.d_type = dir->found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? DT_DIR : DT_REG;
    return &dir->entry;
}

void posix_rewinddir(struct posix_dir *dir)
{
    if (dir->search != INVALID_HANDLE_VALUE)
        FindClose(dir->search);
    dir->search = INVALID_HANDLE_VALUE;
}

int posix_closedir(struct posix_dir *dir)
{
    posix_rewinddir(dir);
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir);
    return 0;
}

int dirfd(struct posix_dir *dir)
{
    if (dir->fd < 0)
        dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY);
    return dir->fd;
}

/* ---- the *at() calls: they join the directory's current path and the name ---- */

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
