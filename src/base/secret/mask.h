/* SPDX-License-Identifier: Apache-2.0
 * Texts for the eyes of others: what looks like a key, a token or a password becomes "***". Everything that whirr shows, logs,
 * stores or sends of command lines, URLs and settings goes through here. Pure functions.
 */
#pragma once

#include "base/buf.h"

/* Joins the arguments with blanks into `to`, secrets masked; the names of options stay. Cut at size - 1. */
void mask_arguments(const struct str *args, size_t count, char *to, size_t size);
/* The same, each argument with a NUL behind it, nothing cut or cleaned: for lists. */
void mask_each(const struct str *args, size_t count, struct buf *out);
/* A value with a name in front, as in a table of labels or headers. */
void mask_value(struct str name, struct str value, struct buf *out);
/* A sentence, a URL, a document. Hashes stay: container ids and revisions are what log lines are about. */
void mask_text(struct str text, struct buf *out);
/* mask_text() in place, where a text is about to leave. Texts without the marks of a secret cost next to nothing. */
void mask_here(char *text, size_t size);
