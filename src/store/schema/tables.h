/* SPDX-License-Identifier: Apache-2.0
 * The tables of a new database, and the steps that migrate older ones.
 */
#pragma once

#include "store/db/db.h"

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
