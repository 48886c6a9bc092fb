/* SPDX-License-Identifier: Apache-2.0
 * Shared bytes, their tags and their compressed forms.
 */
#include "http/blob.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/env.h"

/* ---- the few zlib functions we need, loaded on first use ---- */

static struct {
    bool tried, loaded;
    typeof(deflateInit2_) *init;
    typeof(deflate) *deflate;
    typeof(deflateEnd) *end;
    typeof(deflateBound) *bound;
    typeof(inflateInit2_) *inflate_init;
    typeof(inflate) *inflate;
    typeof(inflateEnd) *inflate_end;
} zlib;

static const struct library_symbol symbols[] = {
    {"deflateInit2_", &zlib.init},         {"deflate", &zlib.deflate}, {"deflateBound", &zlib.bound},     {"deflateEnd", &zlib.end},
    {"inflateInit2_", &zlib.inflate_init}, {"inflate", &zlib.inflate}, {"inflateEnd", &zlib.inflate_end},
};

static bool gzip_load(void)
{
    if (!zlib.tried) {
        zlib.tried = true;
        void *library = library_load("libz.so.1", NULL);
        zlib.loaded = library && library_symbols(library, symbols, ARRAY_LEN(symbols), NULL) == 0;
    }
    return zlib.loaded;
}

bool gzip_compress(struct str in, struct buf *out)
{
    if (!gzip_load())
        return false;
    /* Level 1: most of the gain for a fraction of the time, as a body lives for one sample only. 16 + 15 window bits: gzip. */
    z_stream z = {0};
    if (zlib.init(&z, 1, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof z) != Z_OK)
        return false;
    size_t bound = zlib.bound(&z, in.len) + 32;
    char *room = malloc(bound);
    bool done = false;
    if (room) {
        z.next_in = (Bytef *)in.at;
        z.avail_in = (uInt)in.len;
        z.next_out = (Bytef *)room;
        z.avail_out = (uInt)bound;
        done = zlib.deflate(&z, Z_FINISH) == Z_STREAM_END;
        if (done)
            buf_add(out, room, bound - z.avail_out);
    }
    zlib.end(&z);
    free(room);
    return done && !out->failed;
}

bool gzip_expand(struct str in, struct buf *out)
{
    if (!gzip_load())
        return false;
    z_stream z = {.next_in = (Bytef *)in.at, .avail_in = (uInt)in.len};
    if (zlib.inflate_init(&z, 16 + 15, ZLIB_VERSION, (int)sizeof z) != Z_OK)
        return false;
    int status;
    do {
        char piece[16384];
        z.next_out = (Bytef *)piece;
        z.avail_out = sizeof piece;
        status = zlib.inflate(&z, Z_NO_FLUSH);
        buf_add(out, piece, sizeof piece - z.avail_out);
    } while (status == Z_OK && !out->failed);
    zlib.inflate_end(&z);
    return status == Z_STREAM_END && !out->failed;
}

/* ---- blobs ---- */

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
