/* SPDX-License-Identifier: Apache-2.0
 * Protocol Buffers' wire format, in both directions: enough for a few messages of foreign protocols, which aren't worth a library.
 * Pure.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* ---- writing. The length precedes a nested message: compute it first, or write the message to another buffer. ---- */

size_t pb_varint_size(uint64_t value);
/* A bytes field with its key and length; field numbers below 16. */
size_t pb_bytes_size(size_t len);

void pb_varint(struct buf *out, uint64_t value);
void pb_number(struct buf *out, unsigned field, uint64_t value);
void pb_fixed64(struct buf *out, unsigned field, uint64_t bits);
void pb_double(struct buf *out, unsigned field, double value);
void pb_bytes(struct buf *out, unsigned field, struct str bytes);
void pb_text(struct buf *out, unsigned field, const char *text);
/* Key and length of a message of `len` bytes, to be written next. */
void pb_begin(struct buf *out, unsigned field, size_t len);

/* ---- reading ---- */

/* Cuts off a number, as packed fields contain them in sequence; false: none. */
bool pb_take_varint(struct str *rest, uint64_t *ret);

struct pb_field {
    unsigned number;
    uint64_t value;   /* of a varint, or the bits of a fixed-width one */
    struct str bytes; /* of a text, bytes or message; at NULL: a number */
};
/* 1: cut the next field off `rest`; 0: end; -EBADMSG: not a message. */
int pb_next(struct str *rest, struct pb_field *ret);
