/* SPDX-License-Identifier: Apache-2.0
 * The functions that SQLite and PostgreSQL share.
 */
#include "store/db/db.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { SQL_MAX = 1 << 18 };

int db_cut_off(const struct db *db, struct error *err)
{
    if (db->cancel && *db->cancel)
        return error_set(err, -ECANCELED, "the question was withdrawn");
    if (db->until.ns && clock_mono(&clock_system).ns >= db->until.ns)
        return error_set(err, -ETIME, "it took too long");
    return 0;
}

static void drop(struct db_statement *s)
{
    char *sql = s->sql;
    s->db->ops->finish(s);
    free(sql);
}

void db_close(struct db *db)
{
    if (!db)
        return;
    while (db->spare_count)
        drop(db->spare[--db->spare_count]);
    db->ops->close(db);
}

/* Reuse finished statements: parsing, planning and dropping one costs a server more than most answers. */
int db_prepare(struct db *db, const char *sql, struct db_statement **ret, struct error *err)
{
    for (size_t i = db->spare_count; i-- > 0;)
        if (strcmp(db->spare[i]->sql, sql) == 0) {
            *ret = db->spare[i];
            memmove(&db->spare[i], &db->spare[i + 1], (--db->spare_count - i) * sizeof db->spare[0]);
            return 0;
        }
    int rc = db->ops->prepare(db, sql, ret, err);
    if (rc == 0 && db->keeps)
        (*ret)->sql = strdup(sql);
    return rc;
}

int db_prepare_text(struct db *db, const struct buf *sql, struct db_statement **ret, struct error *err)
{
    return sql->failed ? error_set(err, -ENOMEM, "out of memory") : db_prepare(db, sql->at, ret, err);
}

int db_prepare_between(struct db *db, const struct buf *sql, int64_t from, int64_t to, struct db_statement **ret, struct error *err)
{
    int rc = db_prepare_text(db, sql, ret, err);
    if (rc == 0) {
        db_bind_numbers(*ret, 1, from, to);
    }
    return rc;
}

static void keep(struct db *db, struct db_statement *s)
{
    db->ops->recycle(s);
    if (db->spare_count == DB_SPARE_MAX) {
        drop(db->spare[0]);
        memmove(&db->spare[0], &db->spare[1], --db->spare_count * sizeof db->spare[0]);
    }
    db->spare[db->spare_count++] = s;
}

void db_finish(struct db_statement **s)
{
    if (*s && (*s)->sql && !(*s)->failed)
        keep((*s)->db, *s);
    else if (*s)
        drop(*s);
    *s = NULL;
}

int db_execf(struct db *db, struct error *err, const char *format, ...)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    va_list args;
    va_start(args, format);
    buf_vprintf(&sql, format, args);
    va_end(args);
    if (sql.failed)
        return error_set(err, -ENOMEM, "out of memory");
    return db_exec(db, sql.at, err);
}

int db_begin(struct db *db, struct error *err)
{
    db->takes_time = false;
    return db->ops->begin(db, err);
}

int db_commit(struct db *db, struct error *err)
{
    int rc = db_exec(db, "COMMIT", err);
    if (rc < 0)
        db_rollback(db);
    return rc;
}

void db_rollback(struct db *db)
{
    db_exec(db, "ROLLBACK", NULL); /* fails if the database has rolled back already, which is fine */
}

int db_take_time(struct db *db, struct error *err)
{
    db->takes_time = true;
    return db->ops->kind == DB_POSTGRES ? db_exec(db, "SET LOCAL statement_timeout = 0", err) : 0;
}

int db_query_i64(struct db *db, const char *sql, int64_t fallback, int64_t *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *s = NULL;
    int rc = db_prepare(db, sql, &s, err);
    if (rc < 0)
        return rc;
    rc = db_step(s, err);
    if (rc < 0)
        return rc;
    *ret = rc == 1 && !db_is_null(s, 0) ? db_i64(s, 0) : fallback;
    return 0;
}
