/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL behind the ops of db.h, through libpq, which is loaded on first use.
 *
 * Statements that run for their effect are sent without waiting for the answer (pipeline mode); the answers are read when a caller
 * wants a result, and before the commit. So a transaction costs a few round trips, however many rows it has.
 *
 * Behind a pooler such as pgbouncer, each transaction may get another server session. There, we leave nothing in a session:
 * statements have no names, and time limits apply to one transaction.
 */
#include "store/db/libraries.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/library.h"
#include "base/str.h"
#include "store/db/db.h"

/* ---- libpq, loaded on first use ---- */

struct libpq pq;
static bool loaded;
static pthread_mutex_t pq_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct library_symbol symbols[] = {
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
    {"PQsendQueryParams", &pq.send_params},
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
    {"PQftype", &pq.ftype},
    {"PQclear", &pq.clear},
    {"PQenterPipelineMode", &pq.enter_pipeline},
    {"PQexitPipelineMode", &pq.exit_pipeline},
    {"PQpipelineSync", &pq.pipeline_sync},
    {"PQtransactionStatus", &pq.transaction_status},
    {"PQbackendPID", &pq.backend_pid},
    {"PQgetCancel", &pq.get_cancel},
    {"PQcancel", &pq.cancel},
    {"PQfreeCancel", &pq.free_cancel},
    {"PQsetNoticeProcessor", &pq.set_notices},
};

int libpq_load(const struct env *env, struct error *err)
{
    pthread_mutex_lock(&pq_lock);
    if (!loaded) {
        struct error why = {0};
        void *library = env->load_library(env, "libpq.so.5", &why);
        loaded = library && library_symbols(library, symbols, ARRAY_LEN(symbols), &why) == 0;
        if (!loaded)
            error_set(err, -ENOSYS, "PostgreSQL needs libpq 14 or later (%s): %s", library_package("libpq.so.5", "Debian: libpq5"),
                      why.text);
    }
    int rc = loaded ? 0 : -ENOSYS;
    pthread_mutex_unlock(&pq_lock);
    return rc;
}

/* Type OIDs, which PostgreSQL never changes. */
enum { TYPE_INT8 = 20, TYPE_INT2 = 21, TYPE_INT4 = 23, TYPE_NUMERIC = 1700 };
enum { NUMERIC_HEAD = 4, NUMERIC_NEGATIVE = 0x4000, NUMERIC_BASE = 10000 };

static int64_t big_endian(struct str value)
{
    uint64_t wide;
    uint32_t narrow;
    if (value.len == sizeof wide) {
        memcpy(&wide, value.at, sizeof wide);
        return (int64_t)be64toh(wide);
    }
    if (value.len == sizeof narrow) {
        memcpy(&narrow, value.at, sizeof narrow);
        return (int32_t)be32toh(narrow);
    }
    return value.len == 2 ? (int16_t)((unsigned char)value.at[0] << 8 | (unsigned char)value.at[1]) : 0;
}

/* Sums of 64-bit columns: four words (digit count, weight of the first digit, sign, scale), then base-10,000 digits. */
static int64_t numeric(struct str value)
{
    int64_t words[NUMERIC_HEAD] = {0}, number = 0;
    for (size_t i = 0; i < NUMERIC_HEAD && 2 * i + 2 <= value.len; i++)
        words[i] = big_endian((struct str){value.at + 2 * i, 2});
    for (int64_t i = 0; i <= words[1]; i++) {
        size_t at = 2 * (NUMERIC_HEAD + (size_t)i);
        /* Trailing zeros are omitted. */
        int64_t digit = i < words[0] && at + 2 <= value.len ? big_endian((struct str){value.at + at, 2}) : 0;
        if (__builtin_mul_overflow(number, NUMERIC_BASE, &number) || __builtin_add_overflow(number, digit, &number))
            return 0;
    }
    return words[2] == NUMERIC_NEGATIVE ? -number : number;
}

/* A column value in the server's binary form, which both sides read and write in half the time of decimal digits. Other types
 * are parsed as digits; 0 if there are none or the value exceeds 64 bits. */
static int64_t libpq_number(unsigned type, struct str value)
{
    int64_t number = 0;
    switch (type) {
    case TYPE_INT8:
    case TYPE_INT4:
    case TYPE_INT2: return big_endian(value);
    case TYPE_NUMERIC: return numeric(value);
    default: return str_to_i64(value, &number) ? number : 0;
    }
}

/* ---- the connection: waits for answers with a time limit, and translates errors ---- */

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

