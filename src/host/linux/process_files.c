/* SPDX-License-Identifier: Apache-2.0
 * Files of a process in procfs. An unreadable file is a reason, not an error.
 */
#include "host/linux/process_files.h"

#include <stdio.h>

enum { PROC_PATH_SIZE = 80 };

static const char *proc_path(int32_t pid, const char *file, char path[PROC_PATH_SIZE])
{
    snprintf(path, PROC_PATH_SIZE, "/proc/%d/%s", (int)pid, file);
    return path;
}

ssize_t proc_read(const struct env *env, int32_t pid, const char *file, char *text, size_t size)
{
    char path[PROC_PATH_SIZE];
    return file_read_head(env, proc_path(pid, file, path), text, size);
}

struct str proc_text(const struct env *env, int32_t pid, const char *file, char *text, size_t size)
{
    ssize_t len = proc_read(env, pid, file, text, size);
    return (struct str){text, len > 0 ? (size_t)len : 0};
}

int proc_read_all(const struct env *env, int32_t pid, const char *file, struct buf *out)
{
    char path[PROC_PATH_SIZE];
    return file_read_all(env, proc_path(pid, file, path), out);
}

ssize_t proc_link(const struct env *env, int32_t pid, const char *link, char *target, size_t size)
{
    char path[PROC_PATH_SIZE];
    return file_read_link(env, proc_path(pid, link, path), target, size);
}

ssize_t proc_fd(const struct env *env, int32_t pid, const char *fd, char *target, size_t size)
{
    char link[32];
    snprintf(link, sizeof link, "fd/%.16s", fd);
    return proc_link(env, pid, link, target, size);
}

DIR *proc_dir(const struct env *env, int32_t pid, const char *folder)
{
    char path[PROC_PATH_SIZE];
    return dir_open(env, proc_path(pid, folder, path));
}
