/* SPDX-License-Identifier: Apache-2.0
 * A recorded machine as one text file (NAME.machine): the files, links and processes that whirr reads, in lines a person can read
 * and change. `whirr doctor --bundle` writes it; expanded into a directory, it is what --sysroot takes. docs/machines.md has the
 * format. This file must not know what the files mean.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum { MACHINE_TEXT_MAX = 64 * 1024 * 1024 };

enum machine_kind { MACHINE_FILE, MACHINE_LINK, MACHINE_FOLDER };

struct machine_entry {
    enum machine_kind kind;
    const char *path; /* as on the machine, and through no link */
    struct str bytes; /* of a file, or the target of a link */
};

/* Adds the entries, sorted by path, and `about` as a comment in front. Returns how many have names the format cannot hold. */
size_t machine_write(struct buf *out, struct str about, const struct machine_entry *entries, size_t count);

/* Makes the machine in `dir`, which must be new or empty. The text may come from a stranger: nothing is written outside. */
int machine_expand(struct str text, const char *dir, struct error *err);
