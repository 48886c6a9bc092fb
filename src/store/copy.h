/* SPDX-License-Identifier: Apache-2.0
 * Copies a history into another database, of either kind, while both are in use: what is missing there is added, nothing is
 * deleted. GPUs and hosts are found by identity and name, whatever their numbers there, so a history can be added to one that has
 * others already. Every row is read back and compared.
 *
 * Nothing records how far a copy came: the next one compares what is there, a range of time after the other, and writes the rest.
 * So it can be killed at any time, and run again for what the daemon has written meanwhile.
 */
#pragma once

#include "store/store.h"

enum { COPY_TABLES = 15 };

struct copy_table_count {
    const char *name;
    int64_t rows;    /* in the history that is copied */
    int64_t written; /* of these, added or completed now */
    int64_t kept;    /* of these, more complete at the destination, and left as they were */
};

struct copy_counts {
    int64_t hosts, gpus;
    struct copy_table_count tables[COPY_TABLES];
    size_t table;     /* the one that is being copied */
    int64_t permille; /* of that table */
};

struct copy_options {
    const struct env *env;
    const char *from, *to; /* URLs */
    const char *host;      /* NULL: all hosts */
    const _Atomic bool *cancel;
    void (*progress)(void *user, const struct copy_counts *counts); /* or NULL */
    void *user;
};

/* -ECANCELED: what was copied so far stays. -EUCLEAN: a row differs after it was written. */
int store_copy(const struct copy_options *options, struct copy_counts *ret, struct error *err);
int64_t copy_rows(const struct copy_counts *counts);
int64_t copy_written(const struct copy_counts *counts);
