/* SPDX-License-Identifier: Apache-2.0
 * Remote write 1.0 in protobuf, by hand: three kinds of messages are not worth a library.
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1 }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2 }
 *   Label        { string name = 1; string value = 2 }
 *   Sample       { double value = 1; int64 timestamp = 2 }
 */
#include "base/cleanup.h"
#include "push/push.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2 };

/* Prometheus' sign that a series has ended: a NaN that no computation gives. */
#define STALE_BITS 0x7ff0000000000002ULL

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7)
        size++;
    return size;
}

static void put_varint(struct buf *out, uint64_t value)
{
    char bytes[10];
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[len++] = (char)(value | 0x80);
    bytes[len++] = (char)value;
    buf_add(out, bytes, len);
}

static void put_key(struct buf *out, unsigned field, unsigned wire)
{
    put_varint(out, field << 3 | wire);
}

static void put_bytes(struct buf *out, unsigned field, struct str bytes)
{
    put_key(out, field, WIRE_BYTES);
    put_varint(out, bytes.len);
    buf_str(out, bytes);
}

static size_t bytes_size(size_t len)
{
    return 1 + varint_size(len) + len; /* field numbers below 16 take one byte */
}

static void put_double(struct buf *out, unsigned field, uint64_t bits)
{
    char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(bits >> 8 * i);
    put_key(out, field, WIRE_64);
    buf_add(out, bytes, sizeof bytes);
}

static void put_series(struct buf *out, const struct push_labels *l, const struct push_line *line, struct wall at)
{
    uint64_t bits = STALE_BITS;
    if (!line->stale)
        memcpy(&bits, &line->value, sizeof bits);
    size_t sample = 1 + 8 + 1 + varint_size((uint64_t)at.ms), whole = bytes_size(sample);
    for (size_t i = 0; i < l->count; i++)
        whole += bytes_size(bytes_size(l->list[i].name.len) + bytes_size(l->list[i].value.len));
    put_key(out, 1, WIRE_BYTES);
    put_varint(out, whole);
    for (size_t i = 0; i < l->count; i++) {
        put_key(out, 1, WIRE_BYTES);
        put_varint(out, bytes_size(l->list[i].name.len) + bytes_size(l->list[i].value.len));
        put_bytes(out, 1, l->list[i].name);
        put_bytes(out, 2, l->list[i].value);
    }
    put_key(out, 2, WIRE_BYTES);
    put_varint(out, sample);
    put_double(out, 1, bits);
    put_key(out, 2, WIRE_VARINT);
    put_varint(out, (uint64_t)at.ms);
}

void push_remote_write(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                       const struct push_identity *who)
{
    struct push_labels labels;
    push_labels_init(&labels);
    for (size_t i = 0; i < count; i++)
        if (push_labels_read(&labels, lines[i].series, str_from(who->job), str_from(who->instance)))
            put_series(out, &labels, &lines[i], at);
    push_labels_done(&labels);
}
