/* SPDX-License-Identifier: Apache-2.0
 * Remote write 1.0.
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1 }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2 }
 *   Label        { string name = 1; string value = 2 }
 *   Sample       { double value = 1; int64 timestamp = 2 }
 */
#include "net/protobuf.h"
#include "push/push.h"

/* Prometheus' stale marker: a NaN that no computation produces. */
#define STALE_BITS 0x7ff0000000000002ULL

uint64_t push_bits(const struct push_line *line)
{
    uint64_t bits = STALE_BITS;
    if (!line->stale)
        memcpy(&bits, &line->value, sizeof bits);
    return bits;
}

static void put_series(struct buf *out, const struct push_labels *l, const struct push_line *line, struct wall at)
{
    size_t sample = 1 + 8 + 1 + pb_varint_size((uint64_t)at.ms), whole = pb_bytes_size(sample);
    for (size_t i = 0; i < l->count; i++)
        whole += pb_bytes_size(pb_bytes_size(l->list[i].name.len) + pb_bytes_size(l->list[i].value.len));
    pb_begin(out, 1, whole);
    for (size_t i = 0; i < l->count; i++) {
        pb_begin(out, 1, pb_bytes_size(l->list[i].name.len) + pb_bytes_size(l->list[i].value.len));
        pb_bytes(out, 1, l->list[i].name);
        pb_bytes(out, 2, l->list[i].value);
    }
    pb_begin(out, 2, sample);
    pb_fixed64(out, 1, push_bits(line));
    pb_number(out, 2, (uint64_t)at.ms);
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
