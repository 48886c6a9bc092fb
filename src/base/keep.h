/* SPDX-License-Identifier: Apache-2.0
 * Small files that a daemon keeps over its restarts: written whole or not at all, readable by their owner only.
 * Paths are those of this machine, never below a sysroot.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* FOLDER/NAME with `ending` behind it, for a name that people chose. One that is no name of a file gets a number instead, so that
 * no two names share a file. */
void keep_path(const char *folder, const char *name, const char *ending, char *path, size_t size);
/* Into a new file beside it, to the disk, then over the old one. */
int keep_write(const char *path, struct str text, struct error *err);
/* Prepares the new file before it replaces the old one: its owner, a check of what it says. */
typedef int keep_ready_fn(void *user, int fd, const char *fresh, struct error *err);
int keep_write_ready(const char *path, struct str text, keep_ready_fn *ready, void *user, struct error *err);
/* The same for a file that others may read. */
int keep_write_as(const char *path, struct str text, mode_t mode, struct error *err);
/* Appends the file. -ENOENT: there is none; -EFBIG: longer than `text` may become. */
int keep_read(const char *path, struct buf *text, struct error *err);
/* A file that cannot be understood is moved to "PATH.damaged", over an older one there, so that nothing is lost and nothing
 * grows. */
int keep_aside(const char *path, struct error *err);
