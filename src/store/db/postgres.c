/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL behind the table of db.h, through libpq, which is loaded when it is first needed.
 *
 * Statements that are run for their effect are sent without waiting for the answer (pipeline mode); the answers are looked at
 * when a caller wants a result, and before the commit. So a transaction costs a few round trips, however many rows it has.
 *
 * Behind a pooler such as pgbouncer the server's session is another one in each transaction. There, nothing is left in a session:
 * statements have no names, and time limits hold for one transaction.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/db/db.h"
#include "store/db/libpq.h"

enum {
    PIPELINE_MAX = 256, /* answers that may wait: they must fit into the socket's buffer, or both sides wait for each other */
    PARAMETERS_MAX = 1024,
    NUMBER_SIZE = 24,
    READER_PATIENCE_MS = 35000, /* longer than the server's own limit for one statement, which is set below */
    WRITER_PATIENCE_MS = 65000,
    LONG_PATIENCE_MS = 3600000,
    CUT_OFF_LOOK_MS = 100,
    CUT_OFF_PATIENCE_MS = 1000, /* for a server that was asked to stop */
    BINARY = 1,                 /* the form that results come in: libpq_number */
};

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

struct pg_statement {
    struct db_statement statement;
    char name[16]; /* "": has none */
    char *sql;     /* pooled: its text */
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

/* By the first characters of SQLSTATE. */
static int code_of(const char *state)
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

/* libpq ends its messages with a line feed, and puts several into one. */
static int pg_fail(struct error *err, int code, const char *message)
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
    int rc = db->told_to_stop ? db_cut_off(&db->db, err) : 0;
    if (rc < 0)
        return rc;
    if (db->silent)
        return error_set(err, -ENOTCONN, "the server has not answered for %lld s", (long long)(patience_ms(db) / MS_PER_S));
    return pg_fail(err, -ENOTCONN, pq.error_message(db->conn));
}

static int fail(struct pg_db *db, const PGresult *result, struct error *err)
{
    if (db->silent || pq.status(db->conn) != CONNECTION_OK || !result || db->told_to_stop)
        return lost(db, err);
    const char *state = pq.error_field(result, PG_DIAG_SQLSTATE), *message = pq.error_field(result, PG_DIAG_MESSAGE_PRIMARY);
    return pg_fail(err, code_of(state), message ? message : pq.result_error(result));
}

