/* SPDX-License-Identifier: Apache-2.0
 * Counting rows, and returning space.
 */
#include "store/admin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/internal.h"

/* The time expressions of each table, and the unit they are in. */
static const struct {
    const char *name, *first, *last;
    int64_t unit_ms;
} tables[SURVEY_TABLES] = {
    {"samples", NULL, NULL, 1}, /* raw_words() has the expressions */
    {"minutes", "MIN(id & 4294967295)", "MAX(id & 4294967295)", 60000},
    {"hours", "MIN(id & 4294967295)", "MAX(id & 4294967295)", 3600000},
    {"host_samples", NULL, NULL, 1},
    {"host_minutes", "MIN(id & 4294967295)", "MAX(id & 4294967295)", 60000},
    {"host_hours", "MIN(id & 4294967295)", "MAX(id & 4294967295)", 3600000},
    {"processes", "MIN(first_seen_ms)", "MAX(last_seen_ms)", 1},
    {"process_minutes", "MIN(minute)", "MAX(minute)", 60000},
    {"energy", "MIN(minute)", "MAX(minute)", 60000},
    {"events", "MIN(at_ms)", "MAX(at_ms)", 1},
    {"finding_episodes", "MIN(first_seen_ms)", "MAX(last_seen_ms)", 1},
};

/* Sizes of our own tables and their partitions; the database may hold other tables. */
static const char server_bytes[] =
    "WITH ours AS (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname IN ('meta', 'hosts', "
    "'writers', 'gpus', 'facts', 'retention', 'samples', 'host_samples', 'minutes', 'hours', 'host_minutes', 'host_hours', "
    "'pending', "
    "'processes', 'process_minutes', 'process_hours', 'energy', 'energy_hours', 'events', 'finding_episodes', 'energy_days', "
    "'process_days')) "
    "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relkind = 'r' AND (c.oid IN (SELECT "
    "oid "
    "FROM ours) OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent IN (SELECT oid FROM ours)))";

static int64_t file_bytes(const char *path, const char *end)
{
    char name[600];
    struct stat info;
    snprintf(name, sizeof name, "%s%s", path, end);
    return stat(name, &info) == 0 ? (int64_t)info.st_size : -1;
}

static int count_table(struct store *s, size_t which, struct store_table *ret, struct error *err)
{
    char sql[256];
    AUTO_STATEMENT struct db_statement *q = NULL;
    const char *ms = raw_words(s->db->ops->kind, SERIES_GPU)->ms;
    if (!tables[which].first)
        snprintf(sql, sizeof sql, "SELECT COUNT(*), MIN(%s), MAX(%s) FROM %s", ms, ms, tables[which].name);
    else
        snprintf(sql, sizeof sql, "SELECT COUNT(*), %s, %s FROM %s", tables[which].first, tables[which].last, tables[which].name);
    int rc = db_prepare(s->db, sql, &q, err);
    if (rc == 0)
        rc = db_step(q, err);
    if (rc < 0)
        return rc;
    *ret = (struct store_table){.name = tables[which].name};
    if (rc == 1) {
        ret->rows = db_i64(q, 0);
        ret->first.ms = db_i64_or(q, 1, 0) * tables[which].unit_ms;
        ret->last.ms = db_i64_or(q, 2, 0) * tables[which].unit_ms;
        db_reset(q);
    }
    return 0;
}

static int admin_measure(struct store *s, struct store_survey *ret, struct error *err)
{
    ret->unused_bytes = ret->log_bytes = -1;
    if (s->db->ops->kind == DB_POSTGRES)
        return db_query_i64(s->db, server_bytes, 0, &ret->bytes, err);
    int64_t used;
    int rc = store_used_bytes(s, &used, err);
    if (rc < 0)
        return rc;
    ret->log_bytes = MAX_OF(file_bytes(s->path, "-wal"), (int64_t)0);
    int64_t file = file_bytes(s->path, "");
    ret->bytes = file + ret->log_bytes;
    ret->unused_bytes = MAX_OF(file - used, (int64_t)0);
    return 0;
}

int store_survey(struct store *s, struct store_survey *ret, struct error *err)
{
    *ret = (struct store_survey){.kind = s->db->ops->kind == DB_SQLITE ? "sqlite" : "postgresql"};
    int rc = schema_version(s->db, &ret->version, err);
    if (rc == 0)
        rc = admin_measure(s, ret, err);
    if (rc == 0)
        rc = db_query_i64(s->db, "SELECT COUNT(*) FROM hosts", 0, &ret->hosts, err);
    if (rc == 0)
        rc = db_query_i64(s->db, "SELECT COUNT(*) FROM gpus", 0, &ret->gpus, err);
    for (size_t i = 0; rc == 0 && i < SURVEY_TABLES; i++)
        rc = count_table(s, i, &ret->tables[i], err);
    return rc;
}

