/* SPDX-License-Identifier: Apache-2.0
 * Linked into the unit tests of the history: with WHIRR_STATEMENTS=FILE, appends each statement for SQLite or a server
 * to that file, those for SQLite with their plan. tests/contract/test_plans.py judges them.
 *
 *   S <statement on one line>
 *   | <a line of its plan>
 *   P <statement for a server>
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/db/libraries.h"

enum { RECORD_MAX = 1 << 20 };
static struct sqlite_library real_sqlite;
static struct libpq real_pq;
static int statements_fd = -1;

static void add_line(struct buf *out, const char *mark, const char *text, size_t len)
{
    buf_text(out, mark);
    for (size_t i = 0; i < len; i++)
        buf_char(out, text[i] == '\n' ? ' ' : text[i]);
    buf_char(out, '\n');
}

/* One write for the whole entry, so that those of other processes and threads do not interleave. */
static void append(const struct buf *out)
{
    if (!out->failed && write(statements_fd, out->at, out->len) != (ssize_t)out->len)
        abort();
}

/* Notes the first statement of the text with its plan; the caller knows that the text is valid. */
static void note_sqlite(sqlite3 *db, const char *sql, size_t len)
{
    AUTO_BUF struct buf out = BUF(RECORD_MAX), explain = BUF(RECORD_MAX);
    sqlite3_stmt *q = NULL;
    buf_text(&explain, "EXPLAIN QUERY PLAN ");
    buf_add(&explain, sql, len);
    add_line(&out, "S ", sql, len);
    if (explain.failed || real_sqlite.prepare_v3(db, explain.at, -1, 0, &q, NULL) != SQLITE_OK)
        return;
    while (real_sqlite.step(q) == SQLITE_ROW)
        add_line(&out, "| ", (const char *)real_sqlite.column_text(q, 3), (size_t)real_sqlite.column_bytes(q, 3));
    real_sqlite.finalize(q);
    append(&out);
}

static int prepare_noted(sqlite3 *db, const char *sql, int size, unsigned flags, sqlite3_stmt **ret, const char **tail)
{
    int code = real_sqlite.prepare_v3(db, sql, size, flags, ret, tail);
    if (code == SQLITE_OK)
        note_sqlite(db, sql, strlen(sql));
    return code;
}

/* Notes and runs the statements in order, as sqlite3_exec() does: later ones may depend on earlier ones. Ignores the results. */
static int exec_noted(sqlite3 *db, const char *sql, int (*each)(void *, int, char **, char **), void *user, char **message)
{
    int code = SQLITE_OK;
    while (code == SQLITE_OK && *sql) {
        sqlite3_stmt *q = NULL;
        const char *rest = NULL;
        code = real_sqlite.prepare_v3(db, sql, -1, 0, &q, &rest);
        if (code == SQLITE_OK && q)
            note_sqlite(db, sql, (size_t)(rest - sql));
        real_sqlite.finalize(q);
        if (code != SQLITE_OK)
            break;
        AUTO_FREE char *one = strndup(sql, (size_t)(rest - sql));
        code = real_sqlite.exec(db, one, each, user, message);
        sql = rest;
    }
    return code;
}

static void note_server(const char *sql)
{
    AUTO_BUF struct buf out = BUF(RECORD_MAX);
    add_line(&out, "P ", sql, strlen(sql));
    append(&out);
}

static int send_query_noted(PGconn *conn, const char *sql)
{
    note_server(sql);
    return real_pq.send_query(conn, sql);
}

static int send_params_noted(PGconn *conn, const char *sql, int count, const unsigned *types, const char *const *values,
                             const int *lengths, const int *formats, int format)
{
    note_server(sql);
    return real_pq.send_params(conn, sql, count, types, values, lengths, formats, format);
}

static int send_prepare_noted(PGconn *conn, const char *name, const char *sql, int count, const unsigned *types)
{
    note_server(sql);
    return real_pq.send_prepare(conn, name, sql, count, types);
}

__attribute__((constructor)) static void note_statements(void)
{
    const char *path = getenv("WHIRR_STATEMENTS");
    struct error err;
    struct env env;
    if (!path)
        return;
    statements_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    env_init_system(&env);
    if (statements_fd < 0 || sqlite_load(&err) != 0)
        abort();
    real_sqlite = sqlite;
    sqlite.prepare_v3 = prepare_noted;
    sqlite.exec = exec_noted;
    if (libpq_load(&env, &err) != 0)
        return;
    real_pq = pq;
    pq.send_query = send_query_noted;
    pq.send_params = send_params_noted;
    pq.send_prepare = send_prepare_noted;
}
