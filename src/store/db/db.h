/* SPDX-License-Identifier: Apache-2.0
 * A database connection as the store sees it: SQL text, numbered parameters ($1, $2, in the order of their first use), rows. The
 * same statements run on SQLite and PostgreSQL; where they differ, the caller asks for the kind.
 *
 * Errors: -ENOSPC disk full, -EUCLEAN the file is damaged, -ENOTCONN the server is away, -EBUSY another process holds the lock,
 * -EPROTO made by a newer version, -ECANCELED and -ETIME cut off (db->cancel, db->until), -EIO everything else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/str.h"

enum db_kind { DB_SQLITE, DB_POSTGRES };

struct db;
struct db_statement;

struct db_ops {
    enum db_kind kind;
    /* One or several statements without parameters and results. */
    int (*exec)(struct db *db, const char *sql, struct error *err);
    int (*begin)(struct db *db, struct error *err);
    int (*prepare)(struct db *db, const char *sql, struct db_statement **ret, struct error *err);
    void (*finish)(struct db_statement *s);
    void (*recycle)(struct db_statement *s); /* as if it had just been prepared */
    void (*bind_null)(struct db_statement *s, int at);
    void (*bind_i64)(struct db_statement *s, int at, int64_t value);
    void (*bind_text)(struct db_statement *s, int at, struct str text); /* must stay until the statement ran */
    /* Runs a statement for its effect. A server may be asked later, together with others; it then fails in commit at the latest. */
    int (*put)(struct db_statement *s, struct error *err);
    /* The next row: 1, behind the last: 0, or -errno. Parameters are bound before the first. */
    int (*step)(struct db_statement *s, struct error *err);
    /* Ends a result before its last row. */
    void (*reset)(struct db_statement *s);
    bool (*is_null)(struct db_statement *s, int column);
    int64_t (*i64)(struct db_statement *s, int column);
    struct str (*text)(struct db_statement *s, int column); /* until the next step */
    int64_t (*changes)(struct db *db);                      /* rows that the last put changed, when it was not deferred */
    void (*close)(struct db *db);
};

/* The table of a database whose functions have the names of the fields behind its own. */
#define DB_OPS(which, name)                                                                                                   \
    {                                                                                                                         \
        .kind = (which), .exec = name##_exec, .begin = name##_begin, .prepare = name##_prepare, .finish = name##_finish,      \
        .recycle = name##_recycle, .bind_null = name##_bind_null, .bind_i64 = name##_bind_i64, .bind_text = name##_bind_text, \
        .put = name##_put, .step = name##_step, .reset = name##_reset, .is_null = name##_is_null, .i64 = name##_i64,          \
        .text = name##_text, .changes = name##_changes, .close = name##_close,                                                \
    }

enum { DB_SPARE_MAX = 32 };

struct db {
    const struct db_ops *ops;
    bool keeps; /* statements that are finished, for the same question later: a reader does, with other numbers */
    struct db_statement *spare[DB_SPARE_MAX]; /* the one finished last at the end */
    size_t spare_count;
    bool takes_time;            /* the transaction at hand may: see db_take_time */
    const _Atomic bool *cancel; /* becomes true: nothing waits for the answer any more; NULL: never */
    struct mono until;          /* when a reader has had its time; ns 0: never */
};

struct db_statement {
    struct db *db;
    char *sql;   /* to find it by; NULL: it is not kept */
    bool failed; /* the server may not take it again: types of columns have changed */
    bool used;   /* it ran; the cleanup of unused statements sets it back */
};

/* A file, created with its folder's permissions when it is not there; read_only neither creates nor changes. */
int db_open_sqlite(const char *path, bool read_only, struct db **ret, struct error *err);

/* A server, by its URL. */
int db_open_postgres(const struct env *env, const char *url, bool read_only, struct db **ret, struct error *err);

void db_close(struct db *db); /* NULL is fine */
/* Whether what is being read is to be cut off: -ECANCELED or -ETIME and a sentence; 0: it goes on. */
int db_cut_off(const struct db *db, struct error *err);

static inline int db_exec(struct db *db, const char *sql, struct error *err)
{
    return db->ops->exec(db, sql, err);
}
/* A statement built from parts. */
int db_execf(struct db *db, struct error *err, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));

int db_begin(struct db *db, struct error *err);
int db_commit(struct db *db, struct error *err);
void db_rollback(struct db *db);
/* The transaction may take long (a migration): a server is waited for, up to an hour. */
int db_take_time(struct db *db, struct error *err);

int db_prepare(struct db *db, const char *sql, struct db_statement **ret, struct error *err);
/* The same of a text that was put together; -ENOMEM where it was not. */
int db_prepare_text(struct db *db, const struct buf *sql, struct db_statement **ret, struct error *err);
/* The same with $1 and $2. */
int db_prepare_between(struct db *db, const struct buf *sql, int64_t from, int64_t to, struct db_statement **ret,
                       struct error *err);
void db_finish(struct db_statement **s); /* and sets it to NULL */
#define AUTO_STATEMENT __attribute__((cleanup(db_finish)))

static inline void db_bind_i64(struct db_statement *s, int at, int64_t value)
{
    s->db->ops->bind_i64(s, at, value);
}
static inline void db_bind_null(struct db_statement *s, int at)
{
    s->db->ops->bind_null(s, at);
}
static inline void db_bind_text(struct db_statement *s, int at, const char *text)
{
    s->db->ops->bind_text(s, at, str_from(text));
}
/* "" as NULL: unknown words. */
static inline void db_bind_word(struct db_statement *s, int at, const char *text)
{
    if (text[0])
        db_bind_text(s, at, text);
    else
        db_bind_null(s, at);
}
static inline int db_put(struct db_statement *s, struct error *err)
{
    s->used = true;
    return s->db->ops->put(s, err);
}
static inline int db_step(struct db_statement *s, struct error *err)
{
    int rc = s->db->ops->step(s, err);
    s->used = true;
    s->failed |= rc < 0;
    return rc;
}
static inline void db_reset(struct db_statement *s)
{
    s->db->ops->reset(s);
}
static inline bool db_is_null(struct db_statement *s, int column)
{
    return s->db->ops->is_null(s, column);
}
static inline int64_t db_i64(struct db_statement *s, int column)
{
    return s->db->ops->i64(s, column);
}
static inline struct str db_text(struct db_statement *s, int column)
{
    return s->db->ops->text(s, column);
}

/* The first column of the first row; `fallback` when there is none or it is NULL. */
int db_query_i64(struct db *db, const char *sql, int64_t fallback, int64_t *ret, struct error *err);