int64_t store_known_version(void)
{
    return SCHEMA_VERSION;
}

static bool is_file(const char *url)
{
    return strncmp(url, "sqlite:", 7) == 0;
}

/* Refuse to create the file just because it was queried. */
static int must_exist(const char *url, struct error *err)
{
    if (is_file(url) && access(url + 7, F_OK) != 0)
        return error_set(err, errno == ENOENT || errno == ENOTDIR ? -ENOENT : -errno, "cannot open '%s': %s", url + 7,
                         strerror(errno));
    return 0;
}

static int open_db(const struct env *env, const char *url, bool read_only, struct db **ret, struct error *err)
{
    int rc = must_exist(url, err);
    if (rc < 0)
        return rc;
    if (is_file(url)) {
        rc = db_open_sqlite(url + 7, read_only, ret, err);
        return rc < 0 ? error_prefix(err, "cannot open '%s'", url + 7) : 0;
    }
    return db_open_postgres(env, url, read_only, ret, err);
}

int store_peek_version(const struct env *env, const char *url, int64_t *ret, struct error *err)
{
    struct db *db = NULL;
    int rc = open_db(env, url, true, &db, err);
    if (rc == 0)
        rc = schema_version(db, ret, err);
    if (rc == 0)
        rc = schema_check_version(*ret, err);
    db_close(db);
    return rc;
}

static int quick_check(struct db *db, char *found, size_t size, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(db, "PRAGMA quick_check(1)", &q, err);
    if (rc == 0)
        rc = db_step(q, err);
    if (rc <= 0)
        return rc;
    struct str said = q->db->ops->text(q, 0);
    if (!str_is(said, "ok"))
        str_copy_clean(found, size, said);
    return 0;
}

int store_find_damage(const char *url, const _Atomic bool *cancel, int64_t within_ms, char *found, size_t size, struct error *err)
{
    struct db *db = NULL;
    found[0] = '\0';
    if (strncmp(url, "sqlite:", 7) != 0)
        return error_set(err, -EOPNOTSUPP, "only files are looked through");
    int rc = db_open_sqlite(url + 7, true, &db, err);
    if (rc == 0) {
        db->cancel = cancel;
        db->until.ns = clock_mono(&clock_system).ns + within_ms * NS_PER_MS;
        rc = quick_check(db, found, size, err);
    }
    db_close(db);
    if (rc != -EUCLEAN)
        return rc;
    str_copy_clean(found, size, str_from(err->text));
    return 0;
}

static int vacuum_file(struct db *db, struct error *err)
{
    /* Empty the WAL first, so that it doesn't hold the old pages, and again afterwards, so that it doesn't hold the new ones. */
    int rc = db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
    if (rc == 0)
        rc = db_exec(db, "VACUUM", err);
    if (rc == 0)
        rc = db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
    return rc;
}

static int vacuum_server(struct db *db, bool full, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < SURVEY_TABLES; i++)
        rc = db_execf(db, err, "VACUUM (%sANALYZE) %s", full ? "FULL, " : "", tables[i].name);
    return rc;
}

static int size_of(struct db *db, const char *url, int64_t *ret, struct error *err)
{
    if (!is_file(url))
        return db_query_i64(db, server_bytes, 0, ret, err);
    *ret = MAX_OF(file_bytes(url + 7, ""), (int64_t)0) + MAX_OF(file_bytes(url + 7, "-wal"), (int64_t)0);
    return 0;
}

int store_vacuum(const struct env *env, const char *url, bool full, int64_t *ret_before, int64_t *ret_after, struct error *err)
{
    struct db *db = NULL;
    int64_t version;
    /* Check the version read-only: opening for writing alone would change the file and create a WAL beside it. */
    int rc = store_peek_version(env, url, &version, err);
    if (rc == 0 && version == 0)
        rc = error_set(err, -ENOENT, "nothing is stored there");
    if (rc == 0 && is_file(url))
        rc = size_of(NULL, url, ret_before, err);
    if (rc == 0)
        rc = open_db(env, url, false, &db, err);
    if (rc == 0 && !is_file(url))
        rc = size_of(db, url, ret_before, err);
    if (rc == 0)
        rc = is_file(url) ? vacuum_file(db, err) : vacuum_server(db, full, err);
    if (rc == 0)
        rc = size_of(db, url, ret_after, err);
    db_close(db);
    return rc;
}
