/* SPDX-License-Identifier: Apache-2.0
 * Which tables have parts, their making, and how tables without parts got some.
 */
#include "store/schema/parts.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "store/schema/schema.h"

#define FIRST_MONDAY_MS (4 * DAY_MS)

enum { WEEK = 7, QUARTER = 13 * WEEK, SETTLED_DAYS = 2, SQL_MAX = 1 << 16 };

const struct parted_table parted_tables[PARTED_COUNT] = {
    [PARTED_SAMPLES] = {"samples", "recorded_at", 0, 1, 3, false, "", "gpu"},
    [PARTED_HOST_SAMPLES] = {"host_samples", "recorded_at", 0, 1, 3, false, "", "host"},
    [PARTED_MINUTES] = {"minutes", MINUTES_KEY, 0, WEEK, 1, true, "", NULL},
    [PARTED_HOST_MINUTES] = {"host_minutes", MINUTES_KEY, 0, WEEK, 1, true, "", NULL},
    [PARTED_HOURS] = {"hours", HOURS_KEY, 0, QUARTER, 1, true, "", NULL},
    [PARTED_HOST_HOURS] = {"host_hours", HOURS_KEY, 0, QUARTER, 1, true, "", NULL},
    [PARTED_PROCESS_MINUTES] = {"process_minutes", "minute", 60000, WEEK, 1, false, "minute, process_id", "process"},
    [PARTED_ENERGY] = {"energy", "minute", 60000, WEEK, 1, false, "minute, gpu_id", NULL},
    [PARTED_PROCESS_HOURS] = {"process_hours", "hour", 3600000, QUARTER, 1, false, "hour, process_id", "process"},
    [PARTED_ENERGY_HOURS] = {"energy_hours", "hour", 3600000, QUARTER, 1, false, "hour, gpu_id", "gpu"},
};

#define PARAMETER(n, ms) BUCKET_TIME("CAST(" n " AS BIGINT)", ms)

const char *parts_between(enum db_kind kind, enum level level)
{
    if (kind == DB_SQLITE)
        return "";
    return level == LEVEL_MINUTE ? MINUTES_BETWEEN
                                 : " AND " HOURS_KEY " >= " PARAMETER("$1", "3600000") " AND " HOURS_KEY
                                                                                       " < " PARAMETER("$2", "3600000");
}

void parts_among(enum db_kind kind, enum level level, const char *alias, int64_t from, int64_t to, struct buf *out)
{
    long long ms = level_ms(level), first = from * ms / MS_PER_S, last = to * ms / MS_PER_S;
    if (kind == DB_SQLITE)
        return;
    for (int end = 0; end < 2; end++)
        buf_printf(out, " AND to_timestamp(((%s.id & 4294967295) * %lld) / 1000.0) %s to_timestamp(%lld)", alias, ms,
                   end ? "<" : ">=", end ? last : first);
}

int64_t parts_period(enum parted which, int64_t at_ms)
{
    int64_t period_ms = parted_tables[which].days * DAY_MS, offset_ms = at_ms - FIRST_MONDAY_MS;
    int64_t number = offset_ms / period_ms - (offset_ms % period_ms < 0);
    return number * period_ms + FIRST_MONDAY_MS;
}

void parts_name(enum parted which, int64_t period_ms, char name[PART_NAME_SIZE])
{
    char text[WALL_TEXT_SIZE];
    wall_format((struct wall){MAX_OF(period_ms, (int64_t)0)}, text);
    snprintf(name, PART_NAME_SIZE, "%s_%.4s_%.2s_%.2s", parted_tables[which].name, text, text + 5, text + 8);
}

/* A value of the key, for the bounds of a part. */
static void write_bound(enum parted which, int64_t ms, struct buf *out)
{
    if (parted_tables[which].unit_ms)
        buf_printf(out, "%lld", (long long)(ms / parted_tables[which].unit_ms));
    else
        buf_printf(out, "to_timestamp(%lld)", (long long)(ms / MS_PER_S));
}

