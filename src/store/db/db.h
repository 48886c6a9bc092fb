/* SPDX-License-Identifier: Apache-2.0
 * A database connection: SQL text, numbered parameters ($1, $2, in the order of their first use), rows. The same statements run on
 * SQLite and PostgreSQL; where they differ, the caller checks the kind.
 *
 * Errors: -ENOSPC disk full, -EUCLEAN damaged file, -ENOTCONN server unreachable, -EBUSY another process holds the lock, -EPROTO
 * written by a newer version, -ECANCELED and -ETIME interrupted (db->cancel, db->until), -EIO everything else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/str.h"
#include "model/reading.h"

enum db_kind { DB_SQLITE, DB_POSTGRES };

struct db;
struct db_statement;

struct db_ops {
    enum db_kind kind;
    /* Runs one or more statements without parameters or results. */
    int (*exec)(struct db *db, const char *sql, struct error *err);
    int (*begin)(struct db *db, struct error *err);
    int (*prepare)(struct db *db, const char *sql, struct db_statement **ret, struct error *err);
    void (*finish)(struct db_statement *s);
    void (*recycle)(struct db_statement *s); /* back to the state right after prepare */
    void (*bind_null)(struct db_statement *s, int at);
    void (*bind_i64)(struct db_statement *s, int at, int64_t value);
    void (*bind_text)(struct db_statement *s, int at, struct str text); /* the text must live until the statement has run */
    /* Runs a statement for its effect. A server may defer it and send it together with others; errors then surface in commit at
     * the latest. */
    int (*put)(struct db_statement *s, struct error *err);
    /* Advances to the next row: 1, 0 after the last, or -errno. Bind all parameters before the first step. */
    int (*step)(struct db_statement *s, struct error *err);
    /* Discards the remaining rows. */
    void (*reset)(struct db_statement *s);
    bool (*is_null)(struct db_statement *s, int column);
    int64_t (*i64)(struct db_statement *s, int column);
    struct str (*text)(struct db_statement *s, int column); /* valid until the next step */
    int64_t (*changes)(struct db *db);                      /* rows changed by the last put, unless it was deferred */
    void (*close)(struct db *db);
};

/* Fills a db_ops whose functions are named NAME_FIELD. */
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
    bool keeps; /* keep finished statements for reuse: readers repeat their queries with other parameters */
    struct db_statement *spare[DB_SPARE_MAX]; /* most recently finished last */
    size_t spare_count;
    bool takes_time;            /* the current transaction may be slow: see db_take_time */
    const _Atomic bool *cancel; /* set to true when nothing needs the answer any more; NULL: never */
    struct mono until;          /* deadline of a reader; ns 0: none */
};

struct db_statement {
    struct db *db;
    char *sql;   /* key for reuse; NULL: not reusable */
    bool failed; /* don't reuse: the server may reject it because column types changed */
    bool used;   /* it ran since the last cleanup of unused statements */
};

/* Opens a file, and creates it, private to its owner, if it is missing; read_only neither creates nor changes it. */
int db_open_sqlite(const char *path, bool read_only, struct db **ret, struct error *err);

/* Copies an SQLite database as it is at this moment into a new file, private to its owner; its writer goes on. -EEXIST: it is
 * there. -ECANCELED: db->cancel. */
int db_backup_sqlite(struct db *from, const char *path, void (*progress)(void *user, int64_t permille), void *user,
                     struct error *err);

/* Connects to the server at `url`. */
int db_open_postgres(const struct env *env, const char *url, bool read_only, struct db **ret, struct error *err);

void db_close(struct db *db); /* NULL is allowed */
/* Checks whether to interrupt the current read: -ECANCELED or -ETIME and a sentence; 0: continue. */
int db_cut_off(const struct db *db, struct error *err);

static inline int db_exec(struct db *db, const char *sql, struct error *err)
{
    return db->ops->exec(db, sql, err);
}
/* Formats and runs a statement. */
int db_execf(struct db *db, struct error *err, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));

int db_begin(struct db *db, struct error *err);
int db_commit(struct db *db, struct error *err);
void db_rollback(struct db *db);
/* Allows the current transaction, such as a migration, to be slow: up to an hour on a server. */
int db_take_time(struct db *db, struct error *err);

int db_prepare(struct db *db, const char *sql, struct db_statement **ret, struct error *err);
/* The same for a built text; -ENOMEM if building it failed. */
int db_prepare_text(struct db *db, const struct buf *sql, struct db_statement **ret, struct error *err);
/* The same with $1 and $2 bound to `from` and `to`. */
int db_prepare_between(struct db *db, const struct buf *sql, int64_t from, int64_t to, struct db_statement **ret,
                       struct error *err);
void db_finish(struct db_statement **s); /* sets *s to NULL */
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
/* Binds "", an unknown word, as NULL. */
static inline void db_bind_word(struct db_statement *s, int at, const char *text)
{
    if (text[0])
        db_bind_text(s, at, text);
    else
        db_bind_null(s, at);
}
/* Binds 0, no ID or none known, as NULL. */
static inline void db_bind_id(struct db_statement *s, int at, int64_t id)
{
    if (id)
        db_bind_i64(s, at, id);
    else
        db_bind_null(s, at);
}
static inline void db_bind_reading(struct db_statement *s, int at, struct reading r)
{
    if (r.state == READING_OK)
        db_bind_i64(s, at, r.value);
    else
        db_bind_null(s, at);
}
/* db_bind_numbers(s, 1, a, b) binds $1 and $2. */
static inline void db_bind_list(struct db_statement *s, int at, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        db_bind_i64(s, at + (int)i, numbers[i]);
}
#define NUMBERS(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define db_bind_numbers(s, at, ...) db_bind_list((s), (at), NUMBERS(__VA_ARGS__))
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
static inline int64_t db_i64_or(struct db_statement *s, int column, int64_t fallback)
{
    return db_is_null(s, column) ? fallback : db_i64(s, column);
}
static inline struct reading db_reading(struct db_statement *s, int column)
{
    return db_is_null(s, column) ? reading_absent(READING_UNREAD) : reading_ok(db_i64(s, column));
}
static inline struct str db_text(struct db_statement *s, int column)
{
    return s->db->ops->text(s, column);
}

/* The first column of the first row; `fallback` if there is no row or it is NULL. */
int db_query_i64(struct db *db, const char *sql, int64_t fallback, int64_t *ret, struct error *err);
