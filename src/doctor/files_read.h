/* SPDX-License-Identifier: Apache-2.0
 * Keeps what is read below the sysroot during a sample, so that the machine can be put into an archive: each path once,
 * with what it held last. Symbolic links on the way are kept as such, because drivers' folders are found through them.
 */
#pragma once

#include "base/env.h"

struct caught;

enum { CAUGHT_MAX = 20000, CAUGHT_BYTES_MAX = 48 * 1024 * 1024 };

struct caught_entry {
    enum env_read kind; /* READ_FILE, READ_LINK or READ_FOLDER */
    const char *path;   /* as on the machine, resolved but for the last part */
    struct str bytes;   /* of a file, or the target of a link */
};

struct caught *caught_new(void); /* NULL: out of memory */
void caught_free(struct caught *c);

/* Makes env tell what it reads from now on, from any thread. */
void caught_watch(struct caught *c, struct env *env);
/* Stops it and resolves the paths; afterwards the entries are sorted by path, folders in front of what they hold. */
size_t caught_finish(struct caught *c, struct env *env, const struct caught_entry **ret);
/* Entries that were not kept because there was no room. */
size_t caught_lost(const struct caught *c);
