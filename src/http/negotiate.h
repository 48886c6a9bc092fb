/* SPDX-License-Identifier: Apache-2.0
 * What a client accepts: media types, encodings, and whether it already has the content. Pure functions of field values.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether `accept` (absent: at == NULL) allows the type, "application/json". Ignores parameters of our own type. */
bool accepts_type(struct str accept, const char *type);
/* The quality, 0 to 1000, of the type in `accept`; to choose between several. */
int accept_quality(struct str accept, const char *type);
/* Whether `accept` names the type itself, not just a range. */
bool accept_names(struct str accept, const char *type);
/* Whether gzip is at least as preferred as no encoding. */
bool accepts_gzip(struct str accept_encoding);
/* Whether If-None-Match contains the tag (without quotes), weak or strong, or is "*". */
bool none_match_has(struct str if_none_match, const char *etag);
