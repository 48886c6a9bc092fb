/* SPDX-License-Identifier: Apache-2.0
 * The control group of `whirr run --enforce`.
 *
 *   /sys/fs/cgroup/.../ours         this process
 *   /sys/fs/cgroup/.../whirr-PID    the program, beside us: a group with processes can't have limited ones below it
 */
#include "lease/lease_use.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TOP "/sys/fs/cgroup"
#define INSTEAD "; without --enforce, only other programs of `whirr run` respect it"

enum { REGION_SIZE = 128, TEXT_MAX = 64 * 1024 };

int vram_cap_possible(const struct env *env, struct error *err)
{
    if (file_exists(env, TOP "/dmem.capacity"))
        return 0;
    return error_set(err, -ENOTSUP,
                     "--enforce: this kernel can't limit memory of GPUs: there is no " TOP
                     "/dmem.capacity (Linux 6.14 or newer with CONFIG_CGROUP_DMEM)" INSTEAD);
}

/* "drm/0000:03:00.0/vram0 17095983104" of that GPU. */
static int find_region(struct str capacity, const char *address, char region[REGION_SIZE], struct error *err)
{
    char prefix[64];
    struct str line, name;
    size_t found = 0;
    snprintf(prefix, sizeof prefix, "drm/%s/vram", address);
    while (str_cut(&capacity, '\n', &line)) {
        if (!str_word(&line, &name) || !str_starts(name, prefix) || name.len >= REGION_SIZE)
            continue;
        str_copy(region, REGION_SIZE, name);
        found++;
    }
    if (found == 1)
        return 0;
    return error_set(err, -ENOTSUP,
                     found ? "--enforce: the GPU at %s has several memories, of which each would have a limit of its own" INSTEAD
                           : "--enforce: the driver of the GPU at %s can't limit its memory: it is not in " TOP
                             "/dmem.capacity" INSTEAD,
                     address);
}

static int cap_put(const char *folder, const char *name, const char *text)
{
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static bool has_controller(const struct env *env, const char *folder)
{
    char text[1024], path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/cgroup.controllers", folder);
    struct str words, word;
    if (file_read(env, path, text, sizeof text) < 0)
        return false;
    words = str_from(text);
    while (str_word(&words, &word))
        if (str_is(word, "dmem"))
            return true;
    return false;
}

/* The group above ours if the controller reaches it, else the top, which is root's. */
static void find_parent(const struct env *env, char parent[PATH_SIZE])
{
    char text[4096];
    struct str lines, line;
    ssize_t len = file_read(env, "/proc/self/cgroup", text, sizeof text);
    lines = (struct str){text, len > 0 ? (size_t)len : 0};
    while (str_cut(&lines, '\n', &line)) {
        const char *slash;
        if (!str_starts(line, "0::/") || str_contains(line, "..") || !(slash = memrchr(line.at, '/', line.len)))
            continue;
        snprintf(parent, PATH_SIZE, TOP "%.*s", (int)(slash - line.at) - 3, line.at + 3);
        if (has_controller(env, parent))
            return;
    }
    str_copy(parent, PATH_SIZE, STR(TOP));
}

static int fill(const struct vram_cap *cap, const char (*regions)[REGION_SIZE], size_t count, int64_t bytes, int32_t pid,
                const char **failed)
{
    char text[REGION_SIZE + 32];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        snprintf(text, sizeof text, "%s %" PRId64 "\n", regions[i], bytes);
        *failed = "dmem.max";
        rc = cap_put(cap->folder, *failed, text);
    }
    if (rc == 0) {
        snprintf(text, sizeof text, "%d\n", (int)pid);
        *failed = "cgroup.procs";
        rc = cap_put(cap->folder, *failed, text);
    }
    return rc;
}

int vram_cap_set(const struct env *env, const char *const *addresses, size_t count, int64_t bytes, int32_t pid,
                 struct vram_cap *ret, struct error *err)
{
    enum { GPUS_MAX = 64 };
    char regions[GPUS_MAX][REGION_SIZE], parent[PATH_SIZE], whole[PATH_SIZE];
    AUTO_BUF struct buf capacity = BUF(TEXT_MAX);
    struct vram_cap cap;
    const char *failed = "";
    int rc = vram_cap_possible(env, err);
    if (rc == 0 && file_read_all(env, TOP "/dmem.capacity", &capacity) < 0)
        rc = error_set(err, -EIO, "--enforce: cannot read " TOP "/dmem.capacity");
    for (size_t i = 0; rc == 0 && i < count && i < GPUS_MAX; i++)
        rc = find_region(buf_view(&capacity), addresses[i], regions[i], err);
    if (rc < 0)
        return rc;
    find_parent(env, parent);
    if (env_path(env, whole, "%s", parent) < 0)
        return error_set(err, -ENAMETOOLONG, "--enforce: the path of the control group is too long");
    cap_put(whole, "cgroup.subtree_control", "+dmem"); /* if it has no effect, the next step says so */
    snprintf(cap.folder, sizeof cap.folder, "%.*s/whirr-%d", PATH_SIZE - 32, whole, (int)pid);
    if (mkdir(cap.folder, 0755) < 0)
        return error_set(err, -errno, "--enforce: cannot create the control group %s: %s%s" INSTEAD, cap.folder, strerror(errno),
                         errno == EACCES || errno == EPERM ? " (root can)" : "");
    rc = fill(&cap, (const char(*)[REGION_SIZE])regions, MIN_OF(count, (size_t)GPUS_MAX), bytes, pid, &failed);
    if (rc < 0) {
        rmdir(cap.folder);
        return error_set(err, rc, "--enforce: cannot write %s/%s: %s%s" INSTEAD, cap.folder, failed, strerror(-rc),
                         rc == -EACCES || rc == -EPERM ? " (root can)" : "");
    }
    *ret = cap;
    return 0;
}

void vram_cap_done(const struct vram_cap *cap)
{
    if (cap->folder[0])
        rmdir(cap->folder);
}
