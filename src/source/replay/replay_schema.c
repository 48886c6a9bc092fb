/* SPDX-License-Identifier: Apache-2.0
 * Column names of a recording.
 */
#include <errno.h>
#include <string.h>

#include "source/replay/codec.h"

static const char *metric_name(size_t i)
{
    return i < METRIC_COUNT ? metric_table[i].field : NULL;
}

static const char *property_name(size_t i)
{
    return i < PROPERTY_COUNT ? property_table[i].field : NULL;
}

static const char *process_metric_name(size_t i)
{
    return i < PROCESS_METRIC_COUNT ? process_metric_table[i].field : NULL;
}

static const char *host_name(size_t i)
{
    return i < HOST_METRIC_COUNT ? host_metric_table[i].field : NULL;
}

static const char *evidence_name(size_t i)
{
    return i < EVIDENCE_COUNT ? evidence_table[i].field : NULL;
}

static void write_names(struct buf *out, const char *(*name)(size_t))
{
    size_t count = 0;
    while (name(count))
        count++;
    varint_put(out, count);
    for (size_t i = 0; i < count; i++) {
        varint_put(out, strlen(name(i)));
        buf_text(out, name(i));
    }
}

void schema_write(struct buf *out)
{
    write_names(out, metric_name);
    write_names(out, property_name);
    write_names(out, process_metric_name);
    write_names(out, host_name);
    write_names(out, evidence_name);
}

/* Usually the same version wrote the file: try the same position first. */
static int16_t replay_schema_find(struct str wanted, size_t guess, const char *(*name)(size_t))
{
    if (name(guess) && str_is(wanted, name(guess)))
        return (int16_t)guess;
    for (size_t i = 0; name(i); i++)
        if (str_is(wanted, name(i)))
            return (int16_t)i;
    return -1;
}

static bool read_names(const unsigned char **at, const unsigned char *end, const char *(*name)(size_t), struct column_map *ret)
{
    uint64_t count, len;
    if (!varint_get(at, end, &count) || count > SCHEMA_COLUMNS_MAX)
        return false;
    ret->count = count;
    for (size_t i = 0; i < count; i++) {
        if (!varint_get(at, end, &len) || len >= SCHEMA_NAME_SIZE || len > (size_t)(end - *at))
            return false;
        ret->to[i] = replay_schema_find((struct str){(const char *)*at, len}, i, name);
        *at += len;
    }
    return true;
}

int schema_read(const unsigned char *payload, size_t len, struct recorded_columns *ret)
{
    const unsigned char *end = payload + len;
    bool fine =
        read_names(&payload, end, metric_name, &ret->metrics) && read_names(&payload, end, property_name, &ret->properties) &&
        read_names(&payload, end, process_metric_name, &ret->process_metrics) && read_names(&payload, end, host_name, &ret->host);
    ret->evidence.count = 0;
    if (fine && payload < end)
        fine = read_names(&payload, end, evidence_name, &ret->evidence);
    return fine ? 0 : -EBADMSG; /* ignore what a later version appends */
}