enum {
    LONG_PATIENCE_MS = 3600000,
    CANCEL_POLL_MS = 100,
    CANCEL_PATIENCE_MS = 1000, /* for a server that was asked to cancel */
};

/* Maps the first characters of SQLSTATE to an errno. */
static int pg_code_of(const char *state)
{
    static const struct {
        const char *prefix;
        int code;
    } codes[] = {
        {"08", -ENOTCONN}, {"57P", -ENOTCONN}, {"53100", -ENOSPC},  {"53", -EBUSY},    {"55P03", -EBUSY},  {"40", -EBUSY},
        {"28", -EACCES},   {"42501", -EACCES}, {"XX001", -EUCLEAN}, {"25006", -EROFS}, {"42P01", -ESTALE}, {"57014", -ETIME},
    };
    for (size_t i = 0; state && i < ARRAY_LEN(codes); i++)
        if (strncmp(state, codes[i].prefix, strlen(codes[i].prefix)) == 0)
            return codes[i].code;
    return -EIO;
}

/* libpq ends its messages with a line feed, and joins several; keep the first line. */
static int pg_fail_with(struct error *err, int code, const char *message)
{
    struct str first = {message, strcspn(message, "\n")};
    return error_set(err, code, STR_FMT, STR_ARG(first));
}

static int64_t patience_ms(const struct pg_db *db)
{
    return db->db.takes_time ? LONG_PATIENCE_MS : db->patience_ms;
}

static int pg_lost(struct pg_db *db, struct error *err)
{
    int rc = db->cancel_sent ? db_cut_off(&db->db, err) : 0;
    if (rc < 0)
        return rc;
    if (db->silent)
        return error_set(err, -ENOTCONN, "the server has not answered for %lld s", (long long)(patience_ms(db) / MS_PER_S));
    return pg_fail_with(err, -ENOTCONN, pq.error_message(db->conn));
}

/* Sets the error of a result, or of the connection, and returns its code. */
static int pg_fail(struct pg_db *db, const PGresult *result, struct error *err)
{
    if (db->silent || pq.status(db->conn) != CONNECTION_OK || !result || db->cancel_sent)
        return pg_lost(db, err);
    const char *state = pq.error_field(result, PG_DIAG_SQLSTATE), *message = pq.error_field(result, PG_DIAG_MESSAGE_PRIMARY);
    return pg_fail_with(err, pg_code_of(state), message ? message : pq.result_error(result));
}

