/* SPDX-License-Identifier: Apache-2.0
 * Groups by number: Windows has none.
 */
#pragma once

#include <unistd.h>

struct group {
    char *gr_name;
    gid_t gr_gid;
    char **gr_mem;
};
struct group *getgrnam(const char *name);
struct group *getgrgid(gid_t group);
int getgroups(int size, gid_t *list);
