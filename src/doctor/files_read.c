/* SPDX-License-Identifier: Apache-2.0
 * Recorded reads, by path.
 */
#include "doctor/bundle.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { LINKS_MAX = 40 };

struct caught {
    pthread_mutex_t lock;
    struct caught_entry *entries;
    size_t count, capacity, bytes, lost;
};

struct caught *caught_new(void)
{
    struct caught *c = calloc(1, sizeof *c);
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void files_read_forget(struct caught_entry *e)
{
    free((char *)e->path);
    free((char *)e->bytes.at);
}

void caught_free(struct caught *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        files_read_forget(&c->entries[i]);
    free(c->entries);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static bool files_read_make_room(struct caught *c)
{
    return ROOM_FOR_ONE(c->entries, c->count, c->capacity, 256);
}

/* Samples repeat reads: replace the bytes of a known path. A linear search is enough for some hundred paths. */
static void files_read_add(struct caught *c, enum env_read kind, const char *path, struct str bytes)
{
    struct caught_entry *at = NULL;
    for (size_t i = c->count; i > 0 && !at; i--)
        if (strcmp(c->entries[i - 1].path, path) == 0)
            at = &c->entries[i - 1];
    if (at && kind > at->kind)
        return; /* more than its existence is known already */
    char *copy = malloc(bytes.len + 1), *name = at ? NULL : strdup(path);
    if (!copy || (!at && !name) || c->bytes + bytes.len > CAUGHT_BYTES_MAX ||
        (!at && (c->count == CAUGHT_MAX || !files_read_make_room(c)))) {
        free(copy);
        free(name);
        c->lost++;
        return;
    }
    if (bytes.len)
        memcpy(copy, bytes.at, bytes.len);
    copy[bytes.len] = '\0';
    if (!at) {
        at = &c->entries[c->count++];
        *at = (struct caught_entry){.path = name};
    }
    c->bytes += bytes.len - at->bytes.len;
    free((char *)at->bytes.at);
    at->kind = kind;
    at->bytes = (struct str){copy, bytes.len};
}

static void on_read(const struct env *env, enum env_read kind, const char *path, struct str bytes)
{
    struct caught *c = env->user;
    pthread_mutex_lock(&c->lock);
    files_read_add(c, kind, path, bytes);
    pthread_mutex_unlock(&c->lock);
}

void caught_watch(struct caught *c, struct env *env)
{
    env->user = c;
    env->on_read = on_read;
}

/* ---- resolving ---- */

/* Removes the last part of a path that begins with a slash. */
static void go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
}

/* Walks from `at` along `rest`, part by part; records links and follows them, except the last one. */
static int resolve(struct caught *links, const struct env *env, char at[PATH_SIZE], const char *rest, int *links_left)
{
    while (*rest) {
        rest += strspn(rest, "/");
        size_t len = strcspn(rest, "/");
        struct str part = {rest, len};
        rest += len;
        if (!len || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            go_up(at);
            continue;
        }
        size_t used = strlen(at);
        if (used + len + 2 > PATH_SIZE)
            return -ENAMETOOLONG;
        snprintf(at + used, PATH_SIZE - used, "/" STR_FMT, STR_ARG(part));
        char target[PATH_SIZE], next[PATH_SIZE];
        bool last = rest[strspn(rest, "/")] == '\0';
        ssize_t is_link = last ? -1 : file_read_link(env, at, target, sizeof target);
        if (is_link < 0)
            continue;
        /* An unpacked link to outside of the recorded tree would lead into another host's. */
        if (target[0] == '/' || --*links_left < 0)
            return -ELOOP;
        files_read_add(links, READ_LINK, at, str_from(target));
        go_up(at);
        str_copy(next, sizeof next, str_from(target));
        int rc = resolve(links, env, at, next, links_left);
        if (rc < 0)
            return rc;
        /* The target itself may be a link. */
        while ((is_link = file_read_link(env, at, target, sizeof target)) >= 0) {
            if (target[0] == '/' || --*links_left < 0)
                return -ELOOP;
            files_read_add(links, READ_LINK, at, str_from(target));
            go_up(at);
            str_copy(next, sizeof next, str_from(target));
            rc = resolve(links, env, at, next, links_left);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static bool is_folder(const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    struct stat info;
    return env_path(env, whole, "%s", path) == 0 && stat(whole, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Some names matter by existing (drm/renderD128) although nothing reads below them: record the subdirectories of listed
 * directories in /sys. */
static void add_folders_in(struct caught *c, const struct env *env, const char *path)
{
    char whole[PATH_SIZE];
    if (strncmp(path, "/sys/", 5) != 0)
        return;
    AUTO_DIR DIR *folder = dir_open(env, path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            (size_t)snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name) < sizeof whole)
            files_read_add(c, READ_FOLDER, whole, STR(""));
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct caught_entry *)a)->path, ((const struct caught_entry *)b)->path);
}

size_t caught_finish(struct caught *c, struct env *env, const struct caught_entry **ret)
{
    env->on_read = NULL;
    env->user = NULL;
    struct caught resolved = {.count = 0};
    for (size_t i = 0; i < c->count; i++) {
        const struct caught_entry *e = &c->entries[i];
        char at[PATH_SIZE] = "";
        int links_left = LINKS_MAX;
        if (resolve(&resolved, env, at, e->path, &links_left) < 0) {
            c->lost++;
            continue;
        }
        bool folder = e->kind == READ_FOLDER || (e->kind == READ_EXISTS && is_folder(env, at));
        char target[PATH_SIZE];
        if (e->kind != READ_LINK && file_read_link(env, at, target, sizeof target) > 0)
            continue; /* a directory behind a link, with nothing read below it */
        files_read_add(&resolved,
                       folder                   ? READ_FOLDER
                       : e->kind == READ_EXISTS ? READ_FILE
                                                : e->kind,
                       at, folder ? STR("") : e->bytes);
        if (e->kind == READ_FOLDER)
            add_folders_in(&resolved, env, at);
    }
    for (size_t i = 0; i < c->count; i++)
        files_read_forget(&c->entries[i]);
    free(c->entries);
    c->lost += resolved.lost;
    c->entries = resolved.entries;
    c->count = resolved.count;
    c->capacity = resolved.capacity;
    if (c->count)
        qsort(c->entries, c->count, sizeof *c->entries, by_path);
    *ret = c->entries;
    return c->count;
}

size_t caught_lost(const struct caught *c)
{
    return c->lost;
}
