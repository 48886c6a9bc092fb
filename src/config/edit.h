/* SPDX-License-Identifier: Apache-2.0
 * Changes to a configuration file as a person would make them: what is not meant stays as it was written, comments too. What comes
 * out is read as a configuration before it takes the place of the file.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "config/config.h"
#include "config/places.h"

enum { EDIT_TEXT_MAX = 1 << 20 };

/* The file that this user's commands would change: the one that was named (may be NULL), else WHIRR_CONFIG's, else root's
 * /etc/whirr/whirr.toml or the user's own. False: there is no place for one. */
bool edit_place(const char *named, char path[PLACE_SIZE]);

/* Appends the file; a missing one is empty. */
int edit_read(const char *path, struct buf *text, struct error *err);

/* "text" with its quotes. */
void edit_quote(struct buf *out, const char *text);
/* key = value in [section]: over the old value, else as the first line of the section, else in a new section at the end. */
void edit_set(struct buf *text, const char *section, const char *key, const char *value);
/* Removes [path] and its subtables. False: there is none. */
bool edit_remove(struct buf *text, const char *path);
bool edit_has(const struct buf *text, const char *path);
/* At the end, behind an empty line. */
void edit_append(struct buf *text, const char *table);

/* Into the place of the file, whole or not at all, with its directory; readable by its owner only (of root's: also by the group
 * whirr, as which the service runs). -EINVAL: it is not a configuration any more, and nothing was written. */
int edit_write(const struct env *env, const char *path, struct str text, struct error *err);
/* How much of the path is there: the length of the longest directory. */
size_t edit_parents(const char *path);
/* Removes a file that was written to try it, and the directories that were made for it: those beyond `there`. */
void edit_undo(const char *path, size_t there);
