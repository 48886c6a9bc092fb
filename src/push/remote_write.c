/* SPDX-License-Identifier: Apache-2.0
 * Remote write 1.0, and 2.0: strings interned in a symbol table, with metadata and start times of counters; and back to 1.0 for
 * receivers that know nothing else.
 */
#include "net/protobuf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "push/push.h"

/* Prometheus' stale marker: a NaN that no computation produces. */
#define STALE_BITS 0x7ff0000000000002ULL

/* The bits of a value, or of Prometheus' stale marker. */
static uint64_t push_bits(const struct push_line *line)
{
    uint64_t bits = STALE_BITS;
    if (!line->stale)
        memcpy(&bits, &line->value, sizeof bits);
    return bits;
}

/* ---- 1.0 ----
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1 }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2 }
 *   Label        { string name = 1; string value = 2 }
 *   Sample       { double value = 1; int64 timestamp = 2 }
 */

static void put_series_1(struct buf *out, const struct push_labels *l, const struct push_line *line, struct wall at)
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
            put_series_1(out, &labels, &lines[i], at);
    push_labels_done(&labels);
}

/* ---- 2.0 ----
 *
 *   Request    { repeated string symbols = 4; repeated TimeSeries timeseries = 5 }
 *   TimeSeries { repeated uint32 labels_refs = 1; repeated Sample samples = 2; Metadata metadata = 5 }
 *   Sample     { double value = 1; int64 timestamp = 2; int64 start_timestamp = 3 }
 *   Metadata   { MetricType type = 1; uint32 help_ref = 3; uint32 unit_ref = 4 }
 */

enum { TYPE_COUNTER = 1, TYPE_GAUGE = 2, REFS_MAX = 2 * PUSH_LABELS_MAX };

/* Interned strings; `slots` is a power of two and at most half full. */
struct symbols {
    struct buf space; /* all strings, concatenated */
    struct symbol {
        size_t at, len;
    } * list;
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count;
    bool failed;
};

static struct str text_of(const struct symbols *t, size_t i)
{
    return (struct str){t->list[i].len ? t->space.at + t->list[i].at : "", t->list[i].len};
}

static bool grow(struct symbols *t)
{
    size_t capacity = t->capacity ? 2 * t->capacity : 256, slot_count = 4 * capacity;
    struct symbol *list = realloc(t->list, capacity * sizeof *list);
    if (list)
        t->list = list;
    uint32_t *slots = list ? calloc(slot_count, sizeof *slots) : NULL;
    if (!slots)
        return false;
    free(t->slots);
    t->slots = slots;
    t->slot_count = slot_count;
    t->capacity = capacity;
    for (size_t i = 0; i < t->count; i++) {
        size_t s = str_hash(text_of(t, i)) & (slot_count - 1);
        while (slots[s])
            s = (s + 1) & (slot_count - 1);
        slots[s] = (uint32_t)i + 1;
    }
    return true;
}

/* The number of a string; a new one gets the next. */
static uint32_t symbol(struct symbols *t, struct str text)
{
    if (t->failed || (t->count == t->capacity && !grow(t))) {
        t->failed = true;
        return 0;
    }
    size_t s = str_hash(text) & (t->slot_count - 1);
    for (; t->slots[s]; s = (s + 1) & (t->slot_count - 1))
        if (str_equal(text_of(t, t->slots[s] - 1), text))
            return t->slots[s] - 1;
    t->list[t->count] = (struct symbol){t->space.len, text.len};
    buf_str(&t->space, text);
    t->failed |= t->space.failed;
    t->slots[s] = (uint32_t)++t->count;
    return (uint32_t)t->count - 1;
}

/* "bytes" of gpu_memory_used_bytes: OpenMetrics' unit. */
static struct str unit_of(struct str name)
{
    static const char *const units[] = {"bytes_per_second", "bytes", "seconds", "celsius", "watts",
                                        "joules",           "hertz", "ratio",   "volts"};
    if (str_ends(name, "_total"))
        name.len -= strlen("_total");
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_ends(name, units[i]))
            return str_from(units[i]);
    return STR("");
}

