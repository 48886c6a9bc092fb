/* SPDX-License-Identifier: Apache-2.0
 * What is copied of a history: the columns of each table, and the SQL that reads and writes them in a database of either kind.
 * Private to copy.c.
 */
#pragma once

#include "store/copy.h"
#include "store/internal.h"

enum copy_role {
    COPY_NUMBER,
    COPY_TEXT,
    COPY_GPU,     /* IDs, which each database gives anew */
    COPY_HOST,    /*  */
    COPY_PROCESS, /*  */
    COPY_SUBJECT, /* of a mark: a GPU or a host, as its series says */
    COPY_ID,      /* the row's own ID */
};

/* How the first two columns are stored. */
enum copy_form {
    COPY_PLAIN,
    COPY_RAW,    /* moment and subject: as in raw.h */
    COPY_BUCKET, /* subject and bucket: in one key */
};

struct copy_column {
    char name[64];
    enum copy_role role;
    bool key;
    bool narrow; /* 32 bits on a server */
};

struct copy_table {
    const char *name;
    enum copy_form form;
    enum series series; /* unless COPY_PLAIN */
    enum level level;
    const char *moment;          /* the column by which the table is read in pieces; the second one of COPY_BUCKET */
    int parted;                  /* enum parted; -1: no */
    int64_t unit_ms;             /* of its moments */
    int weight;                  /* the column in which the row that covers more has more; -1: none */
    int id;                      /* the column with COPY_ID; -1: none */
    struct copy_column *columns; /* those of the key first */
    size_t count, keys;
};

int copy_table_init(struct copy_table *t, size_t which, const struct schema *from, struct error *err);
void copy_table_done(struct copy_table *t);

/* Conditions on the hosts that are copied; SQL. */
struct copy_scope {
    struct buf hosts, gpus; /* their IDs: "1, 2, 3"; "-1" if there are none */
};

/* Rows from moment $1, before $2. With COPY_BUCKET these are keys. */
void copy_select_sql(const struct copy_table *t, enum db_kind kind, const struct copy_scope *scope, struct buf *out);
/* The moment, or key, of the row after the next `rows`, in the same range. */
void copy_ahead_sql(const struct copy_table *t, enum db_kind kind, const struct copy_scope *scope, size_t rows, struct buf *out);
/* Parameters in the order of the columns; where copy_packs, the first two are one, their key. */
void copy_insert_sql(const struct copy_table *t, enum db_kind kind, struct buf *out);
/* Parameters: the columns beside the key, but for an ID, in their order; then the row's ID where it has one, else its key as above.
 */
void copy_update_sql(const struct copy_table *t, enum db_kind kind, struct buf *out);
bool copy_packs(const struct copy_table *t, enum db_kind kind);
