/* SPDX-License-Identifier: Apache-2.0
 * For people who look after a store: what is in it, its version, its space.
 */
#pragma once

#include "store/store.h"

enum { SURVEY_TABLES = 11 };

struct store_table {
    const char *name;
    int64_t rows;
    struct wall first, last; /* of what is in it; 0 when it is empty */
};

struct store_survey {
    const char *kind; /* "sqlite", "postgresql" */
    int64_t version;
    int64_t bytes;        /* all that it takes up; of a server, that of its own tables */
    int64_t unused_bytes; /* of these, free for new rows; -1: not known */
    int64_t log_bytes;    /* of these, in the write-ahead log beside an SQLite file; -1: has none */
    int64_t hosts, gpus;
    struct store_table tables[SURVEY_TABLES];
};

/* Counts every row: takes its time on a large one. */
int store_survey(struct store *s, struct store_survey *ret, struct error *err);

/* The version of the tables, without looking at anything else; 0 when there are none. -ENOENT: there is no such file; -EPROTO:
 * this program can do nothing with them. */
int store_peek_version(const struct env *env, const char *url, int64_t *ret, struct error *err);
int64_t store_known_version(void);

/* Writes the file, or the tables, anew without their free space; full: of a server, also what only it can use again. -EBUSY:
 * another process is writing. */
int store_vacuum(const struct env *env, const char *url, bool full, int64_t *ret_before, int64_t *ret_after, struct error *err);

/* Looks for damage in a file that opens all the same, for at most that time: `found` says what the first is, "" none. Reads all of
 * it, beside its writer. -EOPNOTSUPP: a server looks after itself; -ECANCELED, -ETIME: cut off. */
int store_find_damage(const char *url, const _Atomic bool *cancel, int64_t within_ms, char *found, size_t size, struct error *err);
