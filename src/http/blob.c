/* SPDX-License-Identifier: Apache-2.0
 * Shared bytes, their tags and their compressed forms.
 */
#include "http/blob.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/negotiate.h"

enum { GZIP_LEAST = 1024 };

struct blob *blob_take(struct buf *b)
{
    size_t len = b->len;
    AUTO_FREE char *text = buf_take(b);
    struct blob *blob = text ? calloc(1, sizeof *blob) : NULL;
    if (!blob)
        return NULL;
    /* The builder grows by doubling; long-lived blobs return the rest. */
    char *fitted = realloc(text, len + 1);
    blob->at = fitted ? fitted : text;
    text = NULL;
    blob->len = len;
    blob->refs = 1;
    return blob;
}

struct blob *blob_copy(struct str bytes)
{
    AUTO_BUF struct buf b = BUF(bytes.len + 1);
    buf_str(&b, bytes);
    return blob_take(&b);
}

struct blob *blob_ref(struct blob *b)
{
    b->refs++;
    return b;
}

void blob_unref(struct blob *b)
{
    if (!b || b->is_static || --b->refs)
        return;
    blob_unref(b->gzip);
    free((char *)b->at);
    free(b);
}

/* FNV-1a over eight bytes at a time: distinguishes bodies, but doesn't resist attackers, who would gain nothing here. */
static uint64_t blob_hash(struct str s)
{
    uint64_t h = 0xcbf29ce484222325u ^ s.len;
    size_t i = 0;
    for (; i + 8 <= s.len; i += 8) {
        uint64_t eight;
        memcpy(&eight, s.at + i, 8);
        h = (h ^ eight) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (; i < s.len; i++)
        h = (h ^ (unsigned char)s.at[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

const char *blob_etag(struct blob *b)
{
    if (!b->etag[0])
        snprintf(b->etag, sizeof b->etag, "%016" PRIx64, blob_hash((struct str){b->at, b->len}));
    return b->etag;
}

struct blob *blob_gzip(struct blob *b)
{
    if (b->gzip || b->gzip_tried)
        return b->gzip;
    b->gzip_tried = true;
    if (b->len < GZIP_LEAST)
        return NULL;
    AUTO_BUF struct buf packed = BUF(b->len);
    if (!gzip_compress((struct str){b->at, b->len}, &packed) || packed.len > b->len - b->len / 10)
        return NULL;
    b->gzip = blob_take(&packed);
    if (b->gzip) /* the compressed form needs its own strong tag */
        snprintf(b->gzip->etag, sizeof b->gzip->etag, "%s-gz", blob_etag(b));
    return b->gzip;
}
