/* SPDX-License-Identifier: Apache-2.0
 * Masks secrets in texts that others see: keys, tokens and passwords become "***". All command lines, URLs and settings that whirr
 * shows, logs, stores or sends pass through here. Pure functions.
 */
#pragma once

#include "base/buf.h"

/* Joins the arguments with spaces into `to`, with secrets masked but option names kept. Truncates at size - 1. */
void mask_arguments(const struct str *args, size_t count, char *to, size_t size);
/* The same as a list: a NUL after each argument, nothing truncated or cleaned. */
void mask_each(const struct str *args, size_t count, struct buf *out);
/* Masks a named value, as in a table of labels or headers. */
void mask_value(struct str name, struct str value, struct buf *out);
/* Masks a sentence, URL or document. Hashes stay: log lines need container IDs and revisions. */
void mask_text(struct str text, struct buf *out);
/* mask_text() in place, for text about to leave the program. Nearly free for texts without the marks of a secret. */
void mask_here(char *text, size_t size);
