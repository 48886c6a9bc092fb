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
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "store/db/pg_connection.h"

enum {
    PIPELINE_MAX = 256, /* answers that may wait: they must fit into the socket's buffer, or both sides wait for each other */
    PARAMETERS_MAX = 1024,
    NUMBER_SIZE = 24,
    READER_PATIENCE_MS = 35000, /* longer than the server's own limit for one statement, which is set below */
    WRITER_PATIENCE_MS = 65000,
    BINARY = 1, /* the form that results come in: libpq_number */
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
    /* A COMMIT of a transaction that had failed ends well, as a rollback. pg_settle() has told of the failure before. */
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
    if (s->name[0] && pg_settle(db, NULL) == 0 && !db->silent && pq.transaction_status(db->conn) != PQTRANS_INERROR)
        pq.clear(pg_result_of(db, pq.send_query(db->conn, sql)));
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
    stmt(base)->values[at - 1] = text.at; /* terminated: all of ours are */
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

/* Runs the statement and keeps its rows. Where limits hold for a transaction, there has to be one. */
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
    int rc = look_for_pooler(db, err);
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
