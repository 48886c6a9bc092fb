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
#include "base/os/shared.h"
#include "base/os/words.h"
#include "config/loader.h"

/* A group of one's own, with the number of its user, is that user; a group of root is administration. */
static bool others_write(const struct stat *s)
{
    bool own_group = s->st_gid == 0 || (s->st_gid == getegid() && getegid() == geteuid());
    return (s->st_mode & S_IWOTH) || ((s->st_mode & S_IWGRP) && !own_group);
}

static bool trust_judge(const char *path, bool folder, char why[WHY_SIZE])
{
    struct stat info;
    if (stat(path, &info) < 0)
        return true;
    if (!shared_owner_trusted(info.st_uid))
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
    if (!trust_judge(whole, false, why))
        return false;
    const size_t root = path_root(whole);
    for (const char *slash = strrchr(whole, '/'); slash; slash = strrchr(whole, '/')) {
        size_t len = MAX_OF((size_t)(slash - whole), root);
        whole[len] = '\0';
        if (!trust_judge(whole, true, why))
            return false;
        if (len == root)
            break;
    }
    return true;
}
