/* SPDX-License-Identifier: Apache-2.0
 * Command lines for the eyes of others: what looks like a key, a token or a password becomes "***". A pure function.
 */
#pragma once

#include "base/str.h"

/* Joins the arguments with blanks into `to`, secrets masked; the names of options stay. Cut at size - 1. */
void mask_arguments(const struct str *args, size_t count, char *to, size_t size);

/* ---- What secrets are called and what they look like; mask.c finds them in command lines. ---- */

enum { SECRET_NAME_SIZE = 64 };

/* "--HF_Token" -> "hf-token", in the caller's room; cut there. */
struct str secret_normal_name(struct str name, char room[SECRET_NAME_SIZE]);
/* Whether an option or variable of this name holds a secret (--api-key, PASSWORD), or an identifier that looks like one
 * (--revision). Given in any spelling. */
bool secret_name(struct str name);
bool secret_identifier_name(struct str name);
/* Whether the value of a secret name hides something: not "true", not the path of a key file. */
bool secret_worth_masking(struct str name, struct str value);

/* Whether a text is a token by its beginning, a JWT, or long and random. A hash is random too: say where one may stand. */
bool secret_looks(struct str s, bool may_be_hash);
bool secret_is_random(struct str run, bool may_be_hash);
/* Digits with dots, colons and the like between: a port, an address, a range. */
bool secret_is_number(struct str s);
