/* SPDX-License-Identifier: Apache-2.0
 * Records what a sample reads below the sysroot, to archive the host: each path once, with its latest content. Keeps symbolic links
 * as such because they lead to the drivers' directories.
 */
#pragma once

#include "base/env.h"

struct caught;

enum { CAUGHT_MAX = 20000, CAUGHT_BYTES_MAX = 48 * 1024 * 1024 };

struct caught_entry {
    enum env_read kind; /* READ_FILE, READ_LINK or READ_FOLDER */
    const char *path;   /* as on the host, resolved except for the last part */
    struct str bytes;   /* content of a file, or target of a link */
};

struct caught *caught_new(void); /* NULL: out of memory */
void caught_free(struct caught *c);

/* Records all reads through env from now on, from any thread. */
void caught_watch(struct caught *c, struct env *env);
/* Stops recording and resolves the paths. Sorts entries by path, directories before their contents. */
size_t caught_finish(struct caught *c, struct env *env, const struct caught_entry **ret);
/* Entries that did not fit. */
size_t caught_lost(const struct caught *c);
