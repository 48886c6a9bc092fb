/* SPDX-License-Identifier: Apache-2.0
 * Files of the machine, below env->sysroot. Paths are given as on the real machine ("/sys/class/drm").
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/env.h"

enum { PATH_SIZE = 512 };

/* The system calls behind every read and write of this file, in a table so that tests can make them fail as a driver does. */
struct file_calls {
    int (*openat)(int dir, const char *path, int flags);
    ssize_t (*read)(int fd, void *to, size_t size);
    ssize_t (*pread)(int fd, void *to, size_t size, off_t at);
    ssize_t (*write)(int fd, const void *from, size_t size);
};
extern const struct file_calls file_calls_system;
/* Only for tests: NULL brings the real ones back. Not while other threads read. */
void file_calls_replace(const struct file_calls *with);

/* sysroot + path. -ENAMETOOLONG when it does not fit. */
int env_path(const struct env *env, char out[PATH_SIZE], const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));

/* Reads a whole small file into `text`, terminated; returns its length or -errno. A longer file is -EFBIG. */
ssize_t file_read(const struct env *env, const char *path, char *text, size_t size);
/* Like file_read, but cut at size - 1 instead of failing. */
ssize_t file_read_head(const struct env *env, const char *path, char *text, size_t size);
/* The same for a file below an open directory, which is read once: the kernel hands out a small file of /proc in one piece. */
ssize_t file_read_at(int dir, const char *name, char *text, size_t size);
/* Opens such a file for file_read_again, which reads it from its beginning each time; a descriptor or -errno. */
int file_open_at(int dir, const char *name);
ssize_t file_read_again(int fd, char *text, size_t size);
/* Opens a directory for file_read_at; a descriptor or -errno. */
int dir_fd_open(const struct env *env, const char *path);
int dir_fd_open_at(int dir, const char *name);
/* Reads a whole file of any size up to out->max. */
int file_read_all(const struct env *env, const char *path, struct buf *out);
/* A file that holds one decimal number. */
int file_read_i64(const struct env *env, const char *path, int64_t *ret);
/* The target of a symbolic link, terminated; returns its length or -errno. */
ssize_t file_read_link(const struct env *env, const char *path, char *target, size_t size);
bool file_exists(const struct env *env, const char *path);
/* Into a file that is there, as a whole in one call: the kernel's files take no halves. 0 or -errno. */
int file_write(const struct env *env, const char *path, struct str text);

/* What a failed read says of a file or a process: that it is not there, or nothing at all (no descriptor, no memory, no right). */
static inline bool is_gone(ssize_t rc)
{
    return rc == -ENOENT || rc == -ESRCH;
}

/* Raises the soft limit of open files to so many, as far as the hard one lets it; returns what it is then. Programs that are
 * started (descriptors_lower_of) keep the limit that this one was given: those that use select() break with more. */
size_t descriptors_raise(size_t wanted);
void descriptors_lower_of(int32_t pid);

/* Closes every descriptor from this one on; before Linux 5.9 the first few hundred, one by one. */
void descriptors_close_from(int first);

/* Entries of an open directory (struct dirent64) as they fit; glibc has a function for it since 2.30. Bytes, 0 at the end, or -1.
 */
ssize_t dir_entries(int dir, void *buffer, size_t size);
DIR *dir_open(const struct env *env, const char *path); /* NULL and errno */
static inline void cleanup_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}
#define AUTO_DIR __attribute__((cleanup(cleanup_dir)))
