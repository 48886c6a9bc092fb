/* SPDX-License-Identifier: Apache-2.0
 * Protocol Buffers' wire format.
 */
#include "net/protobuf.h"

#include <errno.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

size_t pb_varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7)
        size++;
    return size;
}

size_t pb_bytes_size(size_t len)
{
    return 1 + pb_varint_size(len) + len;
}

void pb_varint(struct buf *out, uint64_t value)
{
    char bytes[10];
    size_t len = 0;
    if (value < 0x80) { /* the common case: keys, and lengths of labels */
        buf_char(out, (char)value);
        return;
    }
    for (; value >= 0x80; value >>= 7)
        bytes[len++] = (char)(value | 0x80);
    bytes[len++] = (char)value;
    buf_add(out, bytes, len);
}

static void put_key(struct buf *out, unsigned field, unsigned wire)
{
    pb_varint(out, (uint64_t)field << 3 | wire);
}

void pb_number(struct buf *out, unsigned field, uint64_t value)
{
    put_key(out, field, WIRE_VARINT);
    pb_varint(out, value);
}

void pb_fixed64(struct buf *out, unsigned field, uint64_t bits)
{
    char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(bits >> 8 * i);
    put_key(out, field, WIRE_64);
    buf_add(out, bytes, sizeof bytes);
}

void pb_double(struct buf *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    pb_fixed64(out, field, bits);
}

void pb_begin(struct buf *out, unsigned field, size_t len)
{
    put_key(out, field, WIRE_BYTES);
    pb_varint(out, len);
}

void pb_bytes(struct buf *out, unsigned field, struct str bytes)
{
    pb_begin(out, field, bytes.len);
    buf_str(out, bytes);
}

void pb_text(struct buf *out, unsigned field, const char *text)
{
    pb_bytes(out, field, str_from(text));
}

bool pb_take_varint(struct str *rest, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 64 && rest->len; shift += 7) {
        unsigned char byte = (unsigned char)*rest->at;
        *rest = (struct str){rest->at + 1, rest->len - 1};
        *ret |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_fixed(struct str *rest, size_t size, uint64_t *ret)
{
    *ret = 0;
    if (rest->len < size)
        return false;
    for (size_t i = 0; i < size; i++)
        *ret |= (uint64_t)(unsigned char)rest->at[i] << 8 * i;
    *rest = (struct str){rest->at + size, rest->len - size};
    return true;
}

static bool take_bytes(struct str *rest, struct str *ret)
{
    uint64_t len;
    if (!pb_take_varint(rest, &len) || len > rest->len)
        return false;
    *ret = (struct str){rest->at, (size_t)len};
    *rest = (struct str){rest->at + len, rest->len - (size_t)len};
    return true;
}

int pb_next(struct str *rest, struct pb_field *ret)
{
    uint64_t key;
    *ret = (struct pb_field){0};
    if (!rest->len)
        return 0;
    if (!pb_take_varint(rest, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return -EBADMSG;
    ret->number = (unsigned)(key >> 3);
    bool fine = false;
    switch (key & 7) {
    case WIRE_VARINT: fine = pb_take_varint(rest, &ret->value); break;
    case WIRE_64: fine = take_fixed(rest, 8, &ret->value); break;
    case WIRE_32: fine = take_fixed(rest, 4, &ret->value); break;
    case WIRE_BYTES: fine = take_bytes(rest, &ret->bytes); break;
    default: break; /* groups: obsolete */
    }
    return fine ? 1 : -EBADMSG;
}
