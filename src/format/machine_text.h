/* SPDX-License-Identifier: Apache-2.0
 * A recorded host as one text file (NAME.machine): the files, links and processes that whirr reads, in lines that people can read
 * and edit. `whirr doctor --bundle` writes it; expanded into a directory, it serves as --sysroot. docs/machines.md describes the
 * format. This file does not know what the files mean.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum { MACHINE_TEXT_MAX = 64 * 1024 * 1024 };

enum machine_kind { MACHINE_FILE, MACHINE_LINK, MACHINE_FOLDER };

struct machine_entry {
    enum machine_kind kind;
    const char *path; /* as on the host, without links in it */
    struct str bytes; /* content of a file, or target of a link */
};

/* Writes the entries, sorted by path, after `about` as a comment. Returns how many have names that the format can't hold. */
size_t machine_write(struct buf *out, struct str about, const struct machine_entry *entries, size_t count);

/* Creates the host in `dir`, which must be new or empty. The text may be malicious: writes nothing outside. */
int machine_expand(struct str text, const char *dir, struct error *err);
