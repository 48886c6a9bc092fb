/* SPDX-License-Identifier: Apache-2.0
 * A connection to PostgreSQL: waits for answers with a time limit, and translates errors. Does not know which statements are sent.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/str.h"
#include "store/db/db.h"

/* libpq, loaded on first use: the functions that postgres.c calls, and how a server encodes numbers. Knows nothing of statements
 * and rows. */

/* As libpq-fe.h declares them; the values are part of its stable interface. */
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct pg_cancel PGcancel;
enum { CONNECTION_OK = 0 };
enum { PGRES_COMMAND_OK = 1, PGRES_TUPLES_OK = 2, PGRES_PIPELINE_SYNC = 10, PGRES_PIPELINE_ABORTED = 11 };
enum { PG_DIAG_SQLSTATE = 'C', PG_DIAG_MESSAGE_PRIMARY = 'M' };
enum { PQTRANS_IDLE = 0, PQTRANS_INERROR = 3 };

struct libpq {
    PGconn *(*connectdb)(const char *);
    int (*status)(const PGconn *);
    char *(*error_message)(const PGconn *);
    void (*finish)(PGconn *);
    int (*set_nonblocking)(PGconn *, int);
    int (*socket)(const PGconn *);
    int (*flush)(PGconn *);
    int (*consume_input)(PGconn *);
    int (*is_busy)(PGconn *);
    int (*send_query)(PGconn *, const char *);
    int (*send_params)(PGconn *, const char *, int, const unsigned *, const char *const *, const int *, const int *, int);
    int (*send_prepare)(PGconn *, const char *, const char *, int, const unsigned *);
    int (*send_prepared)(PGconn *, const char *, int, const char *const *, const int *, const int *, int);
    PGresult *(*get_result)(PGconn *);
    int (*result_status)(const PGresult *);
    char *(*error_field)(const PGresult *, int);
    char *(*result_error)(const PGresult *);
    int (*ntuples)(const PGresult *);
    char *(*getvalue)(const PGresult *, int, int);
    int (*getisnull)(const PGresult *, int, int);
    int (*getlength)(const PGresult *, int, int);
    unsigned (*ftype)(const PGresult *, int);
    void (*clear)(PGresult *);
    int (*enter_pipeline)(PGconn *);
    int (*exit_pipeline)(PGconn *);
    int (*pipeline_sync)(PGconn *);
    int (*transaction_status)(const PGconn *);
    int (*backend_pid)(const PGconn *);
    PGcancel *(*get_cancel)(PGconn *);
    int (*cancel)(PGcancel *, char *, int);
    void (*free_cancel)(PGcancel *);
    void *(*set_notices)(PGconn *, void (*)(void *, const char *), void *);
};
/* Filled by libpq_load. */
extern struct libpq pq;

/* A column value in the server's binary form, which both sides read and write in half the time of decimal digits. Other types
 * are parsed as digits; 0 if there are none or the value exceeds 64 bits. */
int64_t libpq_number(unsigned type, struct str value);

/* Retries on each call until it succeeds: the library may be installed while the daemon runs. */
int libpq_load(const struct env *env, struct error *err);

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
