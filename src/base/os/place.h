/* SPDX-License-Identifier: Apache-2.0
 * Where a system keeps things, and whom its environment can be believed of.
 */
#pragma once

#include <stdbool.h>
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
/* Names of libraries, this program, and how devices are asked, as far as the system has them. */
void place_fill(struct env *env);
