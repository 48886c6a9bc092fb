/* SPDX-License-Identifier: Apache-2.0
 * Snappy's block format: the length, then literals and copies of earlier bytes.
 *
 *   literal   00 in the low bits, the length - 1 in the high six, or 60 and 61 there and the length - 1 in one or two bytes
 *   copy      10 in the low bits, the length - 1 (1 to 64) in the high six, then the distance in two bytes
 *
 * Each block of 64 KiB is compressed separately, so that a distance always fits two bytes. A table remembers where each sequence of
 * four bytes was last seen, which suffices to find the repeated labels of metrics.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "net/protobuf.h"
#include "push/push.h"

enum { BLOCK = 65536, HASH_BITS = 13, HASH_SIZE = 1 << HASH_BITS, MATCH_MIN = 4, COPY_MAX = 64 };
enum { TAG_LITERAL = 0, TAG_COPY_2 = 2, LITERAL_SHORT = 60, LITERAL_ONE_BYTE = 60, LITERAL_TWO_BYTES = 61 };

static uint32_t snappy_load(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static size_t slot_of(uint32_t four)
{
    return (four * 0x1e35a7bdU) >> (32 - HASH_BITS);
}

static void put_literal(struct buf *out, const unsigned char *at, size_t len)
{
    if (!len)
        return;
    size_t n = len - 1;
    if (n < LITERAL_SHORT) {
        buf_char(out, (char)(n << 2 | TAG_LITERAL));
    } else if (n < 256) {
        buf_add(out, (const char[]){(char)(LITERAL_ONE_BYTE << 2), (char)n}, 2);
    } else {
        buf_add(out, (const char[]){(char)(LITERAL_TWO_BYTES << 2), (char)n, (char)(n >> 8)}, 3);
    }
    buf_add(out, (const char *)at, len);
}

static void put_copy(struct buf *out, size_t distance, size_t len)
{
    while (len) {
        size_t piece = MIN_OF(len, (size_t)COPY_MAX);
        buf_add(out, (const char[]){(char)((piece - 1) << 2 | TAG_COPY_2), (char)distance, (char)(distance >> 8)}, 3);
        len -= piece;
    }
}

static void put_block(struct buf *out, const unsigned char *block, size_t len)
{
    uint16_t seen[HASH_SIZE] = {0};
    size_t at = 0, literal = 0;
    while (at + MATCH_MIN <= len) {
        uint32_t four = snappy_load(block + at);
        size_t slot = slot_of(four), before = seen[slot];
        seen[slot] = (uint16_t)at;
        if (before >= at || snappy_load(block + before) != four) {
            at++;
            continue;
        }
        size_t match = MATCH_MIN;
        while (at + match < len && block[before + match] == block[at + match])
            match++;
        put_literal(out, block + literal, at - literal);
        put_copy(out, at - before, match);
        at += match;
        literal = at;
    }
    put_literal(out, block + literal, len - literal);
}

void push_snappy(struct buf *out, struct str plain)
{
    pb_varint(out, plain.len); /* the length uses the same varint */
    for (size_t at = 0; at < plain.len; at += BLOCK)
        put_block(out, (const unsigned char *)plain.at + at, MIN_OF(plain.len - at, (size_t)BLOCK));
}

/* ---- decompression: only for push_snappy()'s output ---- */

static bool take_literal(struct str *rest, unsigned tag, struct buf *out)
{
    size_t len = tag >> 2, extra = len < LITERAL_SHORT ? 0 : len == LITERAL_ONE_BYTE ? 1 : 2;
    if (len > LITERAL_TWO_BYTES || rest->len < extra)
        return false;
    if (extra) {
        len = (unsigned char)rest->at[0];
        if (extra == 2)
            len |= (size_t)(unsigned char)rest->at[1] << 8;
        *rest = (struct str){rest->at + extra, rest->len - extra};
    }
    if (rest->len < ++len)
        return false;
    buf_add(out, rest->at, len);
    *rest = (struct str){rest->at + len, rest->len - len};
    return true;
}

static bool take_copy(struct str *rest, unsigned tag, size_t begin, struct buf *out)
{
    size_t len = (tag >> 2) + 1;
    if ((tag & 3) != TAG_COPY_2 || rest->len < 2)
        return false;
    size_t distance = (unsigned char)rest->at[0] | (size_t)(unsigned char)rest->at[1] << 8;
    *rest = (struct str){rest->at + 2, rest->len - 2};
    if (!distance || distance > out->len - begin)
        return false;
    for (size_t i = 0; i < len && !out->failed; i++)
        buf_char(out, out->at[out->len - distance]); /* byte by byte: the copy may overlap its output */
    return true;
}

int push_unsnappy(struct buf *out, struct str packed)
{
    uint64_t whole;
    size_t begin = out->len;
    if (!pb_take_varint(&packed, &whole) || whole > PUSH_BODY_MAX)
        return -EBADMSG;
    while (packed.len && !out->failed) {
        unsigned tag = (unsigned char)*packed.at;
        packed = (struct str){packed.at + 1, packed.len - 1};
        if (!((tag & 3) == TAG_LITERAL ? take_literal(&packed, tag, out) : take_copy(&packed, tag, begin, out)))
            return -EBADMSG;
    }
    return out->failed ? -ENOMEM : out->len - begin == whole ? 0 : -EBADMSG;
}