static void put_series_2(struct buf *out, struct symbols *t, const struct push_labels *l, const struct push_line *line,
                         struct wall at, struct wall started)
{
    uint32_t refs[REFS_MAX];
    size_t count = 0, packed = 0;
    struct str name = {0};
    for (size_t i = 0; i < l->count; i++) {
        refs[count++] = symbol(t, l->list[i].name);
        refs[count++] = symbol(t, l->list[i].value);
        if (str_is(l->list[i].name, "__name__"))
            name = l->list[i].value;
    }
    for (size_t i = 0; i < count; i++)
        packed += pb_varint_size(refs[i]);
    /* Only our own counters started with us; a driver's have their own start. */
    bool ours = line->counter && !line->stale && started.ms && (str_starts(name, "whirr_") || str_starts(name, "process_"));
    uint32_t help = symbol(t, line->help), unit = symbol(t, unit_of(name));
    size_t sample = 1 + 8 + 1 + pb_varint_size((uint64_t)at.ms) + (ours ? 1 + pb_varint_size((uint64_t)started.ms) : 0);
    size_t metadata = 2 + 1 + pb_varint_size(help) + 1 + pb_varint_size(unit);
    pb_begin(out, 5, pb_bytes_size(packed) + pb_bytes_size(sample) + pb_bytes_size(metadata));
    pb_begin(out, 1, packed);
    for (size_t i = 0; i < count; i++)
        pb_varint(out, refs[i]);
    pb_begin(out, 2, sample);
    pb_fixed64(out, 1, push_bits(line));
    pb_number(out, 2, (uint64_t)at.ms);
    if (ours)
        pb_number(out, 3, (uint64_t)started.ms);
    pb_begin(out, 5, metadata);
    pb_number(out, 1, line->counter ? TYPE_COUNTER : TYPE_GAUGE);
    pb_number(out, 3, help);
    pb_number(out, 4, unit);
}

void push_remote_write_2(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                         const struct push_identity *who)
{
    AUTO_BUF struct buf series = BUF(PUSH_BODY_MAX);
    struct symbols t = {.space = BUF(PUSH_BODY_MAX)};
    struct push_labels labels;
    push_labels_init(&labels);
    symbol(&t, STR("")); /* the first must be empty */
    for (size_t i = 0; i < count; i++)
        if (push_labels_read(&labels, lines[i].series, str_from(who->job), str_from(who->instance)))
            put_series_2(&series, &t, &labels, &lines[i], at, who->started);
    for (size_t i = 0; i < t.count; i++)
        pb_bytes(out, 4, text_of(&t, i));
    buf_str(out, buf_view(&series));
    out->failed |= t.failed || series.failed;
    push_labels_done(&labels);
    buf_done(&t.space);
    free(t.list);
    free(t.slots);
}

/* ---- back to 1.0 ---- */

/* Labels of a series in 1.0's format. */
static int put_labels(struct buf *out, struct str refs, const struct str *symbols, size_t count)
{
    while (refs.len) {
        uint64_t name, value;
        if (!pb_take_varint(&refs, &name) || !pb_take_varint(&refs, &value) || name >= count || value >= count)
            return -EBADMSG;
        pb_begin(out, 1, pb_bytes_size(symbols[name].len) + pb_bytes_size(symbols[value].len));
        pb_bytes(out, 1, symbols[name]);
        pb_bytes(out, 2, symbols[value]);
    }
    return 0;
}

static int put_sample(struct buf *out, struct str sample)
{
    struct pb_field f;
    uint64_t bits = 0, at = 0;
    int rc;
    while ((rc = pb_next(&sample, &f)) == 1) {
        bits = f.number == 1 ? f.value : bits;
        at = f.number == 2 ? f.value : at;
    }
    pb_begin(out, 2, 1 + 8 + 1 + pb_varint_size(at));
    pb_fixed64(out, 1, bits);
    pb_number(out, 2, at);
    return rc;
}

static int put_old_series(struct buf *out, struct str series, const struct str *symbols, size_t count)
{
    AUTO_BUF struct buf one = BUF(1 << 20);
    struct pb_field f;
    int rc;
    while ((rc = pb_next(&series, &f)) == 1) {
        if (f.number == 1 && f.bytes.at)
            rc = put_labels(&one, f.bytes, symbols, count);
        else if (f.number == 2 && f.bytes.at)
            rc = put_sample(&one, f.bytes);
        if (rc < 0)
            return rc;
    }
    pb_bytes(out, 1, buf_view(&one));
    return one.failed ? -ENOMEM : rc;
}

int push_back_to_1(struct buf *out, struct str plain)
{
    struct str rest = plain;
    struct pb_field f;
    size_t count = 0, at = 0;
    int rc;
    while ((rc = pb_next(&rest, &f)) == 1)
        count += f.number == 4;
    AUTO_FREE struct str *symbols = rc < 0 ? NULL : calloc(count + 1, sizeof *symbols);
    if (!symbols)
        return rc < 0 ? rc : -ENOMEM;
    rest = plain;
    while ((rc = pb_next(&rest, &f)) == 1) {
        if (f.number == 4 && f.bytes.at && at < count)
            symbols[at++] = f.bytes;
        if (f.number == 5 && f.bytes.at && (rc = put_old_series(out, f.bytes, symbols, at)) < 0)
            return rc;
    }
    return out->failed ? -ENOMEM : rc;
}
