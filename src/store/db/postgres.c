/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL behind the ops of db.h, through libpq, which is loaded on first use.
 *
 * Statements that run for their effect are sent without waiting for the answer (pipeline mode); the answers are read when a caller
 * wants a result, and before the commit. So a transaction costs a few round trips, however many rows it has.
 *
 * Behind a pooler such as pgbouncer, each transaction may get another server session. There, we leave nothing in a session:
 * statements have no names, and time limits apply to one transaction.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "store/db/pg_connection.h"

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

static bool send(struct pg_db *db, const struct pg_statement *s)
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
    if (!send(db, s))
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
    s->result = pg_result_of(db, send(db, s));
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
