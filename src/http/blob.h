/* SPDX-License-Identifier: Apache-2.0
 * Bytes made once and sent many times: shared by reference, immutable. Only for the event loop's thread, so the count is a plain
 * number. Each has its ETag, and its gzip form once a client asked for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { ETAG_SIZE = 24 };

struct blob {
    const char *at;
    size_t len;
    unsigned refs;
    bool gzip_tried;
    bool is_static; /* part of the program: never freed */
    char etag[ETAG_SIZE];
    struct blob *gzip; /* NULL: not made yet, or not worth it */
};

/* Takes over the buffer's text (and empties it). NULL: the buffer failed, or out of memory. */
struct blob *blob_take(struct buf *b);
struct blob *blob_copy(struct str bytes);
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b); /* accepts NULL */
static inline void cleanup_blob(struct blob **b)
{
    blob_unref(*b);
}
#define AUTO_BLOB __attribute__((cleanup(cleanup_blob)))

/* Computed on first use. */
const char *blob_etag(struct blob *b);
/* The gzip form, or NULL if not worth it (short, or hardly smaller) or without zlib. Borrowed from the blob. */
struct blob *blob_gzip(struct blob *b);

/* ---- Compression by zlib, loaded on first use: a one-shot command never pays for it. ---- */

/* Appends the gzip form of `in` to `out`. False: no zlib, or out is full. */
bool gzip_compress(struct str in, struct buf *out);
/* The reverse. False also if the input is damaged or exceeds out's maximum. */
bool gzip_expand(struct str in, struct buf *out);
