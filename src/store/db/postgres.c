/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL behind the table of db.h, through libpq, which is loaded when it is first needed.
 *
 * Statements that are run for their effect are sent without waiting for the answer (pipeline mode); the answers are looked at
 * when somebody wants a result, and before the commit. So a transaction costs a few round trips, however many rows it has.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/db/db.h"

/* As libpq-fe.h declares them; the numbers are part of its stable interface. */
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
enum { CONNECTION_OK = 0 };
enum { PGRES_COMMAND_OK = 1, PGRES_TUPLES_OK = 2, PGRES_PIPELINE_SYNC = 10, PGRES_PIPELINE_ABORTED = 11 };
enum { PG_DIAG_SQLSTATE = 'C', PG_DIAG_MESSAGE_PRIMARY = 'M' };
enum { PQTRANS_IDLE = 0 };

enum {
    PIPELINE_MOST = 256, /* answers that may wait: they must fit into the socket's buffer, or both sides wait for each other */
    PARAMETERS_MAX = 1024,
    NUMBER_SIZE = 24,
    READER_PATIENCE_MS = 35000, /* longer than the server's own limit for one statement, which is set below */
    WRITER_PATIENCE_MS = 65000,
    LONG_PATIENCE_MS = 3600000,
};

static struct {
    bool loaded;
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
    void (*clear)(PGresult *);
    int (*enter_pipeline)(PGconn *);
    int (*exit_pipeline)(PGconn *);
    int (*pipeline_sync)(PGconn *);
    int (*transaction_status)(const PGconn *);
    void *(*set_notices)(PGconn *, void (*)(void *, const char *), void *);
} pq;
static pthread_mutex_t pq_lock = PTHREAD_MUTEX_INITIALIZER;

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
};

struct pg_statement {
    struct db_statement statement;
    char name[16];
    int parameters;
    const char *values[PARAMETERS_MAX];
    char (*numbers)[NUMBER_SIZE];
    PGresult *result;
    int row;
};

static struct pg_db *of(struct db *db)
{
    return (struct pg_db *)db;
}

static struct pg_statement *stmt(struct db_statement *s)
{
    return (struct pg_statement *)s;
}

static bool look_up(void *library, struct error *err)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
        {"PQconnectdb", &pq.connectdb},
        {"PQstatus", &pq.status},
        {"PQerrorMessage", &pq.error_message},
        {"PQfinish", &pq.finish},
        {"PQsetnonblocking", &pq.set_nonblocking},
        {"PQsocket", &pq.socket},
        {"PQflush", &pq.flush},
        {"PQconsumeInput", &pq.consume_input},
        {"PQisBusy", &pq.is_busy},
        {"PQsendQuery", &pq.send_query},
        {"PQsendPrepare", &pq.send_prepare},
        {"PQsendQueryPrepared", &pq.send_prepared},
        {"PQgetResult", &pq.get_result},
        {"PQresultStatus", &pq.result_status},
        {"PQresultErrorField", &pq.error_field},
        {"PQresultErrorMessage", &pq.result_error},
        {"PQntuples", &pq.ntuples},
        {"PQgetvalue", &pq.getvalue},
        {"PQgetisnull", &pq.getisnull},
        {"PQgetlength", &pq.getlength},
        {"PQclear", &pq.clear},
        {"PQenterPipelineMode", &pq.enter_pipeline},
        {"PQexitPipelineMode", &pq.exit_pipeline},
        {"PQpipelineSync", &pq.pipeline_sync},
        {"PQtransactionStatus", &pq.transaction_status},
        {"PQsetNoticeProcessor", &pq.set_notices},
    };
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) {
            error_set(err, -ENOSYS, "libpq has no %s: version 14 or later is needed", symbols[i].name);
            return false;
        }
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return true;
}

/* Tried again at each call until it works: the library may be installed while the daemon runs. */
static int load(const struct env *env, struct error *err)
{
    pthread_mutex_lock(&pq_lock);
    if (!pq.loaded) {
        struct error why = {0};
        void *library = env->load_library(env, "libpq.so.5", &why);
        if (!library)
            error_set(err, -ENOSYS, "PostgreSQL needs libpq (Debian: libpq5): %s", why.text);
        pq.loaded = library && look_up(library, err);
    }
    pthread_mutex_unlock(&pq_lock);
    return pq.loaded ? 0 : -ENOSYS;
}

