/* SPDX-License-Identifier: Apache-2.0
 * Who else could have written a file: its owner, its mode, and those of the directories above it, any of which is as good as the
 * file.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/place.h"
#include "base/os/words.h"
#include "config/loader.h"

enum { UNMAPPED = 65534 };

/* Where only some users exist, files of all others have this owner: those of the host's root, for one. Who made the container put
 * them there. */
static bool is_of_outside(const struct env *env, uid_t owner)
{
    char map[64];
    unsigned inside, outside, count;
    struct env here = *env;
    here.sysroot = "";
    if (owner != UNMAPPED)
        return false;
    ssize_t len = file_read_head(&here, "/proc/self/uid_map", map, sizeof map - 1);
    map[len > 0 ? len : 0] = '\0';
    return sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && count != UINT_MAX;
}

/* A group of one's own, with the number of its user, is that user; a group of root is administration. */
static bool others_write(const struct stat *s)
{
    bool own_group = s->st_gid == 0 || (s->st_gid == getegid() && getegid() == geteuid());
    return (s->st_mode & S_IWOTH) || ((s->st_mode & S_IWGRP) && !own_group);
}

static bool trust_judge(const struct env *env, const char *path, bool folder, char why[WHY_SIZE])
{
    struct stat info;
    if (stat(path, &info) < 0)
        return true;
    if (info.st_uid != 0 && info.st_uid != geteuid() && !is_of_outside(env, info.st_uid))
        snprintf(why, WHY_SIZE, "%s%.300s belongs to another user (%u)", folder ? "the directory " : "", path, info.st_uid);
    else if (others_write(&info) && !(folder && (info.st_mode & S_ISVTX)))
        snprintf(why, WHY_SIZE, "others can write %s%.300s (mode %04o); run: " WORD_CLOSE("%.300s"), folder ? "the directory " : "",
                 path, info.st_mode & 07777, path);
    else
        return true;
    return false;
}

bool loader_trusts(const struct env *env, const char *path, char why[WHY_SIZE])
{
    char named[PATH_SIZE], whole[PATH_MAX];
    struct statvfs system;
    snprintf(named, sizeof named, "%s%s", env->sysroot, path);
    if (!realpath(named, whole))
        return true; /* gone in the meantime: what was read was all there */
    if (statvfs(whole, &system) == 0 && (system.f_flag & ST_RDONLY))
        return true;
    if (!trust_judge(env, whole, false, why))
        return false;
    const size_t root = path_root(whole);
    for (const char *slash = strrchr(whole, '/'); slash; slash = strrchr(whole, '/')) {
        size_t len = MAX_OF((size_t)(slash - whole), root);
        whole[len] = '\0';
        if (!trust_judge(env, whole, true, why))
            return false;
        if (len == root)
            break;
    }
    return true;
}
