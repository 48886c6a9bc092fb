/* SPDX-License-Identifier: Apache-2.0
 * The tables of a new database, and what leads from one version of them to the next.
 */
#pragma once

#include "store/db/db.h"

/* A step from the version before: statements in the words of tables.c. A new version has its row here, and its tables in the text
 * of new databases; a test compares the two. The last row has no statements. */
struct migration {
    int to;
    const char *sql;
};

/* Those of the newest version, in an empty database and a transaction. */
int tables_create(struct db *db, struct error *err);
/* All steps that lead beyond `from`, in a transaction, which may take long. */
int tables_migrate(struct db *db, const struct migration *steps, int64_t from, struct error *err);
