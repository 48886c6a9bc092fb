/* SPDX-License-Identifier: Apache-2.0
 * SQLite and libpq, each loaded when a history of its kind is first opened. Knows nothing of statements and rows.
 */
#pragma once

#include <sqlite3.h>

#include "base/env.h"
#include "base/error.h"

/* ---- SQLite. Linking its 1,700 symbols would slow down the start of every command that does not need them. A program that must
 * run without a system SQLite, or with an old one, contains it (-Dsqlite=linked). ---- */

/* clang-format off */
#define SQLITE_FUNCTIONS(X) \
    X(open_v2) X(close_v2) X(exec) X(prepare_v3) X(finalize) X(bind_null) X(bind_int64) X(bind_text) X(step) X(reset) \
    X(column_type) X(column_int64) X(column_text) X(column_bytes) X(changes) X(system_errno) X(errmsg) X(config) \
    X(extended_result_codes) X(busy_timeout) X(libversion) X(libversion_number) X(progress_handler) X(backup_init) \
    X(backup_step) X(backup_finish) X(backup_remaining) X(backup_pagecount)
/* clang-format on */

struct sqlite_library {
#define DECLARE(name) typeof(sqlite3_##name) *name;
    SQLITE_FUNCTIONS(DECLARE)
#undef DECLARE
};
/* Filled by sqlite_load. */
extern struct sqlite_library sqlite;

/* Retries on each call until it succeeds: the library may be installed while the daemon runs. */
int sqlite_load(struct error *err);

/* ---- libpq: the functions that postgres.c calls ---- */

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

/* Retries on each call until it succeeds: the library may be installed while the daemon runs. */
int libpq_load(const struct env *env, struct error *err);
