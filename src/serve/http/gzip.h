/* SPDX-License-Identifier: Apache-2.0
 * Compression by zlib, loaded when first needed: a one-shot command never pays for it.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Appends the gzip form of `in` to `out`. false: zlib is not there, or out is full. */
bool gzip_compress(struct str in, struct buf *out);
/* The other way. False also when the input is damaged or longer than out's maximum. */
bool gzip_expand(struct str in, struct buf *out);
