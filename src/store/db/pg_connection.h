/* SPDX-License-Identifier: Apache-2.0
 * A connection to PostgreSQL: waits for answers with a time limit, and translates errors. Does not know which statements are sent.
 */
#pragma once

#include "store/db/db.h"
#include "store/db/libpq.h"

struct pg_statement;

struct pg_db {
    struct db db;
    PGconn *conn;
    unsigned statements; /* counter for statement names */
    bool pipeline;
    int queued;
    int failed_code; /* the first error in the pipeline */
    struct error failed;
    int64_t patience_ms; /* how long the server may be silent before we drop the connection */
    bool silent;         /* the server didn't answer in time: the connection is unusable */
    bool reads;          /* running a query that may be canceled, */
    bool cancel_sent;    /* and the cancel request was sent */
    bool read_only;
    bool pooled;                       /* connected through a pooler */
    const struct pg_statement *parsed; /* pooled: the unnamed statement that the session has parsed in this transaction */
};

/* Sets the error of a result, or of the connection, and returns its code. */
int pg_fail(struct pg_db *db, const PGresult *result, struct error *err);
int pg_lost(struct pg_db *db, struct error *err);
bool pg_succeeded(const PGresult *result);

/* Waits for the answer to a query sent outside of the pipeline. The first error counts; of several statements, the last result. */
PGresult *pg_result_of(struct pg_db *db, int sent);
/* Reads all pending results. The first error counts; the server skipped everything after it. */
void pg_collect(struct pg_db *db);
/* Leaves pipeline mode; returns its error, if any, once. */
int pg_settle(struct pg_db *db, struct error *err);
