/* SPDX-License-Identifier: Apache-2.0
 * The tables, their versions, and the views that make them readable with plain SQL.
 */
#pragma once

#include "store/db/db.h"
#include "store/schema/raw.h"
#include "store/series.h"

/* Versions are counted on from those of development, which are refused. */
enum { SCHEMA_FIRST = 12, SCHEMA_VERSION = 17 };

/* Which columns of a series the database has: they are made when a value first appears, so that a card that knows little does
 * not pay for what others know. */
struct schema {
    struct db *db;
    bool has[SERIES_COUNT][SERIES_COLUMNS_MAX];
    /* All columns: first those that the tables have, in their order, then the others. */
    size_t order[SERIES_COUNT][SERIES_COLUMNS_MAX];
    size_t place[SERIES_COUNT][SERIES_COLUMNS_MAX];                 /* of their readings in a subject's, in the same order */
    struct series_column columns[SERIES_COUNT][SERIES_COLUMNS_MAX]; /* of the tables alone */
    size_t count[SERIES_COUNT];
    unsigned generation; /* changes when columns come: prepared statements are out of date */
};

/* Makes the tables, or brings older ones up to date. -EPROTO: made by a newer version, or by one from before the
 * first release, and left alone. */
int schema_open(struct schema *schema, struct db *db, struct error *err);
/* The same without changing anything; -EPROTO also for an older version, -ENOENT when there are no tables yet. */
int schema_open_read_only(struct schema *schema, struct db *db, struct error *err);
/* Adds columns of a series, which it does not have yet, to its tables; inside a transaction. */
int schema_add_columns(struct schema *schema, enum series series, const size_t *columns, size_t count, struct error *err);
/* Until the end of the transaction, no other host changes tables. */
int schema_lock(struct db *db, struct error *err);
/* Which columns there are now. */
int schema_read_columns(struct schema *schema, struct error *err);
/* All views, where they are not as they should be. */
int schema_make_views(struct schema *schema, struct error *err);
/* After columns came: the views show them. */
int schema_refresh_views(struct schema *schema, struct error *err);
/* -EPROTO and a sentence: tables of this version can't be used, and not be brought up to date. */
int schema_check_version(int64_t version, struct error *err);
/* The version of the tables, 0 when there are none. */
int schema_version(struct db *db, int64_t *ret, struct error *err);
