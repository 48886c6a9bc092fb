/* SPDX-License-Identifier: Apache-2.0
 * Tables that PostgreSQL partitions by time, so that old rows are dropped with their partition and a query about a day reads only
 * that day. SQLite has no partitions.
 *
 * Keys of minutes and hours pack the GPU and the bucket into one number (series.h). They are partitioned by the time in it, the
 * very expression that the views call starts_at: `starts_at >= ...` prunes the partitions. Each partition has a primary key of its
 * own; since a key determines its partition, it is unique in the whole table.
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
    const char *key;   /* partition key: a timestamp, or, with a unit, a count of units since 1970 */
    int64_t unit_ms;   /* 0: a timestamp */
    int days;          /* per partition */
    int ahead;         /* partitions created in advance */
    bool own_keys;     /* each partition has a primary key of its own, its id */
    const char *index; /* primary key; "": none */
    const char *by;    /* subject of an index over all time: "gpu" is samples_by_gpu, on gpu_id and the key; NULL: none */
};
extern const struct parted_table parted_tables[PARTED_COUNT];

static inline enum parted parted_of(enum series series, enum level level)
{
    return (enum parted)((int)level * SERIES_COUNT + (int)series);
}

/* The partition keys. */
#define BUCKET_TIME(id, ms) "to_timestamp(((" id " & 4294967295) * " ms ") / 1000.0)"
#define MINUTES_KEY BUCKET_TIME("id", "60000")
#define HOURS_KEY BUCKET_TIME("id", "3600000")
/* parts_between for minutes on a server. */
#define MINUTES_BETWEEN                                                                       \
    " AND " MINUTES_KEY " >= " BUCKET_TIME("CAST($1 AS BIGINT)", "60000") " AND " MINUTES_KEY \
                                                                          " < " BUCKET_TIME("CAST($2 AS BIGINT)", "60000")

/* "AND ..." for a statement about buckets with keys in [$1, $2): prunes the partitions. Empty for SQLite. */
const char *parts_between(enum db_kind kind, enum level level);
/* The same for a table called `alias` and bucket numbers in [from, to). */
struct buf;
void parts_among(enum db_kind kind, enum level level, const char *alias, int64_t from, int64_t to, struct buf *out);

/* The start of the period that contains that moment. Weeks begin on Monday. */
int64_t parts_period(enum parted which, int64_t at_ms);
enum { PART_NAME_SIZE = 64 };
/* minutes_2026_11_09: the first day. Sorting by name sorts by time. */
void parts_name(enum parted which, int64_t period_ms, char name[PART_NAME_SIZE]);
/* Creates the partition of a period if it is missing. */
int parts_make(struct db *db, enum parted which, int64_t period_ms, struct error *err);

/* Creates the indexes of all partitioned tables. */
int parts_index(struct db *db, struct error *err);
