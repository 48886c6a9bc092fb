/* SPDX-License-Identifier: Apache-2.0
 * What the live view remembers between runs: a small TOML file.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "tui/top.h"

/* Text to settings, over what they are; what is not understood is left as it is. */
void prefs_read(struct str text, struct top_settings *settings);
void prefs_write(const struct top_settings *settings, struct buf *out);

/* A file that is not there is fine. */
void prefs_load(const char *path, struct top_settings *settings);
/* Written beside and renamed; its folder is made. */
int prefs_save(const char *path, const struct top_settings *settings, struct error *err);