static void ignore_notice(void *arg, const char *message)
{
    (void)arg, (void)message;
}

/* By the first characters of SQLSTATE. */
static int code_of(const char *state)
{
    static const struct {
        const char *prefix;
        int code;
    } codes[] = {
        {"08", -ENOTCONN}, {"57P", -ENOTCONN}, {"53100", -ENOSPC}, {"53", -EBUSY},      {"55P03", -EBUSY},
        {"40", -EBUSY},    {"28", -EACCES},    {"42501", -EACCES}, {"XX001", -EUCLEAN}, {"25006", -EROFS},
    };
    for (size_t i = 0; state && i < ARRAY_LEN(codes); i++)
        if (strncmp(state, codes[i].prefix, strlen(codes[i].prefix)) == 0)
            return codes[i].code;
    return -EIO;
}

/* libpq ends its messages with a line feed, and puts several into one. */
static int say(struct error *err, int code, const char *message)
{
    struct str first = {message, strcspn(message, "\n")};
    return error_set(err, code, STR_FMT, STR_ARG(first));
}

static int64_t patience_ms(const struct pg_db *db)
{
    return db->db.takes_time ? LONG_PATIENCE_MS : db->patience_ms;
}

static int lost(struct pg_db *db, struct error *err)
{
    if (db->silent)
        return error_set(err, -ENOTCONN, "the server has not answered for %lld s", (long long)(patience_ms(db) / MS_PER_S));
    return say(err, -ENOTCONN, pq.error_message(db->conn));
}

static int fail(struct pg_db *db, const PGresult *result, struct error *err)
{
    if (db->silent || pq.status(db->conn) != CONNECTION_OK || !result)
        return lost(db, err);
    const char *state = pq.error_field(result, PG_DIAG_SQLSTATE), *message = pq.error_field(result, PG_DIAG_MESSAGE_PRIMARY);
    return say(err, code_of(state), message ? message : pq.result_error(result));
}