static bool succeeded(const PGresult *result)
{
    int status = result ? pq.result_status(result) : -1;
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static bool may_be_cut_off(const struct pg_db *db)
{
    return db->db.cancel || db->db.until.ns;
}

/* Leaving would not stop the server: it works on until it has something to send. Its answer is that it stopped. */
static void tell_to_stop(struct pg_db *db)
{
    char why[256];
    PGcancel *how = pq.get_cancel(db->conn);
    if (how)
        pq.cancel(how, why, sizeof why);
    pq.free_cancel(how);
    db->told_to_stop = true;
}

/* Until an answer is there, or the server has been silent for longer than it may be. libpq itself would wait for ever. */
static bool await(struct pg_db *db)
{
    struct mono begin = clock_mono(&clock_system);
    bool hurries = false;
    while (!db->silent) {
        int unsent = pq.flush(db->conn);
        /* What a server said before it hung up is still to be had, without waiting. */
        if (unsent < 0 || !pq.consume_input(db->conn) || !pq.is_busy(db->conn))
            return true;
        if (!hurries && db_cut_off(&db->db, NULL) < 0) {
            hurries = true;
            if (db->reads && !db->told_to_stop)
                tell_to_stop(db);
            begin = clock_mono(&clock_system);
        }
        int64_t patience = hurries ? CUT_OFF_PATIENCE_MS : patience_ms(db);
        int64_t left_ms = patience - mono_since_ms(clock_mono(&clock_system), begin);
        struct pollfd fd = {.fd = pq.socket(db->conn), .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
        db->silent = left_ms <= 0;
        int ready = db->silent ? 0 : poll(&fd, 1, (int)MIN_OF(left_ms, (int64_t)(may_be_cut_off(db) ? CUT_OFF_LOOK_MS : INT_MAX)));
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready > 0 && (fd.revents & POLLIN) && !hurries)
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

static int postgres_exec(struct db *base, const char *sql, struct error *err)
{
    struct pg_db *db = of(base);
    int rc = settle(db, err);
    bool undo = strcasecmp(sql, "ROLLBACK") == 0;
    if (rc < 0 && !undo)
        return rc;
    db->parsed = NULL;
    PGresult *result = result_of(db, !db->silent && pq.send_query(db->conn, sql));
    rc = succeeded(result) ? 0 : fail(db, result, err);
    pq.clear(result);
    /* A COMMIT of a transaction that had failed ends well, as a rollback. settle() has told of the failure before. */
    return rc;
}

/* Time limits are the session's own, or, where there is none, the transaction's. Compiling a statement takes the server longer than
 * running any of ours: it judges them by the rows it expects, not by those an index finds. For the same reason a writer would
 * go through the index by time (brin, which needs a bitmap) beside the key for each GPU, where the time is there to choose a part.
 * A year of processes, or a week of minutes, is sorted without a file, where the server would allow less for it.
 */
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

static bool send(struct pg_db *db, const struct pg_statement *s)
{
    if (db->silent)
        return false;
    /* Rows of one table often follow each other: the server need not read their statement again. */
    if (!db->pooled || db->parsed == s)
        return pq.send_prepared(db->conn, s->name, s->parameters, s->values, NULL, NULL, BINARY) != 0;
    db->parsed = s;
    return pq.send_params(db->conn, s->sql, s->parameters, NULL, s->values, NULL, NULL, BINARY) != 0;
}

static int count_parameters(const char *sql)
{
    int most = 0;
    for (const char *p = strchr(sql, '$'); p; p = strchr(p + 1, '$'))
        most = MAX_OF(most, atoi(p + 1)); /* NOLINT: ours, and followed by digits */
    return most;
}

static void postgres_finish(struct db_statement *base)
{
    struct pg_statement *s = stmt(base);
    struct pg_db *db = of(base->db);
    pq.clear(s->result);
    char sql[48];
    snprintf(sql, sizeof sql, "DEALLOCATE %s", s->name);
    /* In a transaction that has failed this fails, too; the connection is then given up sooner or later. */
    if (s->name[0] && settle(db, NULL) == 0 && !db->silent && pq.transaction_status(db->conn) != PQTRANS_INERROR)
        pq.clear(result_of(db, pq.send_query(db->conn, sql)));
    if (db->parsed == s)
        db->parsed = NULL;
    free(s->sql);
    free(s->numbers);
    free(s);
}

/* Gives the session the statement, by a name. */
static int name_statement(struct pg_db *db, struct pg_statement *s, const char *sql, struct error *err)
{
    char name[16];
    snprintf(name, sizeof name, "w%u", ++db->statements);
    PGresult *result = result_of(db, !db->silent && pq.send_prepare(db->conn, name, sql, 0, NULL));
    int rc = succeeded(result) ? 0 : fail(db, result, err);
    pq.clear(result);
    if (rc == 0)
        memcpy(s->name, name, sizeof s->name);
    return rc;
}

static int postgres_prepare(struct db *base, const char *sql, struct db_statement **ret, struct error *err)
{
    struct pg_db *db = of(base);
    int rc = settle(db, err);
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
    stmt(base)->values[at - 1] = text.at; /* terminated: all of ours are */
}

static int postgres_put(struct db_statement *base, struct error *err)
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
    if (!send(db, s))
        return lost(db, err);
    if (++db->queued >= PIPELINE_MAX)
        collect(db);
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

/* Runs the statement and keeps its rows. Where limits hold for a transaction, there has to be one. */
static int query(struct pg_db *db, struct pg_statement *s, struct error *err)
{
    int rc = settle(db, err);
    if (rc == 0)
        rc = db_cut_off(&db->db, err);
    bool alone = rc == 0 && db->pooled && !db->silent && pq.transaction_status(db->conn) == PQTRANS_IDLE;
    if (alone)
        rc = postgres_begin(&db->db, err);
    if (rc < 0)
        return rc;
    db->reads = true;
    s->result = result_of(db, send(db, s));
    db->reads = false;
    s->row = -1;
    if (!succeeded(s->result)) {
        rc = fail(db, s->result, err);
        postgres_reset(&s->statement);
    }
    db->told_to_stop = false;
    if (alone)
        postgres_exec(&db->db, "COMMIT", NULL); /* of reading; and after a failure it is a rollback */
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
    return -1; /* not known yet */
}

static void postgres_close(struct db *base)
{
    struct pg_db *db = of(base);
    if (db->conn)
        pq.finish(db->conn);
    free(db);
}

static const struct db_ops postgres_ops = DB_OPS(DB_POSTGRES, postgres);

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

/* A pooler answers with a number of its own, the server with that of its process. */
static int look_for_pooler(struct pg_db *db, struct error *err)
{
    PGresult *result = result_of(db, pq.send_query(db->conn, "SELECT pg_backend_pid()"));
    int64_t pid = 0;
    int rc = succeeded(result) && pq.ntuples(result) == 1 ? 0 : fail(db, result, err);
    if (rc == 0)
        str_to_i64(str_from(pq.getvalue(result, 0, 0)), &pid);
    db->pooled = pid != pq.backend_pid(db->conn);
    pq.clear(result);
    return rc;
}

int db_open_postgres(const struct env *env, const char *url, bool read_only, struct db **ret, struct error *err)
{
    int rc = libpq_load(env, err);
    if (rc < 0)
        return rc;
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
        rc = db->conn ? lost(db, err) : error_set(err, -ENOMEM, "out of memory");
        postgres_close(&db->db);
        return rc;
    }
    pq.set_notices(db->conn, ignore_notice, NULL);
    pq.set_nonblocking(db->conn, 1);
    rc = look_for_pooler(db, err);
    if (rc == 0 && !db->pooled)
        rc = postgres_exec(&db->db, limits(db), err);
    if (rc < 0) {
        postgres_close(&db->db);
        return rc;
    }
    *ret = &db->db;
    return 0;
}
