/* SPDX-License-Identifier: Apache-2.0
 * The SQL of how rows of samples store their time and subject, and the partitions of a server's tables.
 */
#include "store/schema/schema.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"

#define SERVER_MS "CAST(EXTRACT(EPOCH FROM recorded_at) * 1000 AS BIGINT)"
#define SERVER_TIME(parameter) "to_timestamp(CAST(" parameter " AS BIGINT) / 1000.0)"
#define SERVER_SPAN "recorded_at >= " SERVER_TIME("$1") " AND recorded_at < " SERVER_TIME("$2")

const struct raw_words *raw_words(enum db_kind kind, enum series series)
{
    static const struct raw_words file = {"(id >> 14)", "(id & 16383)", "id", "id", "id >= ($1 << 14) AND id < ($2 << 14)"};
    static const struct raw_words server[SERIES_COUNT] = {
        [SERIES_GPU] = {SERVER_MS, "gpu_id", "recorded_at", "recorded_at, gpu_id", SERVER_SPAN},
        [SERIES_HOST] = {SERVER_MS, "host_id", "recorded_at", "recorded_at, host_id", SERVER_SPAN},
    };
    _Static_assert(SUBJECT_BITS == 14, "the words have it as a number");
    return kind == DB_SQLITE ? &file : &server[series];
}

int64_t subject_max(enum db_kind kind)
{
    return kind == DB_SQLITE ? SUBJECT_MAX : CURSOR_SUBJECT_MAX;
}

/* ---- partitions ---- */

#define FIRST_MONDAY_MS (4 * DAY_MS)

enum { WEEK = 7, QUARTER = 13 * WEEK, SQL_MAX = 1 << 16 };

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

/* Writes a key value, for the bounds of a partition. */
static void write_bound(enum parted which, int64_t ms, struct buf *out)
{
    if (parted_tables[which].unit_ms)
        buf_printf(out, "%lld", (long long)(ms / parted_tables[which].unit_ms));
    else
        buf_printf(out, "to_timestamp(%lld)", (long long)(ms / MS_PER_S));
}

static int parts_is_there(struct db *db, enum parted which, const char *name, bool *ret, struct error *err)
{
    char sql[256];
    int64_t count;
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '%s'::regclass AND "
             "c.relname = '%s'",
             parted_tables[which].name, name);
    int rc = db_query_i64(db, sql, 0, &count, err);
    *ret = rc == 0 && count > 0;
    return rc;
}

/* Creates the table separately and attaches it: unlike PARTITION OF, that does not wait for sessions that are reading. */
int parts_make(struct db *db, enum parted which, int64_t period_ms, struct error *err)
{
    char name[PART_NAME_SIZE];
    const struct parted_table *t = &parted_tables[which];
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    bool there;
    parts_name(which, period_ms, name);
    int rc = parts_is_there(db, which, name, &there, err);
    if (rc < 0 || there)
        return rc;
    rc = schema_lock(db, err);
    if (rc == 0)
        rc = parts_is_there(db, which, name, &there, err); /* another host may have created it */
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

/* Lets a condition on starts_at of the views avoid a full scan: summaries are written in time order, so a BRIN index of a few
 * pages is enough. */
static int index_by_time(struct db *db, const struct parted_table *t, struct error *err)
{
    if (!t->unit_ms)
        return db_execf(db, err, "CREATE INDEX %s_by_time ON %s USING brin (%s) WITH (autosummarize = on)", t->name, t->name,
                        t->key);
    return db_execf(db, err,
                    "CREATE INDEX %s_by_time ON %s USING brin (to_timestamp((%s * %lld) / 1000.0)) WITH (autosummarize = on)",
                    t->name, t->name, t->key, (long long)t->unit_ms);
}

int parts_index(struct db *db, struct error *err)
{
    int rc = 0;
    for (int which = 0; rc == 0 && which < PARTED_COUNT; which++) {
        const struct parted_table *t = &parted_tables[which];
        if (which >= PARTED_MINUTES) /* samples have the time in their key */
            rc = index_by_time(db, t, err);
        if (rc == 0 && t->by)
            rc = db_execf(db, err, "CREATE INDEX %s_by_%s ON %s (%s_id, %s)", t->name, t->by, t->name, t->by, t->key);
    }
    return rc;
}
