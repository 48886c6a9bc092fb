/* SPDX-License-Identifier: Apache-2.0
 * Tables that PostgreSQL keeps in parts, one for each period of time, so that what is old goes with the table it is in and a
 * question about a day looks at that day alone. SQLite knows nothing of it.
 *
 * Keys of minutes and hours hold the GPU and the bucket in one number (series.h). They are parted by the time in it, the very
 * expression that the views call starts_at: `starts_at >= ...` finds the parts.
 * Each part has a key of its own; as a key says in which part it is, it is one of a kind in all of them.
 */
#pragma once

#include "store/db/db.h"
#include "store/series.h"

enum parted {
    PARTED_SAMPLES,
    PARTED_HOST_SAMPLES,
    PARTED_MINUTES,
    PARTED_HOST_MINUTES,
    PARTED_HOURS,
    PARTED_HOST_HOURS,
    PARTED_PROCESS_MINUTES,
    PARTED_ENERGY,
    PARTED_PROCESS_HOURS,
    PARTED_ENERGY_HOURS,
    PARTED_COUNT
};

struct parted_table {
    const char *name;
    const char *key;   /* by which it is parted: a time, or, with a unit, a number of these since 1970 */
    int64_t unit_ms;   /* 0: a time */
    int days;          /* that a part has */
    int ahead;         /* parts that are made before they are needed */
    bool own_keys;     /* each part has a primary key of its own, its id */
    const char *index; /* its primary key, "" none */
    const char *by;    /* whose rows of all time an index finds: "gpu" is samples_by_gpu, on gpu_id and the key; NULL none */
};
extern const struct parted_table parted_tables[PARTED_COUNT];

static inline enum parted parted_of(enum series series, enum level level)
{
    return (enum parted)((int)level * SERIES_COUNT + (int)series);
}

/* Parted by these expressions. */
#define BUCKET_TIME(id, ms) "to_timestamp(((" id " & 4294967295) * " ms ") / 1000.0)"
#define MINUTES_KEY BUCKET_TIME("id", "60000")
#define HOURS_KEY BUCKET_TIME("id", "3600000")
/* parts_between for minutes of a server. */
#define MINUTES_BETWEEN                                                                       \
    " AND " MINUTES_KEY " >= " BUCKET_TIME("CAST($1 AS BIGINT)", "60000") " AND " MINUTES_KEY \
                                                                          " < " BUCKET_TIME("CAST($2 AS BIGINT)", "60000")

/* "AND ..." for a statement about buckets from key $1 up to and without key $2: only the parts that have
 * them are looked at. Nothing in SQLite. */
const char *parts_between(enum db_kind kind, enum level level);
/* The same for a table called `alias` and buckets in numbers, from `from` up to and without `to`. */
struct buf;
void parts_among(enum db_kind kind, enum level level, const char *alias, int64_t from, int64_t to, struct buf *out);

/* Where the period begins in which that moment is. Weeks begin with a Monday. */
int64_t parts_period(enum parted which, int64_t at_ms);
enum { PART_NAME_SIZE = 64 };
/* minutes_2026_11_09: the first day. In the order of their names, they are in the order of time. */
void parts_name(enum parted which, int64_t period_ms, char name[PART_NAME_SIZE]);
/* The part of the period is there. */
int parts_make(struct db *db, enum parted which, int64_t period_ms, struct error *err);

/* The indexes of all of them. */
int parts_index(struct db *db, struct error *err);
