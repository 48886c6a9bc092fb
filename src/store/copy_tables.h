/* SPDX-License-Identifier: Apache-2.0
 * Private to the files of a copy: the columns of each table with the SQL that reads and writes them in a database of either kind,
 * and the state of a copy, which finds the number that each host and GPU has there (copy_ids.c), and pairs, compares and writes
 * rows of one piece of a table (copy_rows.c).
 */
#pragma once

#include "base/arena.h"
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

/* ---- the state of a copy ---- */

#define COPY_SQL_MAX ((size_t)1 << 18)

struct copied_cell {
    int64_t number;
    const char *text; /* NULL: a number */
    bool there;
};

/* Rows of one side. A row begins with a cell that has the length of its key, for sorting. */
struct copied_rows {
    struct copied_cell *cells;
    struct copied_cell **rows, **pairs; /* pairs: the row with the same key on the other side, or NULL */
    size_t count, capacity;             /* of rows; of cells */
    struct arena texts;
};

struct id_pair {
    int64_t from, to;
};

struct id_map {
    struct id_pair *list;
    size_t count, capacity;
};

struct copier {
    const struct copy_options *options;
    struct store *from, *to;
    struct copy_scope from_scope, to_scope;
    struct id_map hosts, gpus, processes;
    struct copy_table table;
    struct db_statement *ahead, *read, *read_to, *insert, *update;
    struct copied_rows ours, theirs; /* of the source, of the destination */
    struct copy_counts *counts;
    struct copy_table_count *count;
    const struct id_pair *subject; /* of the buckets that are copied */
    int64_t first;                 /* moment of the table */
};

int id_map_add(struct id_map *m, int64_t from, int64_t to, struct error *err);
bool id_map_find(const struct id_map *m, int64_t *id); /* replaces the number of the source by that of the destination */
void id_map_sort(struct id_map *m);                    /* before it is searched */
/* Adds hosts, GPUs and columns that the destination lacks, and fills the maps and scopes. */
int copy_prepare_destination(struct copier *c, struct error *err);

void piece_init(struct copied_rows *p);
void piece_done(struct copied_rows *p);
/* Copies the rows from..before `to`: moments, or keys of the source. */
int copy_piece(struct copier *c, int64_t from, int64_t to, struct error *err);