static int is_there(struct db *db, enum parted which, const char *name, int64_t period_ms, bool *ret, struct error *err)
{
    const char *parent = parted_tables[which].name;
    char sql[640];
    int64_t count;
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '%s'::regclass AND "
             "(c.relname = '%s' OR (c.relname = '%s_old' AND EXISTS (SELECT 1 FROM meta WHERE key = 'old_until.%s' AND CAST(value "
             "AS BIGINT) > %lld)))",
             parent, name, parent, parent, (long long)period_ms);
    int rc = db_query_i64(db, sql, 0, &count, err);
    *ret = rc == 0 && count > 0;
    return rc;
}

/* The table is made beside the others and then attached: unlike PARTITION OF, that does not wait for whoever is reading. */
int parts_make(struct db *db, enum parted which, int64_t period_ms, struct error *err)
{
    char name[PART_NAME_SIZE];
    const struct parted_table *t = &parted_tables[which];
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    bool there;
    parts_name(which, period_ms, name);
    int rc = is_there(db, which, name, period_ms, &there, err);
    if (rc < 0 || there)
        return rc;
    rc = schema_lock(db, err);
    if (rc == 0)
        rc = is_there(db, which, name, period_ms, &there, err); /* another host may have been faster */
    if (rc < 0 || there)
        return rc;
    buf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s (LIKE %s INCLUDING ALL%s);ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (",
               name, t->name, t->own_keys ? ", PRIMARY KEY (id)" : "", t->name, name);
    write_bound(which, period_ms, &sql);
    buf_text(&sql, ") TO (");
    write_bound(which, period_ms + t->days * DAY_MS, &sql);
    buf_char(&sql, ')');
    return sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_exec(db, sql.at, err);
}

/* ---- tables from before ---- */

int parts_old_until(struct db *db, enum parted which, int64_t *ret_ms, struct error *err)
{
    const char *parent = parted_tables[which].name;
    char sql[400];
    snprintf(sql, sizeof sql,
             "SELECT CAST(m.value AS BIGINT) FROM meta m WHERE m.key = 'old_until.%s' AND EXISTS (SELECT 1 FROM pg_inherits i JOIN "
             "pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '%s'::regclass AND c.relname = '%s_old')",
             parent, parent, parent);
    return db_query_i64(db, sql, 0, ret_ms, err);
}

/* The newest row of a table that has no parts yet. By its key, which begins with the GPU or with the time. */
static int newest_row(struct db *db, enum parted which, int64_t *ret_ms, struct error *err)
{
    const struct parted_table *t = &parted_tables[which];
    bool host = which == PARTED_HOST_MINUTES || which == PARTED_HOST_HOURS;
    int64_t unit_ms = t->unit_ms ? t->unit_ms : t->days == WEEK ? level_ms(LEVEL_MINUTE) : level_ms(LEVEL_HOUR);
    char sql[320];
    if (t->unit_ms)
        snprintf(sql, sizeof sql, "SELECT MAX(%s) FROM %s", t->key, t->name);
    else
        snprintf(sql, sizeof sql,
                 "SELECT MAX((SELECT MAX(b.id) FROM %s b WHERE b.id >= o.id * 4294967296 AND b.id < (o.id + 1) * 4294967296) & "
                 "4294967295) FROM %s o",
                 t->name, host ? "hosts" : "gpus");
    int rc = db_query_i64(db, sql, 0, ret_ms, err);
    *ret_ms *= unit_ms;
    return rc;
}

static int server_clock(struct db *db, int64_t *ret_ms, struct error *err)
{
    return db_query_i64(db, "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)", 0, ret_ms, err);
}

