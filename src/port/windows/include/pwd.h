/* SPDX-License-Identifier: Apache-2.0
 * Users by number: Windows has none.
 */
#pragma once

#include <unistd.h>

struct passwd {
    char *pw_name, *pw_dir, *pw_shell;
    uid_t pw_uid;
    gid_t pw_gid;
};
struct passwd *getpwuid(uid_t user);
struct passwd *getpwnam(const char *name);
