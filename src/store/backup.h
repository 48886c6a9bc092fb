/* SPDX-License-Identifier: Apache-2.0
 * Writes all of a history into one new SQLite file, as it is at this moment, while it is written to: a file page by page, a server
 * row by row (one host with `host`). Looks through the new file before it gets its name; until then it is PATH.part.
 * -ECANCELED: nothing is left.
 */
#pragma once

#include "store/store.h"

struct backup_options {
    const struct env *env;
    const char *from, *path, *host; /* host NULL: all */
    const _Atomic bool *cancel;
    void (*progress)(void *user, const char *part, int64_t permille);
    void *user;
};
int store_backup(const struct backup_options *options, int64_t *ret_bytes, struct error *err);
