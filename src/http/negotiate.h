/* SPDX-License-Identifier: Apache-2.0
 * What a client accepts: media types, encodings, and whether it already has what we would send. Pure functions of field values.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Whether `accept` (absent: at == NULL) admits the type, "application/json". Parameters of our own type do not matter. */
bool accepts_type(struct str accept, const char *type);
/* Quality 0 to 1000 that `accept` gives the type; for a choice between several. */
int accept_quality(struct str accept, const char *type);
/* Whether `accept` names the type itself, not only as part of a range. */
bool accept_names(struct str accept, const char *type);
/* Whether gzip is at least as welcome as no encoding. */
bool accepts_gzip(struct str accept_encoding);
/* Whether If-None-Match names the tag (without quotes), weak or strong, or is "*". */
bool none_match_has(struct str if_none_match, const char *etag);

/* ---- Compression by zlib, loaded when first needed: a one-shot command never pays for it. ---- */

/* Appends the gzip form of `in` to `out`. false: zlib is not there, or out is full. */
bool gzip_compress(struct str in, struct buf *out);
/* The other way. False also when the input is damaged or longer than out's maximum. */
bool gzip_expand(struct str in, struct buf *out);
