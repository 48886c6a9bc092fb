/* SPDX-License-Identifier: Apache-2.0
 * Edits a configuration file as a person would: everything else stays as written, comments included. The result must parse as a
 * configuration before it replaces the file.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "config/config.h"
#include "config/places.h"

enum { EDIT_TEXT_MAX = 1 << 20 };

/* The file that this user's commands change: `named` (may be NULL), else WHIRR_CONFIG, else root's /etc/whirr/whirr.toml or the
 * user's own. False: none is possible. */
bool edit_place(const char *named, char path[PLACE_SIZE]);

/* Appends the file; a missing one counts as empty. */
int edit_read(const char *path, struct buf *text, struct error *err);

/* "text" in quotes. */
void edit_quote(struct buf *out, const char *text);
/* Sets key = value in [section]: replaces the old value, or adds it as the section's first line, or adds the section at the end. */
void edit_set(struct buf *text, const char *section, const char *key, const char *value);
/* Removes the line or lines of the key, and the section's header if nothing else is left in it. */
void edit_unset(struct buf *text, const char *section, const char *key);
/* Removes [path] and its subtables. False: not found. */
bool edit_remove(struct buf *text, const char *path);
bool edit_has(const struct buf *text, const char *path);
/* Appends after an empty line. */
void edit_append(struct buf *text, const char *table);

/* Replaces the file atomically, creating its directory; only its owner can read it (root's: also the group whirr, which runs the
 * service). -EINVAL: no longer a valid configuration; nothing was written. */
int edit_write(const struct env *env, const char *path, struct str text, struct error *err);
/* Length of the longest existing directory in the path. */
size_t edit_parents(const char *path);
/* Removes a file that was written on trial, and the directories created for it: those beyond `there`. */
void edit_undo(const char *path, size_t there);
