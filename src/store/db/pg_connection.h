/* SPDX-License-Identifier: Apache-2.0
 * A connection to PostgreSQL: waiting for its answers, for no longer than a server may be silent, and what its errors mean. It does
 * not know which statements are sent.
 */
#pragma once

#include "store/db/db.h"
#include "store/db/libpq.h"

struct pg_statement;

struct pg_db {
    struct db db;
    PGconn *conn;
    unsigned statements; /* for their names */
    bool pipeline;
    int queued;
    int failed_code; /* the first answer of the pipeline that was an error */
    struct error failed;
    int64_t patience_ms; /* how long the server may be silent before the connection is given up */
    bool silent;         /* it did not answer in time: the connection is of no use any more */
    bool reads;          /* for an answer that may be cut off, */
    bool told_to_stop;   /* and was */
    bool read_only;
    bool pooled;                       /* a pooler stands in between */
    const struct pg_statement *parsed; /* pooled: what the session's statement without a name is, in this transaction */
};

/* The error of an answer, or, without one, of the connection. Both return its code. */
int pg_fail(struct pg_db *db, const PGresult *result, struct error *err);
int pg_lost(struct pg_db *db, struct error *err);
bool pg_succeeded(const PGresult *result);

/* Waits for what was sent, outside of the pipeline. The first error counts; of several statements, the last answer. */
PGresult *pg_result_of(struct pg_db *db, int sent);
/* Looks at every answer that waits. The first error counts; what followed it was not done. */
void pg_collect(struct pg_db *db);
/* Out of the pipeline; its error, if there was one, is told once. */
int pg_settle(struct pg_db *db, struct error *err);
