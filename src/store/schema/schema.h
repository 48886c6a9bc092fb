/* SPDX-License-Identifier: Apache-2.0
 * The tables, their versions, and the views that make them readable with plain SQL.
 */
#pragma once

#include "store/db/db.h"
#include "store/series.h"

/* Continues the version numbers of development, which are refused. */
enum { SCHEMA_FIRST = 12, SCHEMA_VERSION = 18 };

/* The columns of table or view $1 in PostgreSQL; information_schema takes ten times as long. */
#define SCHEMA_COLUMNS \
    "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1::text) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"

/* Which columns of a series the database has: a column is added when its first value appears, so that a GPU with few metrics
 * doesn't pay for those of others. */
struct schema {
    struct db *db;
    bool has[SERIES_COUNT][SERIES_COLUMNS_MAX];
    /* All columns: first those of the tables, in their order, then the others. */
    size_t order[SERIES_COUNT][SERIES_COLUMNS_MAX];
    size_t place[SERIES_COUNT][SERIES_COLUMNS_MAX];                 /* index into series_readings(), in the same order */
    struct series_column columns[SERIES_COUNT][SERIES_COLUMNS_MAX]; /* of the tables only */
    size_t count[SERIES_COUNT];
    unsigned generation; /* incremented when columns are added: prepared statements are outdated */
};

/* Creates the tables, or migrates older ones. -EPROTO: written by a newer version, or by one from before the first release;
 * nothing is changed. */
int schema_open(struct schema *schema, struct db *db, struct error *err);
/* The same without changing anything; -EPROTO also for an older version, -ENOENT if there are no tables yet. */
int schema_open_read_only(struct schema *schema, struct db *db, struct error *err);
/* Adds missing columns of a series to its tables; call it in a transaction. */
int schema_add_columns(struct schema *schema, enum series series, const size_t *columns, size_t count, struct error *err);
/* Keeps other hosts from changing tables until the end of the transaction. */
int schema_lock(struct db *db, struct error *err);
/* Reads which columns the tables have now. */
int schema_read_columns(struct schema *schema, struct error *err);
/* Creates all views that are missing or outdated. */
int schema_make_views(struct schema *schema, struct error *err);
/* Shows new columns in the views. */
int schema_refresh_views(struct schema *schema, struct error *err);
/* -EPROTO and a sentence if tables of this version can be neither used nor migrated. */
int schema_check_version(int64_t version, struct error *err);
/* The version of the tables; 0 if there are none. */
int schema_version(struct db *db, int64_t *ret, struct error *err);

/* ---- The tables of a new database, and the steps that migrate older ones ---- */

/* A step from the previous version: statements in the dialect of the tables. A new version has its row here, and its tables in the
 * text of new databases; a test compares the two. The last row has no statements. */
struct migration {
    int to;
    const char *sql;
};

/* Runs all steps after `from`, in a transaction, which may take long. */
int tables_migrate(struct db *db, const struct migration *steps, int64_t from, struct error *err);

/* ---- How a row of samples stores its time and subject. SQLite packs both into one key (series.h). PostgreSQL has a column for
 * each, a timestamp and an ID, so that `recorded_at >= ...` finds the partitions and the rows in them, and IDs never run out.
 * ---- */

#define LATEST_MS ((1LL << 43) - 1) /* in the year 2248: the limit of keys and cursors */

/* Clamps a time parameter: a query for all of time must not overflow. */
static inline int64_t raw_parameter(int64_t ms)
{
    return ms < 0 ? 0 : ms > LATEST_MS ? LATEST_MS : ms;
}

/* SQL fragments. Parameters are milliseconds since 1970. */
struct raw_words {
    const char *ms, *subject; /* of a row */
    const char *time;         /* sort key for the rows of one subject */
    const char *order;        /* sort key for those of all subjects */
    const char *span;         /* from $1, before $2 */
};

const struct raw_words *raw_words(enum db_kind kind, enum series series);

/* The highest ID of a GPU or host: 14 bits in SQLite's keys; on a server it must fit into a cursor. */
int64_t subject_max(enum db_kind kind);

/* ---- Tables that PostgreSQL partitions by time, so that old rows are dropped with their partition and a query about a day reads
 * only that day. SQLite has no partitions.
 *
 * Keys of minutes and hours pack the GPU and the bucket into one number (series.h). They are partitioned by the time in it, the
 * very expression that the views call starts_at: `starts_at >= ...` prunes the partitions. Each partition has a primary key of its
 * own; since a key determines its partition, it is unique in the whole table. ---- */

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
