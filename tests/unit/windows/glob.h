/* SPDX-License-Identifier: Apache-2.0
 * Files by a pattern of their names, for tests on Windows.
 */
#pragma once

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t gl_pathc;
    char **gl_pathv;
} glob_t;

static inline int glob_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Only the last part of a path is a pattern. */
static inline int glob(const char *pattern, int flags, void *errors, glob_t *ret)
{
    enum { MOST = 4096, PATH_ROOM = 1024 };
    char folder[PATH_ROOM];
    const char *name = strrchr(pattern, '/') + 1;
    (void)flags, (void)errors;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - pattern - 1), pattern);
    *ret = (glob_t){.gl_pathv = calloc(MOST, sizeof(char *))};
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir)) && ret->gl_pathc < MOST;) {
        if (fnmatch(name, e->d_name, 0) != 0)
            continue;
        char *path = malloc(PATH_ROOM);
        snprintf(path, PATH_ROOM, "%s/%s", folder, e->d_name);
        ret->gl_pathv[ret->gl_pathc++] = path;
    }
    if (dir)
        closedir(dir);
    qsort(ret->gl_pathv, ret->gl_pathc, sizeof(char *), glob_order);
    return ret->gl_pathc ? 0 : 1;
}

static inline void globfree(glob_t *g)
{
    for (size_t i = 0; i < g->gl_pathc; i++)
        free(g->gl_pathv[i]);
    free(g->gl_pathv);
}
