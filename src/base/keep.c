/* SPDX-License-Identifier: Apache-2.0
 * Write, fsync, rename, fsync the directory: after a power cut, either the old file or the new one exists.
 */
#include "base/keep.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os/place.h"

enum { KEPT_PATH_SIZE = 4352 };

void keep_path(const char *folder, const char *name, const char *ending, char *path, size_t size)
{
    uint8_t digest[SHA256_SIZE];
    char number[17];
    bool plain = name[0] != '\0';
    for (const char *c = name; *c; c++)
        plain &= isalnum((unsigned char)*c) || *c == '-' || *c == '_';
    sha256(str_from(name), digest);
    hex_encode(digest, 8, number);
    snprintf(path, size, "%s/%s%s", folder, plain ? name : number, ending);
}

int keep_write_to(int fd, struct str text)
{
    while (text.len) {
        ssize_t sent = write(fd, text.at, text.len);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -errno;
        text = (struct str){text.at + sent, text.len - (size_t)sent};
    }
    return fsync(fd) < 0 ? -errno : 0;
}

static int set_mode(void *user, int fd, const char *fresh, struct error *err)
{
    const mode_t *mode = user;
    return fchmod(fd, *mode) == 0 ? 0 : error_set(err, -errno, "cannot write '%s': %s", fresh, strerror(errno));
}

static int sync_folder(const char *path)
{
    char folder[KEPT_PATH_SIZE];
    str_copy(folder, sizeof folder, str_from(path));
    path_normalise(folder);
    char *slash = strrchr(folder, '/');
    snprintf(slash ? slash + 1 : folder, slash ? 1 : sizeof folder, "%s", slash ? "" : ".");
    AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int keep_write_ready(const char *path, struct str text, keep_ready_fn *ready, void *user, struct error *err)
{
    char fresh[KEPT_PATH_SIZE];
    int len = snprintf(fresh, sizeof fresh, "%s.new", path), rc = 0;
    bool fits = len >= 0 && (size_t)len < sizeof fresh;
    AUTO_CLOSE int fd = fits ? open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd < 0)
        rc = fits ? -errno : -ENAMETOOLONG;
    else
        rc = keep_write_to(fd, text);
    if (rc == 0 && ready && (rc = ready(user, fd, fresh, err)) < 0) {
        unlink(fresh);
        return rc;
    }
    if (rc == 0 && rename(fresh, path) < 0)
        rc = -errno;
    if (rc == 0)
        rc = sync_folder(path);
    else if (fd >= 0)
        unlink(fresh);
    return rc == 0 ? 0 : error_set(err, rc, "cannot write '%s': %s", path, strerror(-rc));
}

int keep_write_as(const char *path, struct str text, mode_t mode, struct error *err)
{
    return keep_write_ready(path, text, set_mode, &mode, err);
}

int keep_write(const char *path, struct str text, struct error *err)
{
    return keep_write_ready(path, text, NULL, NULL, err);
}

int keep_read(const char *path, struct buf *text, struct error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    char chunk[16384];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
        if (got == 0)
            return 0;
        buf_add(text, chunk, (size_t)got);
        if (text->failed)
            return buf_check(text, err, "'%s' is longer than %zu bytes", path, text->max);
    }
}

int keep_aside(const char *path, struct error *err)
{
    char aside[KEPT_PATH_SIZE];
    int len = snprintf(aside, sizeof aside, "%s.damaged", path);
    if (len < 0 || (size_t)len >= sizeof aside)
        return error_set(err, -ENAMETOOLONG, "the name of '%s' is too long", path);
    return rename(path, aside) == 0 ? 0 : error_set(err, -errno, "cannot move '%s' aside: %s", path, strerror(errno));
}
