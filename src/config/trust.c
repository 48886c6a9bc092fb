/* SPDX-License-Identifier: Apache-2.0
 * Who else could have written a file: checks the owner and mode of the file and of all directories above it, any of which gives
 * control over it. And who can read it: the daemon must, and others must not if it holds secrets.
 */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/place.h"
#include "base/os/shared.h"
#include "base/os/words.h"
#include "config/config_schema.h"

/* A user's private group (same number as the user) is that user; root's group is administration. */
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

bool config_trusts(const struct env *env, const char *path, char why[WHY_SIZE])
{
    char named[PATH_SIZE], whole[PATH_MAX];
    struct statvfs system;
    snprintf(named, sizeof named, "%s%s", env->sysroot, path);
    if (!realpath(named, whole))
        return true; /* gone meanwhile, but it was read completely */
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

/* ---- read access ---- */

const char *config_way_to_read(const char *path, char text[WHY_SIZE])
{
    const struct group *own = getgrgid(getegid());
    snprintf(text, WHY_SIZE, "run as its owner or root: " WORD_SHARE("%.150s", "%s"), own ? own->gr_name : "whirr", path, path);
    return text;
}

static void check_file(struct config_problems *problems, const struct config_entry *entry, const struct section *section,
                       const struct setting *s)
{
    const char *path = *(const char *const *)setting_at(entry, s);
    const struct config_origin *origin = setting_origin(section, entry, s);
    struct stat info;
    bool key = str_ends(str_from(s->key), "key") || str_ends(str_from(s->key), "key_file");
    if (path[0] && key && stat(path, &info) == 0 && (info.st_mode & S_IROTH))
        problem_add(problems, true, origin, "every user of this host can read the key %s; run: " WORD_HIDE("%.200s"), path, path);
    if (!path[0] || access(path, R_OK) == 0 || errno != EACCES)
        return; /* the code that uses the file reports a missing one */
    problem_add(problems, false, origin, "%s.%s: '%s' cannot be read; %s", section->path, s->key, path,
                config_way_to_read(path, (char[WHY_SIZE]){0}));
}

/* One warning per file, for its first secret. */
static void check_secret(struct config_problems *problems, const struct config_entry *entry, const struct section *section,
                         const struct setting *s, const char **ret_told)
{
    const struct config_origin *origin = setting_origin(section, entry, s);
    struct stat info;
    if (origin->kind != CONFIG_FROM_FILE || (*ret_told && strcmp(*ret_told, origin->where) == 0) ||
        stat(origin->where, &info) < 0 || !(info.st_mode & S_IROTH) || !setting_is_secret(s, setting_at(entry, s)))
        return;
    *ret_told = origin->where;
    bool shared = strcmp(origin->where, CONFIG_SYSTEM_FILE) == 0;
    char way[WHY_SIZE];
    if (shared)
        snprintf(way, sizeof way, WORD_SHARE("%.150s", "whirr"), origin->where, origin->where);
    else
        snprintf(way, sizeof way, WORD_HIDE("%.200s"), origin->where);
    problem_add(problems, true, origin, "every user of this host can read this file, which holds %s.%s; run: %s", section->path,
                s->key, way);
}

void config_check_access(const struct config *config, struct config_problems *problems)
{
    const char *told = NULL;
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t e = 0; e < section_entries(config, section); e++) {
            const struct config_entry *entry = section_entry(config, section, e);
            for (size_t k = 0; k < section->count; k++) {
                const struct setting *s = &section->settings[k];
                if (s->flags & FILE_READ)
                    check_file(problems, entry, section, s);
                if (s->flags & SECRET)
                    check_secret(problems, entry, section, s, &told);
            }
        }
    }
}
