/* SPDX-License-Identifier: Apache-2.0
 * Command lines for the eyes of others: what looks like a key, a token or a password becomes "***". A pure function.
 */
#pragma once

#include "base/str.h"

/* Joins the arguments with blanks into `to`, secrets masked; the names of options stay. Cut at size - 1. */
void mask_arguments(const struct str *args, size_t count, char *to, size_t size);
