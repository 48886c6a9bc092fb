/* SPDX-License-Identifier: Apache-2.0
 * Looking into a store's file the way a person with sqlite3 does, past the program's own queries.
 */
#pragma once

#include <sqlite3.h>

#include "sim_history.h"

static inline sqlite3 *sql_open(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", store_folder, name);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return db;
}

/* The first column of the first row. */
static inline int64_t sql_i64(const char *name, const char *query)
{
    sqlite3 *db = sql_open(name);
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &q, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(db));
    int64_t value = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
    sqlite3_finalize(q);
    sqlite3_close(db);
    return value;
}

static inline double sql_double(const char *name, const char *query)
{
    sqlite3 *db = sql_open(name);
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &q, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(db));
    double value = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_double(q, 0) : -1;
    sqlite3_finalize(q);
    sqlite3_close(db);
    return value;
}

static inline void sql_text(const char *name, const char *query, char *text, size_t size)
{
    sqlite3 *db = sql_open(name);
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &q, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(db));
    text[0] = '\0';
    if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
}

static inline void sql_run(const char *name, const char *statements)
{
    sqlite3 *db = sql_open(name);
    char *said = NULL;
    if (sqlite3_exec(db, statements, NULL, NULL, &said) != SQLITE_OK)
        fail_msg("%s: %s", statements, said);
    sqlite3_close(db);
}
