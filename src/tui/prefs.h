/* SPDX-License-Identifier: Apache-2.0
 * The settings that the live view keeps between runs, in a small TOML file.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "tui/top.h"

/* Applies the text to the settings; ignores unknown keys and values. */
void prefs_read(struct str text, struct top_settings *settings);
void prefs_write(const struct top_settings *settings, struct buf *out);

/* A missing file is fine. */
void prefs_load(const char *path, struct top_settings *settings);
/* Replaces the file atomically; creates its directory. */
int prefs_save(const char *path, const struct top_settings *settings, struct error *err);
