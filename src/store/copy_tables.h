/* SPDX-License-Identifier: Apache-2.0
 * Private to the files of a copy: the columns of each table, and the state of a copy, which finds the number that each host and
 * GPU has there, and pairs, compares and writes rows of one piece of a table (copy_rows.c).
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
    COPY_RAW,    /* moment and subject: as raw_words() says */
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

/* Conditions on the hosts that are copied; SQL. */
struct copy_scope {
    struct buf hosts, gpus; /* their IDs: "1, 2, 3"; "-1" if there are none */
};

/* Whether the first two columns are one, their key, in statements that write. */
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

void id_map_sort(struct id_map *m); /* before it is searched */
/* Adds hosts, GPUs and columns that the destination lacks, and fills the maps and scopes. */
int copy_prepare_destination(struct copier *c, struct error *err);

void piece_init(struct copied_rows *p);
void piece_done(struct copied_rows *p);
/* Copies the rows from..before `to`: moments, or keys of the source. */
int copy_piece(struct copier *c, int64_t from, int64_t to, struct error *err);
