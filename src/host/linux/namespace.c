/* SPDX-License-Identifier: Apache-2.0
 * PID namespaces. Older NVIDIA drivers report host PIDs to every container, newer ones translate them for the caller, DRM sources
 * find PIDs in our own /proc: inside a container, only evidence tells what a PID refers to.
 */
#include "host/linux/process_files.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/procfs.h"

/* The initial PID namespace has this inode number since Linux 3.8 (PROC_PID_INIT_INO). */
#define HOST_PID_NAMESPACE "pid:[4026531836]"

enum { FILES_LOOKED_AT = 4096, PID_KTHREADD = 2 };

bool procfs_is_of_host(const struct env *env)
{
    /* Kernel threads exist only in the host's namespace, and kthreadd is always PID 2 there. This also covers a host's /proc
     * mounted into a container, where our own namespace says nothing. */
    char text[1024];
    struct proc_stat stat;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", PID_KTHREADD);
    if (env->own_pids && !env_is_recorded(env))
        return true; /* a process says so */
    ssize_t len = file_read_head(env, path, text, sizeof text);
    if (len > 0 && proc_stat_parse((struct str){text, (size_t)len}, &stat) && (stat.flags & PROC_FLAG_KERNEL_THREAD))
        return true;

    if (file_read_link(env, "/proc/self/ns/pid", text, sizeof text) > 0)
        return strcmp(text, HOST_PID_NAMESPACE) == 0;

    static const char *const markers[] = {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"};
    for (size_t i = 0; i < ARRAY_LEN(markers); i++)
        if (file_exists(env, markers[i]))
            return false;
    return true;
}

bool is_gpu_file(const char *path)
{
    static const char *const devices[] = {"/dev/nvidia", "/dev/dri/", "/dev/kfd", "/dev/dxg"};
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        if (str_starts(str_from(path), devices[i]))
            return true;
    return false;
}

int process_holds_gpu(const struct env *env, int32_t pid)
{
    char folder[64], path[PATH_SIZE], target[PATH_SIZE];
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    AUTO_DIR DIR *dir = dir_open(env, folder);
    if (!dir)
        return is_gone(-errno) || errno == EACCES || errno == EPERM ? 0 : -errno;
    struct dirent *entry;
    for (int i = 0; i < FILES_LOOKED_AT && (entry = readdir(dir)); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (file_read_link(env, path, target, sizeof target) > 0 && is_gpu_file(target))
            return 1;
    }
    return 0;
}
