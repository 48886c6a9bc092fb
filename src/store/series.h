/* SPDX-License-Identifier: Apache-2.0
 * The time series of GPUs and hosts: columns, levels, keys. Plain data; knows no database.
 *
 * A row of samples is one GPU (or host) at one moment. Its key in a file holds both, time first, so that rows are appended to the
 * end of the table and the oldest lie together at its beginning (on a server: schema.h):
 *
 *     id = milliseconds since 1970 << 14 | ID of the GPU
 *
 * A row of minutes or hours is one GPU over one bucket; a plot reads one GPU, so the GPU comes first:
 *
 *     id = ID of the GPU << 32 | bucket since 1970
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

enum series { SERIES_GPU, SERIES_HOST, SERIES_COUNT };
enum level { LEVEL_RAW, LEVEL_MINUTE, LEVEL_HOUR, LEVEL_COUNT };
enum { SERIES_COLUMNS_MAX = 160, SUBJECT_BITS = 14, SUBJECT_MAX = (1 << SUBJECT_BITS) - 1 };
enum { CURSOR_SUBJECT_BITS = 20, CURSOR_SUBJECT_MAX = (1 << CURSOR_SUBJECT_BITS) - 1 };

struct series_column {
    const char *name; /* of the column: the field's name, with its unit */
    const char *json; /* name in the API */
    double scale;     /* column * scale = value in the API */
    bool bits;        /* a set of flags: joined, not added */
    bool wide;        /* may need more than 32 bits */
};

size_t series_count(enum series series);
struct series_column series_column(enum series series, size_t column);
/* Finds a column by the API's name or its own; -1 if there is none. */
int series_find(enum series series, const char *name);
/* For callers that read many: the readings of a subject, and the index of a column among them. */
const struct reading *series_readings(enum series series, const void *subject);
size_t series_place(enum series series, size_t column);

/* "samples", "host_minutes", ... */
const char *series_table(enum series series, enum level level);
int64_t level_ms(enum level level); /* length of a bucket; 1 for raw rows */

static inline int64_t raw_key(int64_t at_ms, int64_t subject)
{
    return at_ms * (1 << SUBJECT_BITS) + subject;
}
static inline int64_t raw_key_ms(int64_t key)
{
    return key >> SUBJECT_BITS;
}
/* The position of a reader, for either database: it continues after this moment and subject. */
static inline int64_t cursor_at(int64_t at_ms, int64_t subject)
{
    /* Unsigned: a clock that is centuries off may only lead to a wrong position, not to undefined behavior. */
    return (int64_t)(((uint64_t)at_ms << CURSOR_SUBJECT_BITS) + (uint64_t)subject);
}
static inline int64_t cursor_ms(int64_t cursor)
{
    return cursor >> CURSOR_SUBJECT_BITS;
}
static inline int64_t cursor_subject(int64_t cursor)
{
    return cursor & CURSOR_SUBJECT_MAX;
}
static inline int64_t bucket_key(int64_t subject, int64_t bucket)
{
    return subject << 32 | bucket;
}
static inline int64_t bucket_of(enum level level, int64_t at_ms)
{
    return at_ms / level_ms(level);
}

/* A bucket of one column. */
struct aggregate {
    int64_t sum, min, max, count;
};

static inline struct reading aggregate_mean(const struct aggregate *a)
{
    return a->count ? reading_ok(a->sum / a->count) : reading_absent(READING_UNREAD);
}
void aggregate_join(struct aggregate *a, const struct series_column *column, const struct aggregate *other);
/* Inline: called for every value of every row. */
static inline void aggregate_add(struct aggregate *a, const struct series_column *column, int64_t value)
{
    if (column->bits) {
        a->sum += (value & THROTTLE_SLOWED) != 0;
        a->min = a->count ? a->min & value : value;
        a->max |= value;
    } else {
        a->sum += value;
        a->min = a->count && a->min < value ? a->min : value;
        a->max = a->count && a->max > value ? a->max : value;
    }
    a->count++;
}
