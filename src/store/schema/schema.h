/* SPDX-License-Identifier: Apache-2.0
 * The tables, their versions, and the views that make them readable with plain SQL.
 */
#pragma once

#include "store/db/db.h"
#include "store/schema/raw.h"
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

/* A step from the previous version: statements in the dialect of tables.c. A new version has its row here, and its tables in the
 * text of new databases; a test compares the two. The last row has no statements. */
struct migration {
    int to;
    const char *sql;
};

/* Creates the newest version, in an empty database and a transaction. */
int tables_create(struct db *db, struct error *err);
/* Runs all steps after `from`, in a transaction, which may take long. */
int tables_migrate(struct db *db, const struct migration *steps, int64_t from, struct error *err);
