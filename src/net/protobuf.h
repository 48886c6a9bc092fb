/* SPDX-License-Identifier: Apache-2.0
 * Protocol Buffers' wire format, both ways: what a few messages of other people's protocols need, which are not worth a library.
 * Pure.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* ---- writing. The length of a nested message goes in front of it: its size is known before, or it is written aside. ---- */

size_t pb_varint_size(uint64_t value);
/* A field of bytes with its key and length; field numbers below 16. */
size_t pb_bytes_size(size_t len);

void pb_varint(struct buf *out, uint64_t value);
void pb_number(struct buf *out, unsigned field, uint64_t value);
void pb_fixed64(struct buf *out, unsigned field, uint64_t bits);
void pb_double(struct buf *out, unsigned field, double value);
void pb_bytes(struct buf *out, unsigned field, struct str bytes);
void pb_text(struct buf *out, unsigned field, const char *text);
/* Key and length of a message of `len` bytes, which follow. */
void pb_begin(struct buf *out, unsigned field, size_t len);

/* ---- reading ---- */

/* Cuts a number off, as packed fields hold them one behind the other; false: there is none. */
bool pb_take_varint(struct str *rest, uint64_t *ret);

struct pb_field {
    unsigned number;
    uint64_t value;   /* of a varint, or the bits of a fixed one */
    struct str bytes; /* of a text, of bytes, of a message; at NULL: it is a number */
};
/* 1: the next field was cut off from `rest`; 0: there is none any more; -EBADMSG: this is no message. */
int pb_next(struct str *rest, struct pb_field *ret);
