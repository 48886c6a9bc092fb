/* SPDX-License-Identifier: Apache-2.0
 * Administration of a history database: its contents, version and size, damage, and backups.
 */
#pragma once

#include "store/store.h"

enum { SURVEY_TABLES = 11 };

struct store_table {
    const char *name;
    int64_t rows;
    struct wall first, last; /* of its rows; 0 if the table is empty */
};

struct store_survey {
    const char *kind; /* "sqlite", "postgresql" */
    int64_t version;
    int64_t bytes;        /* total size; on a server, the size of our tables */
    int64_t unused_bytes; /* part of bytes, free for new rows; -1 if unknown */
    int64_t log_bytes;    /* part of bytes, in the WAL of an SQLite file; -1 if it has none */
    int64_t hosts, gpus;
    struct store_table tables[SURVEY_TABLES];
};

/* Counts every row, so it is slow on a large database. */
int store_survey(struct store *s, struct store_survey *ret, struct error *err);

/* Schema version; reads nothing else. 0 if there are no tables. -ENOENT: no such file; -EPROTO: a version that this program
 * can't use. */
int store_peek_version(const struct env *env, const char *url, int64_t *ret, struct error *err);
int64_t store_known_version(void);

/* Rewrites the file or tables without their free space. `full` also returns space that only the server itself could reuse.
 * -EBUSY: another process is writing. */
int store_vacuum(const struct env *env, const char *url, bool full, int64_t *ret_before, int64_t *ret_after, struct error *err);

/* Searches a file that still opens for damage, for at most within_ms. `found` describes the first damage, "" if there is none.
 * Reads the whole file while its writer runs. -EOPNOTSUPP: servers check themselves; -ECANCELED, -ETIME: interrupted. */
int store_find_damage(const char *url, const _Atomic bool *cancel, int64_t within_ms, char *found, size_t size, struct error *err);

/* Writes all of a history into one new SQLite file, as it is at this moment, while it is written to: a file page by page, a server
 * row by row. Looks through the new file before it gets its name; until then it is PATH.part. -ECANCELED: nothing is left. */
struct backup_options {
    const struct env *env;
    const char *from, *path;
    const char *host; /* the only one, of a server; NULL: all */
    const _Atomic bool *cancel;
    void (*progress)(void *user, const char *part, int64_t permille);
    void *user;
};
int store_backup(const struct backup_options *options, int64_t *ret_bytes, struct error *err);
