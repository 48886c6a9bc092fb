/* SPDX-License-Identifier: Apache-2.0
 * What is the same for every database.
 */
#include "store/db/db.h"

#include <errno.h>
#include <stdarg.h>

#include "base/buf.h"

enum { SQL_MAX = 1 << 18 };

void db_close(struct db *db)
{
    if (db)
        db->ops->close(db);
}

void db_finish(struct db_statement **s)
{
    if (*s)
        (*s)->db->ops->finish(*s);
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
    db_exec(db, "ROLLBACK", NULL); /* fails when the database has rolled back already: what was wanted */
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
