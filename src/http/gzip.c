/* SPDX-License-Identifier: Apache-2.0
 * The few zlib functions we need, loaded on first use.
 */
#include "http/negotiate.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/env.h"

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
