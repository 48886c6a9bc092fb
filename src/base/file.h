/* SPDX-License-Identifier: Apache-2.0
 * Files of the host, below env->sysroot. Callers pass paths as on the real host ("/sys/class/drm").
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/env.h"

enum { PATH_SIZE = 512 };

/* The system calls behind all reads and writes here; tests replace them to fail the way drivers do. */
struct file_calls {
    int (*openat)(int dir, const char *path, int flags);
    ssize_t (*read)(int fd, void *to, size_t size);
    ssize_t (*pread)(int fd, void *to, size_t size, off_t at);
    ssize_t (*write)(int fd, const void *from, size_t size);
};
extern const struct file_calls file_calls_system;
/* For tests; NULL restores the real calls. Not while other threads read. */
void file_calls_replace(const struct file_calls *with);

/* sysroot + path; -ENAMETOOLONG if it doesn't fit. */
int env_path(const struct env *env, char out[PATH_SIZE], const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));

/* Reads a small file into `text`, NUL-terminated; returns its length or -errno, -EFBIG if it doesn't fit. */
ssize_t file_read(const struct env *env, const char *path, char *text, size_t size);
/* Like file_read, but truncates at size - 1 instead of failing. */
ssize_t file_read_head(const struct env *env, const char *path, char *text, size_t size);
/* Like file_read_head, below an open directory and with a single read: the kernel returns a small /proc file in one piece. */
ssize_t file_read_at(int dir, const char *name, char *text, size_t size);
/* Opens a file for file_read_again, which rereads it from the start; a descriptor or -errno. */
int file_open_at(int dir, const char *name);
ssize_t file_read_again(int fd, char *text, size_t size);
/* Opens a directory for file_read_at: a descriptor or -errno. */
int dir_fd_open(const struct env *env, const char *path);
int dir_fd_open_at(int dir, const char *name);
/* Reads a whole file of any size up to out->max. */
int file_read_all(const struct env *env, const char *path, struct buf *out);
/* Reads a file that holds one decimal number. */
int file_read_i64(const struct env *env, const char *path, int64_t *ret);
/* The target of a symbolic link, terminated; returns its length or -errno. */
ssize_t file_read_link(const struct env *env, const char *path, char *target, size_t size);
bool file_exists(const struct env *env, const char *path);
/* Writes an existing file with one write(): kernel files don't accept partial values. 0 or -errno. */
int file_write(const struct env *env, const char *path, struct str text);

/* Whether a failed read means that the file or process is gone; other errors (out of descriptors, out of memory, no permission)
 * don't. */
static inline bool is_gone(ssize_t rc)
{
    return rc == -ENOENT || rc == -ESRCH;
}

/* Raises the soft limit of open files to `wanted`, capped by the hard limit; returns the new limit. Child processes
 * (descriptors_lower_of) keep the original limit: programs that use select() break beyond it. */
size_t descriptors_raise(size_t wanted);
void descriptors_lower_of(int32_t pid);

/* Closes all descriptors from `first` on; before Linux 5.9 only the first few hundred. */
void descriptors_close_from(int first);

/* Raw entries of an open directory (struct dirent64), which glibc wraps since 2.30. Bytes read, 0 at the end, or -1. */
ssize_t dir_entries(int dir, void *buffer, size_t size);
DIR *dir_open(const struct env *env, const char *path); /* NULL with errno on failure */
static inline void cleanup_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}
#define AUTO_DIR __attribute__((cleanup(cleanup_dir)))
