/* SPDX-License-Identifier: Apache-2.0
 * Small files that a daemon keeps across restarts: written atomically, readable by their owner only. Paths are those of this host,
 * never below a sysroot.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* FOLDER/NAME plus `ending`, for a name that people chose. A name that isn't a valid file name becomes a number, so that no two
 * names share a file. */
void keep_path(const char *folder, const char *name, const char *ending, char *path, size_t size);
/* Writes a new file, syncs it, and renames it over the old one. */
int keep_write(const char *path, struct str text, struct error *err);
/* Prepares the new file before it replaces the old one: its owner, a check of its contents. */
typedef int keep_ready_fn(void *user, int fd, const char *fresh, struct error *err);
int keep_write_ready(const char *path, struct str text, keep_ready_fn *ready, void *user, struct error *err);
/* The same with a mode, for a file that others may read. */
int keep_write_as(const char *path, struct str text, mode_t mode, struct error *err);
/* Writes all of it, and syncs it. 0 or -errno. */
int keep_write_to(int fd, struct str text);
/* Appends the file to `text`. -ENOENT: missing; -EFBIG: larger than text->max. */
int keep_read(const char *path, struct buf *text, struct error *err);
/* Moves an unreadable file to "PATH.damaged", replacing an older one: nothing is lost and nothing accumulates. */
int keep_aside(const char *path, struct error *err);
