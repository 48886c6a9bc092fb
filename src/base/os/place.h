/* SPDX-License-Identifier: Apache-2.0
 * Where a system keeps things, and whom its environment can be believed of.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/env.h"

/* false: this program may have rights that its caller lacks, so that paths from the environment are not to be believed. */
bool place_is_trusted(void);
/* From the root of a file system, and not from the folder that is worked in. */
static inline bool path_is_whole(const char *path)
{
#ifdef _WIN32
    return path[0] && path[1] == ':' ? path[2] == '/' || path[2] == '\\' : path[0] == '/' || path[0] == '\\';
#else
    return path[0] == '/';
#endif
}
/* What parts the last name from its folder; NULL: it has none. */
static inline const char *path_last_slash(const char *path)
{
    const char *slash = strrchr(path, '/');
#ifdef _WIN32
    const char *other = strrchr(path, '\\');
    slash = other && (!slash || other > slash) ? other : slash;
#endif
    return slash;
}
/* What people type, as the rest of the program takes paths apart: at slashes alone. */
static inline void path_normalise(char *path)
{
#ifdef _WIN32
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
#else
    (void)path; /* a backslash is a letter as any other */
#endif
}
/* How much of such a path is the root: what is above all folders. */
static inline size_t path_root(const char *path)
{
#ifdef _WIN32
    return path[0] && path[1] == ':' ? 3 : 1;
#else
    (void)path;
    return 1;
#endif
}
/* What belongs to the whole system, below WHIRR_SYSTEM_ROOT (%ProgramData%\whirr on Windows). */
#ifdef _WIN32
#define PLACE_SYSTEM_CONFIG "/whirr.toml"
#define PLACE_CONFIG_NAME "%ProgramData%\\whirr\\whirr.toml" /* for people */
#define PLACE_SYSTEM_STATE "/state"
#define PLACE_SYSTEM_RUNTIME ""
#define PLACE_SYSTEM_LEASES "/leases"
#define PLACE_LOCKED_LEASES "/leases"
#define PLACE_SYSTEM_SETTINGS "/settings"
#define PLACE_SHOWN_SETTINGS "/settings-shown"
#else
#define PLACE_SYSTEM_CONFIG "/etc/whirr/whirr.toml"
#define PLACE_CONFIG_NAME PLACE_SYSTEM_CONFIG
#define PLACE_SYSTEM_STATE "/var/lib/whirr"
#define PLACE_SYSTEM_RUNTIME "/run/whirr"
#define PLACE_SYSTEM_LEASES "/var/lib/whirr-leases"
#define PLACE_LOCKED_LEASES "/run/lock/whirr-leases"
#define PLACE_SYSTEM_SETTINGS "/var/lib/whirr-control"
#define PLACE_SHOWN_SETTINGS "/run/whirr-control"
#endif
/* Names of libraries, this program, and how devices are asked, as far as the system has them. */
void place_fill(struct env *env);
