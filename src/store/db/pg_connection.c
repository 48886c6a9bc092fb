/* SPDX-License-Identifier: Apache-2.0 */
#include "store/db/pg_connection.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "base/cleanup.h"
#include "base/clock.h"

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

int pg_lost(struct pg_db *db, struct error *err)
{
    int rc = db->cancel_sent ? db_cut_off(&db->db, err) : 0;
    if (rc < 0)
        return rc;
    if (db->silent)
        return error_set(err, -ENOTCONN, "the server has not answered for %lld s", (long long)(patience_ms(db) / MS_PER_S));
    return pg_fail_with(err, -ENOTCONN, pq.error_message(db->conn));
}

int pg_fail(struct pg_db *db, const PGresult *result, struct error *err)
{
    if (db->silent || pq.status(db->conn) != CONNECTION_OK || !result || db->cancel_sent)
        return pg_lost(db, err);
    const char *state = pq.error_field(result, PG_DIAG_SQLSTATE), *message = pq.error_field(result, PG_DIAG_MESSAGE_PRIMARY);
    return pg_fail_with(err, pg_code_of(state), message ? message : pq.result_error(result));
}

bool pg_succeeded(const PGresult *result)
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

PGresult *pg_result_of(struct pg_db *db, int sent)
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

void pg_collect(struct pg_db *db)
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

int pg_settle(struct pg_db *db, struct error *err)
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
