/* SPDX-License-Identifier: Apache-2.0
 * Bytes that are made once and sent many times: shared by reference, never changed. Used from the event loop thread only, so the
 * count is a plain number. Each carries its ETag, and its gzip form once a client asked for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { ETAG_SIZE = 24 };

struct blob {
    const char *at;
    size_t len;
    unsigned refs;
    bool gzip_tried;
    bool is_static; /* bytes of the program itself: never freed */
    char etag[ETAG_SIZE];
    struct blob *gzip; /* NULL: not made yet, or it would not pay */
};

/* Takes the buffer's text over (the buffer is empty afterwards). NULL when the buffer failed or memory is out. */
struct blob *blob_take(struct buf *b);
struct blob *blob_copy(struct str bytes);
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b); /* NULL is fine */
static inline void cleanup_blob(struct blob **b)
{
    blob_unref(*b);
}
#define AUTO_BLOB __attribute__((cleanup(cleanup_blob)))

/* Computed on first use. */
const char *blob_etag(struct blob *b);
/* The gzip form, or NULL where it does not pay (short, or hardly smaller) or zlib is not there. Borrowed from the blob. */
struct blob *blob_gzip(struct blob *b);
