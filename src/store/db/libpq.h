/* SPDX-License-Identifier: Apache-2.0
 * The functions of libpq that postgres.c calls.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"

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