/* A promise about the rows to come, the rows that are there are not looked at yet: that takes a moment. */
static int promise(struct db *db, enum parted which, struct error *err)
{
    const struct parted_table *t = &parted_tables[which];
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    char query[160];
    int64_t plain = 0, now_ms = 0, until_ms = 0, newest_ms = 0;
    snprintf(query, sizeof query, "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('%s') AND relkind = 'r'", t->name);
    int rc = db_query_i64(db, query, 0, &plain, err);
    if (rc < 0 || !plain)
        return rc;
    rc = server_clock(db, &now_ms, err);
    snprintf(query, sizeof query, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'old_until.%s'", t->name);
    if (rc == 0)
        rc = db_query_i64(db, query, 0, &until_ms, err);
    /* Somebody began long ago, and did not come to the end. */
    if (rc < 0 || until_ms > now_ms + DAY_MS)
        return rc;
    rc = newest_row(db, which, &newest_ms, err);
    if (rc < 0)
        return rc;
    until_ms = parts_period(which, MAX_OF(now_ms + SETTLED_DAYS * DAY_MS, newest_ms)) + t->days * DAY_MS;
    buf_printf(&sql, "ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s_until, ADD CONSTRAINT %s_until CHECK (%s IS NOT NULL AND %s < ",
               t->name, t->name, t->name, t->key, t->key);
    write_bound(which, until_ms, &sql);
    buf_printf(&sql,
               ") NOT VALID; INSERT INTO meta (key, value) VALUES ('old_until.%s', '%lld') ON CONFLICT (key) DO UPDATE SET value = "
               "excluded.value",
               t->name, (long long)until_ms);
    return sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_exec(db, sql.at, err);
}

/* Of a plain table; of one that has its promise proven already, this is nothing. */
static int look_through(struct db *db, enum parted which, struct error *err)
{
    const char *table = parted_tables[which].name;
    char query[320];
    int64_t unproven = 0;
    snprintf(query, sizeof query,
             "SELECT COUNT(*) FROM pg_constraint WHERE conrelid = to_regclass('%s') AND conname = '%s_until' AND NOT convalidated",
             table, table);
    int rc = db_query_i64(db, query, 0, &unproven, err);
    if (rc < 0 || !unproven)
        return rc;
    rc = db_take_time(db, err);
    return rc < 0 ? rc : db_execf(db, err, "ALTER TABLE %s VALIDATE CONSTRAINT %s_until", table, table);
}

static int in_transaction(struct db *db, enum parted which, bool lock, int work(struct db *, enum parted, struct error *),
                          struct error *err)
{
    int rc = db_begin(db, err);
    if (rc < 0)
        return rc;
    rc = lock ? schema_lock(db, err) : 0;
    if (rc == 0)
        rc = work(db, which, err);
    if (rc == 0)
        return db_commit(db, err);
    db_rollback(db);
    return rc;
}

int parts_look_through(struct db *db, struct error *err)
{
    int rc = 0;
    for (int which = PARTED_MINUTES; rc == 0 && which < PARTED_COUNT; which++) {
        rc = in_transaction(db, (enum parted)which, true, promise, err);
        if (rc == 0)
            rc = in_transaction(db, (enum parted)which, false, look_through, err);
    }
    return rc;
}

int parts_copy_rights(struct db *db, const char *from, const char *to, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    AUTO_BUF struct buf grants = BUF(SQL_MAX);
    char sql[400];
    snprintf(sql, sizeof sql,
             "SELECT a.privilege_type, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, CASE WHEN "
             "a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = "
             "'%s'::regclass AND a.grantee <> c.relowner",
             from);
    int rc = db_prepare(db, sql, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        buf_printf(&grants, "GRANT " STR_FMT " ON %s TO ", STR_ARG(db_text(q, 0)), to);
        buf_printf(&grants, STR_FMT, STR_ARG(db_text(q, 1)));
        buf_printf(&grants, STR_FMT ";", STR_ARG(db_text(q, 2)));
        rc = 0;
    }
    if (rc < 0 || !grants.len)
        return rc;
    return grants.failed ? error_set(err, -ENOMEM, "out of memory") : db_exec(db, grants.at, err);
}

/* An empty table with parts in the place of one without. Names are given back, so that indexes of both can have theirs. */
static int make_parent(struct db *db, enum parted which, struct error *err)
{
    const struct parted_table *t = &parted_tables[which];
    const char *n = t->name;
    int rc = db_execf(db, err,
                      "ALTER TABLE %s RENAME TO %s_old; ALTER TABLE %s_old RENAME CONSTRAINT %s_pkey TO %s_old_pkey;"
                      "ALTER INDEX %s_by_time RENAME TO %s_old_by_time;"
                      "CREATE TABLE %s (LIKE %s_old INCLUDING DEFAULTS) PARTITION BY RANGE (%s%s%s);",
                      n, n, n, n, n, n, n, n, n, t->own_keys ? "(" : "", t->key, t->own_keys ? ")" : "");
    if (rc == 0 && !t->own_keys)
        rc = db_execf(db, err, "ALTER TABLE %s ADD PRIMARY KEY (%s)", n, t->index);
    if (rc == 0)
        rc = t->unit_ms
                 ? db_execf(db, err,
                            "CREATE INDEX %s_by_time ON %s USING brin (to_timestamp((%s * %lld) / 1000.0)) WITH "
                            "(autosummarize = on)",
                            n, n, t->key, (long long)t->unit_ms)
                 : db_execf(db, err, "CREATE INDEX %s_by_time ON %s USING brin (%s) WITH (autosummarize = on)", n, n, t->key);
    if (rc == 0 && t->by)
        rc = db_execf(db, err, "ALTER INDEX IF EXISTS %s_by_%s RENAME TO %s_old_by_%s", n, t->by, n, t->by);
    char old[PART_NAME_SIZE];
    snprintf(old, sizeof old, "%s_old", n);
    return rc < 0 ? rc : parts_copy_rights(db, old, n, err);
}

static int take_over(struct db *db, enum parted which, bool fresh, struct error *err)
{
    const char *n = parted_tables[which].name;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    char query[128];
    int64_t until_ms = 0;
    /* Somebody without parts may have been faster than we with looking through. */
    int rc = fresh ? 0 : promise(db, which, err);
    if (rc == 0 && !fresh)
        rc = look_through(db, which, err);
    snprintf(query, sizeof query, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'old_until.%s'", n);
    if (rc == 0 && !fresh)
        rc = db_query_i64(db, query, 0, &until_ms, err);
    if (rc == 0)
        rc = make_parent(db, which, err);
    if (rc < 0 || fresh)
        return rc < 0 ? rc : db_execf(db, err, "DROP TABLE %s_old", n);
    buf_printf(&sql, "ALTER TABLE %s ATTACH PARTITION %s_old FOR VALUES FROM (MINVALUE) TO (", n, n);
    write_bound(which, until_ms, &sql);
    buf_printf(&sql, "); ALTER TABLE %s_old DROP CONSTRAINT %s_until", n, n);
    return sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_exec(db, sql.at, err);
}

int parts_take_over(struct db *db, bool fresh, struct error *err)
{
    /* All at once: whoever is writing is waited for before anything is done. */
    int rc = fresh ? 0
                   : db_exec(db,
                             "LOCK TABLE minutes, host_minutes, hours, host_hours, process_minutes, energy, process_hours, "
                             "energy_hours IN ACCESS EXCLUSIVE MODE",
                             err);
    for (int which = PARTED_MINUTES; rc == 0 && which < PARTED_COUNT; which++)
        rc = take_over(db, (enum parted)which, fresh, err);
    return rc;
}

int parts_index(struct db *db, struct error *err)
{
    int rc = 0;
    for (const struct parted_table *t = parted_tables; rc == 0 && t < parted_tables + PARTED_COUNT; t++)
        if (t->by)
            rc = db_execf(db, err, "CREATE INDEX IF NOT EXISTS %s_by_%s ON %s (%s_id, %s)", t->name, t->by, t->name, t->by, t->key);
    return rc;
}
