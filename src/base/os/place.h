/* SPDX-License-Identifier: Apache-2.0
 * Where a system keeps its files, and whether to trust the environment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/env.h"

/* False if this process may have privileges its caller lacks: don't trust paths from the environment then. */
bool place_is_trusted(void);
/* Absolute path. */
static inline bool path_is_whole(const char *path)
{
#ifdef _WIN32
    return path[0] && path[1] == ':' ? path[2] == '/' || path[2] == '\\' : path[0] == '/' || path[0] == '\\';
#else
    return path[0] == '/';
#endif
}
/* The last path separator; NULL: none. */
static inline const char *path_last_slash(const char *path)
{
    const char *slash = strrchr(path, '/');
#ifdef _WIN32
    const char *other = strrchr(path, '\\');
    slash = other && (!slash || other > slash) ? other : slash;
#endif
    return slash;
}
/* Converts a typed path to forward slashes, which the rest of the program expects. */
static inline void path_normalise(char *path)
{
#ifdef _WIN32
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
#else
    (void)path; /* a backslash is an ordinary character here */
#endif
}
/* Length of the root of an absolute path. */
static inline size_t path_root(const char *path)
{
#ifdef _WIN32
    return path[0] && path[1] == ':' ? 3 : 1;
#else
    (void)path;
    return 1;
#endif
}
/* System-wide paths, below WHIRR_SYSTEM_ROOT (%ProgramData%\whirr on Windows). */
#ifdef _WIN32
#define PLACE_SYSTEM_CONFIG "/whirr.toml"
#define PLACE_CONFIG_NAME "%ProgramData%\\whirr\\whirr.toml" /* shown to people */
#define PLACE_SYSTEM_STATE "/state"
#define PLACE_SYSTEM_RUNTIME ""
#define PLACE_SYSTEM_LEASES "/leases"
#define PLACE_LOCKED_LEASES "/leases"
#define PLACE_SYSTEM_SETTINGS "/settings"
#define PLACE_SHOWN_SETTINGS "/settings-shown"
#define PLACE_SERVICE_LEASES "/service-leases"
#define PLACE_SERVICE_SHOWN "/service-leases-shown"
#define PLACE_SYSTEM_CHECKS "/checks"
#else
#define PLACE_SYSTEM_CONFIG "/etc/whirr/whirr.toml"
#define PLACE_CONFIG_NAME PLACE_SYSTEM_CONFIG
#define PLACE_SYSTEM_STATE "/var/lib/whirr"
#define PLACE_SYSTEM_RUNTIME "/run/whirr"
#define PLACE_SYSTEM_LEASES "/var/lib/whirr-leases"
#define PLACE_LOCKED_LEASES "/run/lock/whirr-leases"
#define PLACE_SYSTEM_SETTINGS "/var/lib/whirr-control"
#define PLACE_SHOWN_SETTINGS "/run/whirr-control"
#define PLACE_SERVICE_LEASES "/var/lib/whirr-control/leases"
#define PLACE_SERVICE_SHOWN "/run/whirr-control/leases"
#define PLACE_SYSTEM_CHECKS "/var/lib/whirr-checks"
#endif
/* Fills in library names, the path of this program, and device access if the system has it. */
void place_fill(struct env *env);
