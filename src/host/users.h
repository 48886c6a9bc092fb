/* SPDX-License-Identifier: Apache-2.0
 * Names of users by number, from /etc/passwd below the sysroot and, on the real machine, from the name service behind it.
 */
#pragma once

#include "base/env.h"

struct users;

struct users *users_new(const struct env *env);
void users_free(struct users *u);
/* The name, or the number where there is none. */
void users_name(struct users *u, int64_t uid, char *to, size_t size);

/* The name of `uid` in the text of a passwd file. */
bool passwd_find(struct str passwd, int64_t uid, struct str *name);