static bool succeeded(const PGresult *result)
{
    int status = result ? pq.result_status(result) : -1;
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Until an answer is there, or the server has been silent for longer than it may be. libpq itself would wait for ever. */
static bool await(struct pg_db *db)
{
    struct mono begin = clock_mono(&clock_system);
    while (!db->silent) {
        int unsent = pq.flush(db->conn);
        /* What a server said before it hung up is still to be had, without waiting. */
        if (unsent < 0 || !pq.consume_input(db->conn) || !pq.is_busy(db->conn))
            return true;
        int64_t left_ms = patience_ms(db) - mono_since_ms(clock_mono(&clock_system), begin);
        struct pollfd fd = {.fd = pq.socket(db->conn), .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
        int ready = left_ms > 0 ? poll(&fd, 1, (int)MIN_OF(left_ms, (int64_t)INT_MAX)) : 0;
        db->silent = ready == 0;
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready > 0 && (fd.revents & POLLIN))
            begin = clock_mono(&clock_system); /* it goes on answering */
    }
    return false;
}

/* The next answer; NULL at the end of one statement's answers, or when the connection is of no use any more. */
static PGresult *next_result(struct pg_db *db)
{
    return await(db) ? pq.get_result(db->conn) : NULL;
}

/* Waits for what was sent, outside of the pipeline. The first error counts; of several statements, the last answer. */
static PGresult *result_of(struct pg_db *db, int sent)
{
    PGresult *last = NULL;
    for (PGresult *next; sent && (next = next_result(db)) != NULL;) {
        bool keep = last && !succeeded(last);
        pq.clear(keep ? next : last);
        last = keep ? last : next;
    }
    if (db->silent) {
        pq.clear(last);
        return NULL;
    }
    return last;
}

/* Looks at every answer that waits. The first error counts; what followed it was not done. */
static void collect(struct pg_db *db)
{
    bool synced = db->silent || !pq.pipeline_sync(db->conn);
    if (synced && !db->failed_code)
        db->failed_code = lost(db, &db->failed);
    while (!synced) {
        PGresult *result = next_result(db);
        if (!result) {
            if (!db->silent && pq.status(db->conn) == CONNECTION_OK)
                continue; /* the end of one statement's results */
            if (!db->failed_code)
                db->failed_code = lost(db, &db->failed);
            break;
        }
        int status = pq.result_status(result);
        synced = status == PGRES_PIPELINE_SYNC;
        if (!synced && !succeeded(result) && status != PGRES_PIPELINE_ABORTED && !db->failed_code)
            db->failed_code = fail(db, result, &db->failed);
        pq.clear(result);
    }
    db->queued = 0;
}

/* Out of the pipeline; its error, if there was one, is told once. */
static int settle(struct pg_db *db, struct error *err)
{
    if (!db->pipeline)
        return 0;
    collect(db);
    if (!db->silent)
        pq.exit_pipeline(db->conn);
    db->pipeline = false;
    int code = db->failed_code;
    db->failed_code = 0;
    if (code && err)
        *err = db->failed;
    return code;
}

static int exec(struct db *base, const char *sql, struct error *err)
{
    struct pg_db *db = of(base);
    int rc = settle(db, err);
    bool undo = strcasecmp(sql, "ROLLBACK") == 0;
    if (rc < 0 && !undo)
        return rc;
    PGresult *result = result_of(db, !db->silent && pq.send_query(db->conn, sql));
    rc = succeeded(result) ? 0 : fail(db, result, err);
    pq.clear(result);
    /* A COMMIT of a transaction that had failed ends well, as a rollback. settle() has told of the failure before. */
    return rc;
}

static int count_parameters(const char *sql)
{
    int most = 0;
    for (const char *p = strchr(sql, '$'); p; p = strchr(p + 1, '$'))
        most = MAX_OF(most, atoi(p + 1)); /* NOLINT: ours, and followed by digits */
    return most;
}

static void finish(struct db_statement *base)
{
    struct pg_statement *s = stmt(base);
    struct pg_db *db = of(base->db);
    pq.clear(s->result);
    char sql[48];
    snprintf(sql, sizeof sql, "DEALLOCATE %s", s->name);
    /* In a transaction that has failed this fails, too; the connection is then given up sooner or later. */
    if (s->name[0] && settle(db, NULL) == 0 && !db->silent && pq.transaction_status(db->conn) != 3)
        pq.clear(result_of(db, pq.send_query(db->conn, sql)));
    free(s->numbers);
    free(s);
}

static int prepare(struct db *base, const char *sql, struct db_statement **ret, struct error *err)
{
    struct pg_db *db = of(base);
    int rc = settle(db, err);
    if (rc < 0)
        return rc;
    struct pg_statement *s = calloc(1, sizeof *s);
    int parameters = count_parameters(sql);
    if (s && parameters < PARAMETERS_MAX)
        s->numbers = calloc((size_t)parameters + 1, sizeof *s->numbers);
    if (!s || !s->numbers) {
        free(s);
        return error_set(err, -ENOMEM, "out of memory");
    }
    s->statement.db = base;
    s->parameters = parameters;
    char name[16];
    snprintf(name, sizeof name, "w%u", ++db->statements);
    PGresult *result = result_of(db, !db->silent && pq.send_prepare(db->conn, name, sql, 0, NULL));
    rc = succeeded(result) ? 0 : fail(db, result, err);
    pq.clear(result);
    if (rc < 0) {
        finish(&s->statement);
        return rc;
    }
    memcpy(s->name, name, sizeof s->name);
    *ret = &s->statement;
    return 0;
}

static void bind_null(struct db_statement *base, int at)
{
    stmt(base)->values[at - 1] = NULL;
}

static void bind_i64(struct db_statement *base, int at, int64_t value)
{
    struct pg_statement *s = stmt(base);
    snprintf(s->numbers[at - 1], NUMBER_SIZE, "%lld", (long long)value);
    s->values[at - 1] = s->numbers[at - 1];
}

static void bind_text(struct db_statement *base, int at, struct str text)
{
    stmt(base)->values[at - 1] = text.at; /* terminated: all of ours are */
}

static int put(struct db_statement *base, struct error *err)
{
    struct pg_statement *s = stmt(base);
    struct pg_db *db = of(base->db);
    if (db->silent)
        return lost(db, err);
    if (!db->pipeline) {
        if (!pq.enter_pipeline(db->conn))
            return lost(db, err);
        db->pipeline = true;
    }
    if (!pq.send_prepared(db->conn, s->name, s->parameters, s->values, NULL, NULL, 0))
        return lost(db, err);
    if (++db->queued >= PIPELINE_MOST)
        collect(db);
    if (db->failed_code && err)
        *err = db->failed;
    return db->failed_code;
}

static void reset(struct db_statement *base)
{
    struct pg_statement *s = stmt(base);
    pq.clear(s->result);
    s->result = NULL;
}

static int step(struct db_statement *base, struct error *err)
{
    struct pg_statement *s = stmt(base);
    struct pg_db *db = of(base->db);
    if (!s->result) {
        int rc = settle(db, err);
        if (rc < 0)
            return rc;
        int sent = !db->silent && pq.send_prepared(db->conn, s->name, s->parameters, s->values, NULL, NULL, 0);
        s->result = result_of(db, sent);
        s->row = -1;
        if (!succeeded(s->result)) {
            rc = fail(db, s->result, err);
            reset(base);
            return rc;
        }
    }
    if (++s->row < pq.ntuples(s->result))
        return 1;
    reset(base);
    return 0;
}

static bool is_null(struct db_statement *base, int column)
{
    struct pg_statement *s = stmt(base);
    return pq.getisnull(s->result, s->row, column) != 0;
}

static int64_t i64(struct db_statement *base, int column)
{
    struct pg_statement *s = stmt(base);
    int64_t value = 0;
    /* Sums of 64-bit columns come as numeric: "123", never with a fraction. */
    str_to_i64((struct str){pq.getvalue(s->result, s->row, column), (size_t)pq.getlength(s->result, s->row, column)}, &value);
    return value;
}

static struct str text(struct db_statement *base, int column)
{
    struct pg_statement *s = stmt(base);
    return (struct str){pq.getvalue(s->result, s->row, column), (size_t)pq.getlength(s->result, s->row, column)};
}

static int64_t changes(struct db *db)
{
    (void)db;
    return -1; /* not known yet */
}

static void close_db(struct db *base)
{
    struct pg_db *db = of(base);
    if (db->conn)
        pq.finish(db->conn);
    free(db);
}

static const struct db_ops postgres_ops = {
    .kind = DB_POSTGRES,
    .exec = exec,
    .prepare = prepare,
    .finish = finish,
    .bind_null = bind_null,
    .bind_i64 = bind_i64,
    .bind_text = bind_text,
    .put = put,
    .step = step,
    .reset = reset,
    .is_null = is_null,
    .i64 = i64,
    .text = text,
    .changes = changes,
    .close = close_db,
};

/* Our own time limits, unless the URL has others: a server that vanished must be noticed. */
static void connection_text(const char *url, char *text, size_t size)
{
    static const char *const wanted[] = {"connect_timeout=5", "tcp_user_timeout=10000", "keepalives_idle=30",
                                         "fallback_application_name=whirr"};
    const char *options = strchr(url, '?');
    size_t used = (size_t)snprintf(text, size, "%s%s", url, options ? "" : "?");
    for (size_t i = 0; i < ARRAY_LEN(wanted) && used < size; i++) {
        struct str key = {wanted[i], strcspn(wanted[i], "=") + 1};
        bool given = false;
        for (const char *p = options; p && !given; p = strchr(p + 1, '&'))
            given = strncmp(p + 1, key.at, key.len) == 0;
        if (!given)
            used += (size_t)snprintf(text + used, size - used, "%s%s", text[used - 1] == '?' ? "" : "&", wanted[i]);
    }
}

int db_open_postgres(const struct env *env, const char *url, bool read_only, struct db **ret, struct error *err)
{
    int rc = load(env, err);
    if (rc < 0)
        return rc;
    struct pg_db *db = calloc(1, sizeof *db);
    if (!db)
        return error_set(err, -ENOMEM, "out of memory");
    char text_of_url[2048];
    connection_text(url, text_of_url, sizeof text_of_url);
    db->db.ops = &postgres_ops;
    db->conn = pq.connectdb(text_of_url);
    if (!db->conn || pq.status(db->conn) != CONNECTION_OK) {
        rc = db->conn ? lost(db, err) : error_set(err, -ENOMEM, "out of memory");
        close_db(&db->db);
        return rc;
    }
    pq.set_notices(db->conn, ignore_notice, NULL);
    pq.set_nonblocking(db->conn, 1);
    db->patience_ms = read_only ? READER_PATIENCE_MS : WRITER_PATIENCE_MS;
    rc = exec(&db->db,
              read_only ? "SET default_transaction_read_only = on; SET statement_timeout = '30s'"
                        : "SET lock_timeout = '5s'; SET statement_timeout = '60s'",
              err);
    if (rc < 0) {
        close_db(&db->db);
        return rc;
    }
    *ret = &db->db;
    return 0;
}
