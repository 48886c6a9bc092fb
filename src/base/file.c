/* SPDX-License-Identifier: Apache-2.0
 * Reads files below the sysroot; writes only existing kernel settings.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

static int call_openat(int dir, const char *path, int flags)
{
    return openat(dir, path, flags);
}

/* Parameter types differ between systems. */
static ssize_t call_read(int fd, void *to, size_t size)
{
    return read(fd, to, size);
}

static ssize_t call_write(int fd, const void *from, size_t size)
{
    return write(fd, from, size);
}

const struct file_calls file_calls_system = {.openat = call_openat, .read = call_read, .pread = pread, .write = call_write};
static const struct file_calls *calls = &file_calls_system;

void file_calls_replace(const struct file_calls *with)
{
    calls = with ? with : &file_calls_system;
}

int env_path(const struct env *env, char out[PATH_SIZE], const char *format, ...)
{
    size_t root = strlen(env->sysroot);
    if (root >= PATH_SIZE)
        return -ENAMETOOLONG;
    memcpy(out, env->sysroot, root);
    va_list args;
    va_start(args, format);
    int rest = vsnprintf(out + root, PATH_SIZE - root, format, args);
    va_end(args);
    return rest < 0 || root + (size_t)rest >= PATH_SIZE ? -ENAMETOOLONG : 0;
}

static int open_read(const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    int rc = env_path(env, whole, "%s", path);
    if (rc < 0)
        return rc;
    int fd = calls->openat(AT_FDCWD, whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static ssize_t read_head(int fd, char *text, size_t size)
{
    size_t len = 0;
    while (len < size - 1) {
        ssize_t got = calls->read(fd, text + len, size - 1 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    text[len] = '\0';
    return (ssize_t)len;
}

static void was_read(const struct env *env, enum env_read kind, const char *path, const char *at, size_t len)
{
    if (env->on_read)
        env->on_read(env, kind, path, (struct str){at, len});
}

ssize_t file_read_head(const struct env *env, const char *path, char *text, size_t size)
{
    AUTO_CLOSE int fd = open_read(env, path);
    ssize_t len = fd < 0 ? fd : read_head(fd, text, size);
    if (len >= 0)
        was_read(env, READ_FILE, path, text, (size_t)len);
    return len;
}

int file_write(const struct env *env, const char *path, struct str text)
{
    char whole[PATH_SIZE];
    int rc = env_path(env, whole, "%s", path);
    if (rc < 0)
        return rc;
    AUTO_CLOSE int fd = calls->openat(AT_FDCWD, whole, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    ssize_t sent;
    do
        sent = calls->write(fd, text.at, text.len);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 || (size_t)sent != text.len)
        return sent < 0 ? -errno : -EIO;
    if (env_is_recorded(env)) /* a recorded file, unlike the kernel's, would keep the rest of a longer old value */
        (void)!ftruncate(fd, sent);
    return 0;
}

static ssize_t end_text(ssize_t got, char *text)
{
    if (got < 0)
        return -errno;
    text[got] = '\0';
    return got;
}

ssize_t file_read_at(int dir, const char *name, char *text, size_t size)
{
    AUTO_CLOSE int fd = file_open_at(dir, name);
    return fd < 0 ? fd : end_text(calls->read(fd, text, size - 1), text);
}

int file_open_at(int dir, const char *name)
{
    int fd = calls->openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

ssize_t file_read_again(int fd, char *text, size_t size)
{
    return end_text(calls->pread(fd, text, size - 1, 0), text);
}

int dir_fd_open_at(int dir, const char *name)
{
    int fd = calls->openat(dir, name, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    return fd < 0 ? -errno : fd;
}

int dir_fd_open(const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    int rc = env_path(env, whole, "%s", path);
    if (rc < 0)
        return rc;
    return dir_fd_open_at(AT_FDCWD, whole);
}

ssize_t file_read(const struct env *env, const char *path, char *text, size_t size)
{
    ssize_t len = file_read_head(env, path, text, size);
    return len == (ssize_t)size - 1 ? -EFBIG : len;
}

int file_read_all(const struct env *env, const char *path, struct buf *out)
{
    AUTO_CLOSE int fd = open_read(env, path);
    if (fd < 0)
        return fd;
    char chunk[4096]; /* one page: most files are smaller, and large ones are rarely read */
    size_t before = out->len;
    for (;;) {
        ssize_t got = calls->read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        buf_add(out, chunk, (size_t)got);
        if (out->failed)
            return out->no_memory ? -ENOMEM : -EFBIG;
        if (got == 0)
            break;
    }
    was_read(env, READ_FILE, path, buf_view(out).at + before, out->len - before);
    return 0;
}

int file_read_i64(const struct env *env, const char *path, int64_t *ret)
{
    char text[64];
    ssize_t len = file_read(env, path, text, sizeof text);
    if (len < 0)
        return (int)len;
    return str_to_i64(str_trim((struct str){text, (size_t)len}), ret) ? 0 : -EINVAL;
}

ssize_t file_read_link(const struct env *env, const char *path, char *target, size_t size)
{
    char whole[PATH_SIZE];
    int rc = env_path(env, whole, "%s", path);
    if (rc < 0)
        return rc;
    ssize_t len = readlink(whole, target, size - 1);
    if (len < 0)
        return -errno;
    target[len] = '\0';
    was_read(env, READ_LINK, path, target, (size_t)len);
    return len;
}

bool file_exists(const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    bool there = env_path(env, whole, "%s", path) == 0 && access(whole, F_OK) == 0;
    if (there)
        was_read(env, READ_EXISTS, path, "", 0);
    return there;
}

DIR *dir_open(const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    int rc = env_path(env, whole, "%s", path);
    if (rc < 0) {
        errno = -rc;
        return NULL;
    }
    DIR *dir = opendir(whole);
    if (dir)
        was_read(env, READ_FOLDER, path, "", 0);
    return dir;
}