static bool pg_succeeded(const PGresult *result)
{
    int status = result ? pq.result_status(result) : -1;
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static bool may_be_canceled(const struct pg_db *db)
{
    return db->db.cancel || db->db.until.ns;
}

/* Closing the connection would not stop the server: it works on until it has something to send. It answers a cancel request with
 * an error. */
static void pg_send_cancel(struct pg_db *db)
{
    char why[256];
    PGcancel *how = pq.get_cancel(db->conn);
    if (how)
        pq.cancel(how, why, sizeof why);
    pq.free_cancel(how);
    db->cancel_sent = true;
}

/* Waits until an answer is there or the server has been silent for too long. libpq itself would wait forever. */
static bool pg_await(struct pg_db *db)
{
    struct mono begin = clock_mono(&clock_system);
    bool canceling = false;
    while (!db->silent) {
        int unsent = pq.flush(db->conn);
        /* What a server sent before it hung up can still be read without waiting. */
        if (unsent < 0 || !pq.consume_input(db->conn) || !pq.is_busy(db->conn))
            return true;
        if (!canceling && db_cut_off(&db->db, NULL) < 0) {
            canceling = true;
            if (db->reads && !db->cancel_sent)
                pg_send_cancel(db);
            begin = clock_mono(&clock_system);
        }
        int64_t patience = canceling ? CANCEL_PATIENCE_MS : patience_ms(db);
        int64_t left_ms = patience - mono_since_ms(clock_mono(&clock_system), begin);
        struct pollfd fd = {.fd = pq.socket(db->conn), .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
        db->silent = left_ms <= 0;
        int ready = db->silent ? 0 : poll(&fd, 1, (int)MIN_OF(left_ms, (int64_t)(may_be_canceled(db) ? CANCEL_POLL_MS : INT_MAX)));
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready > 0 && (fd.revents & POLLIN) && !canceling)
            begin = clock_mono(&clock_system); /* the server is still sending */
    }
    return false;
}

/* The next result; NULL after the last result of a statement, or when the connection is unusable. */
static PGresult *pg_next_result(struct pg_db *db)
{
    return pg_await(db) ? pq.get_result(db->conn) : NULL;
}

/* Waits for the answer to a query sent outside of the pipeline. The first error counts; of several statements, the last result. */
static PGresult *pg_result_of(struct pg_db *db, int sent)
{
    PGresult *last = NULL;
    for (PGresult *next; sent && (next = pg_next_result(db)) != NULL;) {
        bool keep = last && !pg_succeeded(last);
        pq.clear(keep ? next : last);
        last = keep ? last : next;
    }
    if (db->silent) {
        pq.clear(last);
        return NULL;
    }
    return last;
}

/* Reads all pending results. The first error counts; the server skipped everything after it. */
static void pg_collect(struct pg_db *db)
{
    bool synced = db->silent || !pq.pipeline_sync(db->conn);
    if (synced && !db->failed_code)
        db->failed_code = pg_lost(db, &db->failed);
    while (!synced) {
        PGresult *result = pg_next_result(db);
        if (!result) {
            if (!db->silent && pq.status(db->conn) == CONNECTION_OK)
                continue; /* end of one statement's results */
            if (!db->failed_code)
                db->failed_code = pg_lost(db, &db->failed);
            break;
        }
        int status = pq.result_status(result);
        synced = status == PGRES_PIPELINE_SYNC;
        if (!synced && !pg_succeeded(result) && status != PGRES_PIPELINE_ABORTED && !db->failed_code)
            db->failed_code = pg_fail(db, result, &db->failed);
        pq.clear(result);
    }
    db->queued = 0;
}

/* Leaves pipeline mode; returns its error, if any, once. */
static int pg_settle(struct pg_db *db, struct error *err)
{
    if (!db->pipeline)
        return 0;
    pg_collect(db);
    if (!db->silent)
        pq.exit_pipeline(db->conn);
    db->pipeline = false;
    int code = db->failed_code;
    db->failed_code = 0;
    if (code && err)
        *err = db->failed;
    return code;
}

/* ---- statements ---- */

enum {
    PIPELINE_MAX = 256, /* unread answers must fit into the socket's buffer, or both sides block */
    PARAMETERS_MAX = 1024,
    NUMBER_SIZE = 24,
    READER_PATIENCE_MS = 35000, /* longer than the server's own statement timeout, which is set below */
    WRITER_PATIENCE_MS = 65000,
    BINARY = 1, /* the result format: libpq_number */
};

struct pg_statement {
    struct db_statement statement;
    char name[16]; /* "": unnamed */
    char *sql;     /* the text, if pooled */
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

static void ignore_notice(void *arg, const char *message)
{
    (void)arg, (void)message;
}

static int postgres_exec(struct db *base, const char *sql, struct error *err)
{
    struct pg_db *db = of(base);
    int rc = pg_settle(db, err);
    bool undo = strcasecmp(sql, "ROLLBACK") == 0;
    if (rc < 0 && !undo)
        return rc;
    db->parsed = NULL;
    PGresult *result = pg_result_of(db, !db->silent && pq.send_query(db->conn, sql));
    rc = pg_succeeded(result) ? 0 : pg_fail(db, result, err);
    pq.clear(result);
    /* COMMIT of a failed transaction succeeds as a rollback; pg_settle() has already returned the failure. */
    return rc;
}

/* Settings apply to the session, or to the transaction behind a pooler. JIT is off for readers: the server decides by the number
 * of rows it expects, not those an index finds, and compiling takes longer than running any of our statements. For the same
 * reason bitmap scans are off for writers: for each GPU the server would read the BRIN index on time beside the key, although
 * the time only selects a partition. With ROOM_TO_SORT, a year of processes or a week of minutes is sorted without a temporary
 * file. */
#define ROOM_TO_SORT(local) \
    "SELECT set_config('work_mem', '32MB', " local ") WHERE pg_size_bytes(current_setting('work_mem')) < 33554432"

static const char *limits(const struct pg_db *db)
{
    if (!db->pooled)
        return db->read_only
                   ? "SET default_transaction_read_only = on; SET statement_timeout = '30s'; SET jit = off; " ROOM_TO_SORT("false")
                   : "SET lock_timeout = '5s'; SET statement_timeout = '60s'; SET enable_bitmapscan = off";
    return db->read_only
               ? "BEGIN READ ONLY; SET LOCAL statement_timeout = '30s'; SET LOCAL jit = off; " ROOM_TO_SORT("true")
               : "BEGIN; SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = '60s'; SET LOCAL enable_bitmapscan = off";
}

static int postgres_begin(struct db *base, struct error *err)
{
    return postgres_exec(base, of(base)->pooled ? limits(of(base)) : "BEGIN", err);
}

static bool send_statement(struct pg_db *db, const struct pg_statement *s)
{
    if (db->silent)
        return false;
    /* Consecutive rows often go to the same table: then the server need not parse the statement again. */
    if (!db->pooled || db->parsed == s)
        return pq.send_prepared(db->conn, s->name, s->parameters, s->values, NULL, NULL, BINARY) != 0;
    db->parsed = s;
    return pq.send_params(db->conn, s->sql, s->parameters, NULL, s->values, NULL, NULL, BINARY) != 0;
}

static int count_parameters(const char *sql)
{
    int max = 0;
    for (const char *p = strchr(sql, '$'); p; p = strchr(p + 1, '$'))
        max = MAX_OF(max, atoi(p + 1)); /* NOLINT: our own SQL, with digits after each $ */
    return max;
}

static void postgres_finish(struct db_statement *base)
{
    struct pg_statement *s = stmt(base);
    struct pg_db *db = of(base->db);
    pq.clear(s->result);
    char sql[48];
    snprintf(sql, sizeof sql, "DEALLOCATE %s", s->name);
    /* DEALLOCATE would fail in a failed transaction; that connection is dropped sooner or later. */
    if (s->name[0] && pg_settle(db, NULL) == 0 && !db->silent && pq.transaction_status(db->conn) != PQTRANS_INERROR)
        pq.clear(pg_result_of(db, pq.send_query(db->conn, sql)));
    if (db->parsed == s)
        db->parsed = NULL;
    free(s->sql);
    free(s->numbers);
    free(s);
}

/* Prepares the statement in the session under a name. */
static int name_statement(struct pg_db *db, struct pg_statement *s, const char *sql, struct error *err)
{
    char name[16];
    snprintf(name, sizeof name, "w%u", ++db->statements);
    PGresult *result = pg_result_of(db, !db->silent && pq.send_prepare(db->conn, name, sql, 0, NULL));
    int rc = pg_succeeded(result) ? 0 : pg_fail(db, result, err);
    pq.clear(result);
    if (rc == 0)
        memcpy(s->name, name, sizeof s->name);
    return rc;
}

static int postgres_prepare(struct db *base, const char *sql, struct db_statement **ret, struct error *err)
{
    struct pg_db *db = of(base);
    int rc = pg_settle(db, err);
    if (rc < 0)
        return rc;
    struct pg_statement *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->statement.db = base;
    s->parameters = count_parameters(sql);
    s->numbers = s->parameters < PARAMETERS_MAX ? calloc((size_t)s->parameters + 1, sizeof *s->numbers) : NULL;
    s->sql = db->pooled ? strdup(sql) : NULL;
    if (!s->numbers || (db->pooled && !s->sql))
        rc = error_set(err, -ENOMEM, "out of memory");
    else if (!db->pooled)
        rc = name_statement(db, s, sql, err);
    if (rc < 0) {
        postgres_finish(&s->statement);
        return rc;
    }
    *ret = &s->statement;
    return 0;
}

static void postgres_bind_null(struct db_statement *base, int at)
{
    stmt(base)->values[at - 1] = NULL;
}

static void postgres_bind_i64(struct db_statement *base, int at, int64_t value)
{
    struct pg_statement *s = stmt(base);
    snprintf(s->numbers[at - 1], NUMBER_SIZE, "%lld", (long long)value);
    s->values[at - 1] = s->numbers[at - 1];
}

static void postgres_bind_text(struct db_statement *base, int at, struct str text)
{
    stmt(base)->values[at - 1] = text.at; /* all our texts are NUL-terminated */
}

static int postgres_put(struct db_statement *base, struct error *err)
{
    struct pg_statement *s = stmt(base);
    struct pg_db *db = of(base->db);
    if (db->silent)
        return pg_lost(db, err);
    if (!db->pipeline) {
        if (!pq.enter_pipeline(db->conn))
            return pg_lost(db, err);
        db->pipeline = true;
    }
    if (!send_statement(db, s))
        return pg_lost(db, err);
    if (++db->queued >= PIPELINE_MAX)
        pg_collect(db);
    if (db->failed_code && err)
        *err = db->failed;
    return db->failed_code;
}

static void postgres_reset(struct db_statement *base)
{
    struct pg_statement *s = stmt(base);
    pq.clear(s->result);
    s->result = NULL;
}

static void postgres_recycle(struct db_statement *base)
{
    struct pg_statement *s = stmt(base);
    postgres_reset(base);
    memset(s->values, 0, (size_t)s->parameters * sizeof s->values[0]);
}

/* Runs the statement and keeps its rows. Where limits apply to a transaction, it needs one. */
static int query(struct pg_db *db, struct pg_statement *s, struct error *err)
{
    int rc = pg_settle(db, err);
    if (rc == 0)
        rc = db_cut_off(&db->db, err);
    bool alone = rc == 0 && db->pooled && !db->silent && pq.transaction_status(db->conn) == PQTRANS_IDLE;
    if (alone)
        rc = postgres_begin(&db->db, err);
    if (rc < 0)
        return rc;
    db->reads = true;
    s->result = pg_result_of(db, send_statement(db, s));
    db->reads = false;
    s->row = -1;
    if (!pg_succeeded(s->result)) {
        rc = pg_fail(db, s->result, err);
        postgres_reset(&s->statement);
    }
    db->cancel_sent = false;
    if (alone)
        postgres_exec(&db->db, "COMMIT", NULL); /* nothing to write; after a failure this is a rollback */
    return rc;
}

static int postgres_step(struct db_statement *base, struct error *err)
{
    struct pg_statement *s = stmt(base);
    int rc = s->result ? 0 : query(of(base->db), s, err);
    if (rc < 0)
        return rc;
    if (++s->row < pq.ntuples(s->result))
        return 1;
    postgres_reset(base);
    return 0;
}

static bool postgres_is_null(struct db_statement *base, int column)
{
    struct pg_statement *s = stmt(base);
    return pq.getisnull(s->result, s->row, column) != 0;
}

static struct str postgres_text(struct db_statement *base, int column)
{
    struct pg_statement *s = stmt(base);
    return (struct str){pq.getvalue(s->result, s->row, column), (size_t)pq.getlength(s->result, s->row, column)};
}

static int64_t postgres_i64(struct db_statement *base, int column)
{
    return libpq_number(pq.ftype(stmt(base)->result, column), postgres_text(base, column));
}

static int64_t postgres_changes(struct db *db)
{
    (void)db;
    return -1; /* unknown until the pipeline is read */
}

static void postgres_close(struct db *base)
{
    struct pg_db *db = of(base);
    if (db->conn)
        pq.finish(db->conn);
    free(db);
}

static const struct db_ops postgres_ops = DB_OPS(DB_POSTGRES, postgres);

/* Adds our own timeouts unless the URL has them: a vanished server must be noticed. */
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

/* A pooler reports a PID of its own at connect, a server that of its backend. */
static int detect_pooler(struct pg_db *db, struct error *err)
{
    PGresult *result = pg_result_of(db, pq.send_query(db->conn, "SELECT pg_backend_pid()"));
    int64_t pid = 0;
    int rc = pg_succeeded(result) && pq.ntuples(result) == 1 ? 0 : pg_fail(db, result, err);
    if (rc == 0)
        str_to_i64(str_from(pq.getvalue(result, 0, 0)), &pid);
    db->pooled = pid != pq.backend_pid(db->conn);
    pq.clear(result);
    return rc;
}

static int pg_connect(const char *url, bool read_only, struct db **ret, struct error *err)
{
    struct pg_db *db = calloc(1, sizeof *db);
    if (!db)
        return error_set(err, -ENOMEM, "out of memory");
    char text_of_url[2048];
    connection_text(url, text_of_url, sizeof text_of_url);
    db->db.ops = &postgres_ops;
    db->db.keeps = read_only;
    db->read_only = read_only;
    db->patience_ms = read_only ? READER_PATIENCE_MS : WRITER_PATIENCE_MS;
    db->conn = pq.connectdb(text_of_url);
    if (!db->conn || pq.status(db->conn) != CONNECTION_OK) {
        int rc = db->conn ? pg_lost(db, err) : error_set(err, -ENOMEM, "out of memory");
        postgres_close(&db->db);
        return rc;
    }
    pq.set_notices(db->conn, ignore_notice, NULL);
    pq.set_nonblocking(db->conn, 1);
    int rc = detect_pooler(db, err);
    if (rc == 0 && !db->pooled)
        rc = postgres_exec(&db->db, limits(db), err);
    if (rc < 0) {
        postgres_close(&db->db);
        return rc;
    }
    *ret = &db->db;
    return 0;
}

int db_open_postgres(const struct env *env, const char *url, bool read_only, struct db **ret, struct error *err)
{
    int rc = libpq_load(env, err);
    if (rc < 0)
        return rc;
    rc = pg_connect(url, read_only, ret, err);
    return rc < 0 ? error_prefix(err, "cannot connect to PostgreSQL (is it running, and is the URL right?)") : 0;
}
