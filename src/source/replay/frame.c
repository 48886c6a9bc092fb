/* SPDX-License-Identifier: Apache-2.0
 * Frames: builds, reads, and distinguishes damage from the end; and the column names in the first one.
 */
#include "source/replay/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- Frames: builds, reads, and distinguishes damage from the end ---- */

/* CRC-32 as in zlib, four bits at a time: frames are small, and a large table would cost more cache than it saves. */
static uint32_t crc_add(uint32_t crc, const void *bytes, size_t len)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc = table[(crc ^ at[i]) & 15] ^ (crc >> 4);
        crc = table[(crc ^ (at[i] >> 4)) & 15] ^ (crc >> 4);
    }
    return ~crc;
}

void varint_put(struct buf *out, uint64_t value)
{
    while (value >= 0x80) {
        buf_char(out, (char)(value | 0x80));
        value >>= 7;
    }
    buf_char(out, (char)value);
}

bool varint_get(const unsigned char **at, const unsigned char *end, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

void frame_done(struct frame *f)
{
    free(f->payload);
    *f = (struct frame){0};
}

int frame_check_magic(FILE *f, const char *path, struct error *err)
{
    char magic[sizeof RECORDING_MAGIC] = {0};
    size_t len = fread(magic, 1, sizeof magic - 1, f);
    if (len == sizeof magic - 1 && memcmp(magic, RECORDING_MAGIC, len) == 0)
        return 0;
    if (len >= 2 && memcmp(magic, "\x1f\x8b", 2) == 0)
        return error_set(err, -EINVAL, "'%s' is compressed; unpack it first (tar xzf) and give the directory", path);
    if (len >= sizeof RECORDING_WORD - 1 && memcmp(magic, RECORDING_WORD, sizeof RECORDING_WORD - 1) == 0)
        return error_set(err, -EINVAL, "'%s' is a recording of a newer version of whirr", path);
    return error_set(err, -EINVAL, "'%s' is not a recording of whirr", path);
}

static uint32_t get_sum(const unsigned char at[4])
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* A frame's header, kept for the CRC. */
struct frame_header {
    unsigned char bytes[1 + 10];
    size_t len;
};

/* 1, 0 at the end, -EPROTO for an impossible length, -EAGAIN if truncated. */
static int read_header(FILE *f, struct frame_header *h, uint64_t *ret_len)
{
    *h = (struct frame_header){0};
    int c = getc(f);
    if (c == EOF)
        return 0;
    h->bytes[h->len++] = (unsigned char)c;
    do {
        c = getc(f);
        if (c == EOF)
            return -EAGAIN;
        h->bytes[h->len++] = (unsigned char)c;
    } while ((c & 0x80) && h->len < sizeof h->bytes);
    const unsigned char *at = h->bytes + 1;
    if (!varint_get(&at, h->bytes + h->len, ret_len) || *ret_len > FRAME_MAX)
        return -EPROTO;
    return 1;
}

/* Whether a whole frame begins there; adds the bytes that were summed up to `work`. */
static bool is_whole(const unsigned char *at, size_t len, size_t *work)
{
    const unsigned char *payload = at + 1, *end = at + len;
    uint64_t size;
    if (len < 2 || (*at != FRAME_SCHEMA && *at != FRAME_KEY && *at != FRAME_DELTA) || !varint_get(&payload, end, &size) ||
        size + 4 > (uint64_t)(end - payload) || size > FRAME_MAX)
        return false;
    *work += size;
    return crc_add(0, at, (size_t)(payload - at) + size) == get_sum(payload + size);
}

/* Behind damage a frame is known by its checksum, for a damaged length says nothing: looks where the next one should be, then
 * anywhere behind `start`. True: the file is there now. */
static bool find_next(FILE *f, off_t start, off_t should)
{
    enum { SEARCHED = 1 << 20, WORK_MAX = 16 << 20 }; /* a hostile file is given up */
    AUTO_FREE unsigned char *bytes = malloc(SEARCHED);
    if (!bytes || start < 0 || fseeko(f, start + 1, SEEK_SET) < 0)
        return false;
    size_t len = fread(bytes, 1, SEARCHED, f), first = should > start ? (size_t)(should - start - 1) : len, at = 0, work = 0;
    if (first < len && is_whole(bytes + first, len - first, &work))
        at = first;
    else
        while (at < len && work < WORK_MAX && !is_whole(bytes + at, len - at, &work))
            at++;
    return at < len && work < WORK_MAX && fseeko(f, start + 1 + (off_t)at, SEEK_SET) == 0;
}

static int read_payload(FILE *f, const struct frame_header *h, struct frame *frame, uint64_t len)
{
    unsigned char sum[4];
    if (len > frame->capacity) {
        unsigned char *more = realloc(frame->payload, len);
        if (!more)
            return -ENOMEM;
        frame->payload = more;
        frame->capacity = len;
    }
    if (fread(frame->payload, 1, len, f) != len || fread(sum, 1, 4, f) != 4)
        return ferror(f) ? -EIO : -EAGAIN;
    frame->type = h->bytes[0];
    frame->len = len;
    return crc_add(crc_add(0, h->bytes, h->len), frame->payload, len) == get_sum(sum) ? 1 : -EBADMSG;
}

int frame_read(FILE *f, struct frame *frame, bool *torn)
{
    struct frame_header h;
    uint64_t len = 0;
    off_t start = ftello(f);
    *torn = false;
    int r = read_header(f, &h, &len);
    if (r == 1)
        r = read_payload(f, &h, frame, len);
    if (ferror(f) || (r != -EBADMSG && r != -EPROTO && r != -EAGAIN))
        return ferror(f) ? -EIO : r;
    off_t behind = ftello(f);
    if (find_next(f, start, r == -EBADMSG ? behind : 0))
        return -EBADMSG;
    if (r == -EBADMSG)
        fseeko(f, behind, SEEK_SET);
    *torn = r == -EAGAIN;
    return *torn ? 0 : r;
}

void frame_build(struct buf *out, enum frame_type type, struct str payload)
{
    size_t start = out->len;
    if (payload.len > FRAME_MAX) {
        out->failed = true;
        return;
    }
    buf_char(out, (char)type);
    varint_put(out, payload.len);
    buf_str(out, payload);
    if (out->failed)
        return;
    uint32_t crc = crc_add(0, out->at + start, out->len - start);
    const char bytes[4] = {(char)crc, (char)(crc >> 8), (char)(crc >> 16), (char)(crc >> 24)};
    buf_add(out, bytes, sizeof bytes);
}

/* ---- Column names of a recording ---- */

/* The lists of columns, in their order: where the name of the first one is, and how far the next. */
static const struct column_list {
    const char *const *first;
    size_t stride, count;
    size_t map; /* in struct recorded_columns */
} column_lists[] = {
#define COLUMNS(table, count, member)                                                      \
    {                                                                                      \
        &table[0].field, sizeof table[0], count, offsetof(struct recorded_columns, member) \
    }
    COLUMNS(metric_table, METRIC_COUNT, metrics),
    COLUMNS(property_table, PROPERTY_COUNT, properties),
    COLUMNS(process_metric_table, PROCESS_METRIC_COUNT, process_metrics),
    COLUMNS(host_metric_table, HOST_METRIC_COUNT, host),
    COLUMNS(evidence_table, EVIDENCE_COUNT, evidence), /* the last is new: empty in older files */
#undef COLUMNS
};

static const char *column_name(const struct column_list *list, size_t i)
{
    return *(const char *const *)((const char *)list->first + i * list->stride);
}

void schema_write(struct buf *out)
{
    for (const struct column_list *list = column_lists; list < column_lists + ARRAY_LEN(column_lists); list++) {
        varint_put(out, list->count);
        for (size_t i = 0; i < list->count; i++) {
            varint_put(out, strlen(column_name(list, i)));
            buf_text(out, column_name(list, i));
        }
    }
}

/* Usually the same version wrote the file: try the same position first. */
static int16_t column_find(const struct column_list *list, struct str wanted, size_t guess)
{
    if (guess < list->count && str_is(wanted, column_name(list, guess)))
        return (int16_t)guess;
    for (size_t i = 0; i < list->count; i++)
        if (str_is(wanted, column_name(list, i)))
            return (int16_t)i;
    return -1;
}

static bool read_names(const unsigned char **at, const unsigned char *end, const struct column_list *list, struct column_map *ret)
{
    uint64_t count, len;
    if (!varint_get(at, end, &count) || count > SCHEMA_COLUMNS_MAX)
        return false;
    ret->count = count;
    for (size_t i = 0; i < count; i++) {
        if (!varint_get(at, end, &len) || len >= SCHEMA_NAME_SIZE || len > (size_t)(end - *at))
            return false;
        ret->to[i] = column_find(list, (struct str){(const char *)*at, len}, i);
        *at += len;
    }
    return true;
}

int schema_read(const unsigned char *payload, size_t len, struct recorded_columns *ret)
{
    const unsigned char *end = payload + len;
    const struct column_list *last = &column_lists[ARRAY_LEN(column_lists) - 1];
    ret->evidence.count = 0;
    for (const struct column_list *list = column_lists; list < last || (list == last && payload < end); list++)
        if (!read_names(&payload, end, list, (struct column_map *)((char *)ret + list->map)))
            return -EBADMSG;
    return 0; /* ignore what a later version appends */
}
