/* SPDX-License-Identifier: Apache-2.0
 * Cleaning up. Each call of store_clean does one small step in a transaction of its own, so that the writer never waits long.
 * retention.c decides which rows are old. A level is cleaned up to its horizon, which never cuts through a bucket of the level
 * above. Pending rows of any host are summed up before they are deleted. A row that arrives behind the horizon is added to the
 * existing summaries: recomputing them from the remaining rows would lose the deleted ones.
 *
 * Over the size limit, the oldest samples go first, then the oldest minutes, then the oldest hours, whatever their age.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"

enum {
    ROWS_A_STEP = 2000,
    VACUUM_PAGES_A_STEP = 512,
    VACUUM_WORTH_PAGES = 512, /* keep fewer free pages for new rows */
    REST_MS = 60000,          /* before retrying a table that another session locks */
};

static const char *const series_names[SERIES_COUNT] = {"gpu", "host"};

int load_horizons(struct store *s, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db, "SELECT key, CAST(value AS BIGINT) FROM meta WHERE key LIKE 'horizon.%'", &q, err);
    memset(s->horizon_ms, 0, sizeof s->horizon_ms);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        char key[32];
        rc = 0;
        for (int i = 0; i < SERIES_COUNT * LEVEL_COUNT; i++) {
            snprintf(key, sizeof key, "horizon.%s.%d", series_names[i / LEVEL_COUNT], i % LEVEL_COUNT);
            if (str_is(db_text(q, 0), key))
                s->horizon_ms[i / LEVEL_COUNT][i % LEVEL_COUNT] = db_i64(q, 1);
        }
    }
    return rc;
}

int set_horizon(struct store *s, enum series series, enum level level, int64_t ms, struct error *err)
{
    if (ms <= s->horizon_ms[series][level])
        return 0;
    int rc = db_execf(
        s->db, err,
        "INSERT INTO meta (key, value) VALUES ('horizon.%s.%d', '%lld') ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        series_names[series], level, (long long)ms);
    if (rc == 0)
        s->horizon_ms[series][level] = ms;
    return rc;
}

/* How far a level may be cleaned: to `wanted_ms`, once all buckets before it are summed up. 1: not yet, this call summed up some
 * of them. */
static int safe_cut(struct store *s, enum series series, enum level level, int64_t wanted_ms, int64_t *ret_ms, struct error *err)
{
    *ret_ms = wanted_ms;
    if (level == LEVEL_HOUR)
        return 0;
    int64_t bucket_ms = level_ms((enum level)(level + 1));
    *ret_ms = wanted_ms - wanted_ms % bucket_ms;
    int rc = 0;
    for (int upper = LEVEL_MINUTE; rc == 0 && upper < LEVEL_COUNT; upper++)
        rc = rollup_overdue(s, series, (enum level)upper, *ret_ms / level_ms((enum level)upper), err);
    return rc;
}

/* Deletes at most ROWS_A_STEP rows with from <= id < to. 1: there may be more. */
static int delete_range(struct store *s, const char *table, int64_t from, int64_t to, struct error *err)
{
    char sql[256];
    int64_t first_kept;
    snprintf(sql, sizeof sql, "SELECT id FROM %s WHERE id >= %lld AND id < %lld ORDER BY id LIMIT 1 OFFSET %d", table,
             (long long)from, (long long)to, ROWS_A_STEP);
    int rc = db_query_i64(s->db, sql, to, &first_kept, err);
    if (rc < 0)
        return rc;
    rc = db_execf(s->db, err, "DELETE FROM %s WHERE id >= %lld AND id < %lld", table, (long long)from, (long long)first_kept);
    return rc < 0 ? rc : first_kept < to;
}

/* The smallest key in the range. 1: found, 0: the range is empty. */
static int first_key(struct store *s, const char *table, int64_t from, int64_t to, int64_t *ret, struct error *err)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT MIN(id) FROM %s WHERE id >= %lld AND id < %lld", table, (long long)from, (long long)to);
    int rc = db_query_i64(s->db, sql, -1, ret, err);
    return rc < 0 ? rc : *ret >= 0;
}

/* Drops whole partitions only: the rest of a period waits until all of it is old. */
static int clean_parts(struct store *s, enum series series, enum level level, int64_t wanted_ms, struct error *err)
{
    char name[PART_NAME_SIZE];
    int64_t cut_ms = parts_period(parted_of(series, level), wanted_ms);
    int rc = partition_oldest(s, parted_of(series, level), cut_ms, name, err);
    if (rc < 0 || !name[0])
        return rc;
    rc = safe_cut(s, series, level, cut_ms, &cut_ms, err);
    if (rc != 0)
        return rc;
    rc = set_horizon(s, series, level, cut_ms, err);
    if (rc == 0)
        rc = partition_drop(s, name, err);
    return rc < 0 ? rc : 1;
}

static int clean_samples(struct store *s, enum series series, int64_t wanted_ms, struct error *err)
{
    int64_t cut_ms, first;
    if (wanted_ms <= 0)
        return 0;
    if (s->db->ops->kind == DB_POSTGRES)
        return clean_parts(s, series, LEVEL_RAW, wanted_ms, err);
    int rc = safe_cut(s, series, LEVEL_RAW, wanted_ms, &cut_ms, err);
    if (rc != 0)
        return rc;
    const char *table = series_table(series, LEVEL_RAW);
    rc = first_key(s, table, 0, raw_key(cut_ms, 0), &first, err);
    if (rc <= 0)
        return rc;
    rc = set_horizon(s, series, LEVEL_RAW, cut_ms, err);
    if (rc == 0)
        rc = delete_range(s, table, first, raw_key(cut_ms, 0), err);
    return rc < 0 ? rc : 1;
}

/* Bucket keys begin with the subject: clean the first subject that has old buckets. */
static int clean_buckets(struct store *s, enum series series, enum level level, int64_t wanted_ms, struct error *err)
{
    const char *table = series_table(series, level);
    int64_t cut_ms, first;
    if (wanted_ms <= 0)
        return 0;
    if (s->db->ops->kind == DB_POSTGRES)
        return clean_parts(s, series, level, wanted_ms, err);
    int rc = safe_cut(s, series, level, wanted_ms, &cut_ms, err);
    if (rc != 0)
        return rc;
    char sql[320];
    snprintf(
        sql, sizeof sql,
        "SELECT MIN((SELECT MIN(b.id) FROM %s b WHERE b.id >= o.id * 4294967296 AND b.id < o.id * 4294967296 + %lld)) FROM %s o",
        table, (long long)(cut_ms / level_ms(level)), series == SERIES_GPU ? "gpus" : "hosts");
    rc = db_query_i64(s->db, sql, -1, &first, err);
    if (rc < 0 || first < 0)
        return rc;
    rc = set_horizon(s, series, level, cut_ms, err);
    if (rc == 0)
        rc = delete_range(s, table, first, bucket_key(first >> 32, cut_ms / level_ms(level)), err);
    return rc < 0 ? rc : 1;
}

/* Tables with the time in a column of its own. */
static int clean_by_time(struct store *s, const char *table, const char *column, const char *key, const char *also, int64_t before,
                         struct error *err)
{
    char sql[256];
    int64_t count;
    snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM (SELECT 1 FROM %s WHERE %s < %lld%s LIMIT 1) AS t", table, column,
             (long long)before, also);
    int rc = db_query_i64(s->db, sql, 0, &count, err);
    if (rc < 0 || count == 0)
        return rc;
    rc = db_execf(s->db, err, "DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE %s < %lld%s ORDER BY %s LIMIT %d)", table, key,
                  key, table, column, (long long)before, also, column, ROWS_A_STEP);
    return rc < 0 ? rc : 1;
}

/* The same for tables that a server partitions. */
static int clean_parted(struct store *s, enum parted which, int64_t wanted_ms, struct error *err)
{
    const struct parted_table *t = &parted_tables[which];
    char name[PART_NAME_SIZE];
    if (s->db->ops->kind == DB_SQLITE)
        return clean_by_time(s, t->name, t->key, t->index, "", wanted_ms / t->unit_ms, err);
    int rc = partition_oldest(s, which, wanted_ms, name, err);
    if (rc < 0 || !name[0])
        return rc;
    rc = partition_drop(s, name, err);
    return rc < 0 ? rc : 1;
}

/* The minute of the last cleanup. 1: found; 0: another host is cleaning now. */
static int last_turn(struct store *s, int64_t *ret_minute, struct error *err)
{
    int64_t mine = 0;
    int rc = db_query_i64(s->db, "SELECT CASE WHEN pg_try_advisory_xact_lock(7449748) THEN 1 ELSE 0 END", 0, &mine, err);
    if (rc == 0 && mine)
        rc = db_query_i64(s->db, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'cleaned_minute'", -1, ret_minute, err);
    return rc < 0 ? rc : mine != 0;
}

/* Of the hosts that share a server, one per minute cleans up for all; the others read one row to find that out. 1: it is this
 * host's turn. */
static int take_turn(struct store *s, struct error *err)
{
    struct retention *r = &s->retention;
    int64_t minute_ms = level_ms(LEVEL_MINUTE), done = -1;
    int rc = s->db->ops->kind == DB_SQLITE ? 1 : last_turn(s, &done, err);
    if (rc != 1)
        return rc;
    bool turn = done != r->own_ms / minute_ms;
    rc = turn ? retention_ask(s, err) : 0;
    if (rc < 0)
        return rc;
    turn = turn && !r->unknown && done != r->now_ms / minute_ms;
    if (!turn)
        r->cleaned_ms = r->own_ms;
    return turn;
}

static int end_turn(struct store *s, struct error *err)
{
    s->retention.cleaned_ms = s->retention.own_ms;
    if (s->db->ops->kind == DB_SQLITE)
        return 0;
    return db_execf(
        s->db, err,
        "INSERT INTO meta (key, value) VALUES ('cleaned_minute', '%lld') ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (long long)(s->retention.now_ms / level_ms(LEVEL_MINUTE)));
}

static int clean_by_age(struct store *s, struct error *err)
{
    const struct store_limits *l = &s->retention.keep;
    /* Cuts lie on whole minutes: nothing becomes old in between. */
    if (s->retention.cleaned_ms / level_ms(LEVEL_MINUTE) == s->retention.own_ms / level_ms(LEVEL_MINUTE))
        return 0;
    int rc = take_turn(s, err);
    if (rc <= 0)
        return rc;
    const bool server = s->db->ops->kind == DB_POSTGRES;
    const int64_t now_ms = s->retention.now_ms, raw = now_ms - l->raw_ms, minutes = now_ms - l->minute_ms,
                  hours = now_ms - l->hour_ms, processes = now_ms - l->process_ms, events = now_ms - l->event_ms;
    const struct {
        enum parted which;
        int64_t before_ms;
    } parted[] = {{PARTED_PROCESS_MINUTES, minutes},
                  {PARTED_ENERGY, processes},
                  {PARTED_PROCESS_HOURS, processes},
                  {PARTED_ENERGY_HOURS, processes}};
    const struct {
        const char *table, *column, *key, *also;
        int64_t before;
        bool of_server;
    } timed[] = {{"processes", "last_seen_ms", "id", " AND ended = 1", processes, false},
                 {"writers", "at_ms", "host_id, run", "", processes, false},
                 {"events", "at_ms", "id", "", events, false},
                 {"finding_episodes", "last_seen_ms", "id", "", events, false},
                 {"energy_days", "day", "day, gpu_id", "", processes / DAY_MS, true},
                 {"process_days", "day", "day, process_id", "", processes / DAY_MS, true}};
    rc = 0;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        rc = clean_samples(s, (enum series)series, raw, err);
        if (rc == 0)
            rc = clean_buckets(s, (enum series)series, LEVEL_MINUTE, minutes, err);
        if (rc == 0)
            rc = clean_buckets(s, (enum series)series, LEVEL_HOUR, hours, err);
    }
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(parted); i++)
        rc = clean_parted(s, parted[i].which, parted[i].before_ms, err);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(timed); i++)
        if (server || !timed[i].of_server)
            rc = clean_by_time(s, timed[i].table, timed[i].column, timed[i].key, timed[i].also, timed[i].before, err);
    if (rc == 0)
        rc = days_fill(s, err);
    return rc == 0 ? end_turn(s, err) : rc;
}

int store_used_bytes(struct store *s, int64_t *ret, struct error *err)
{
    int64_t pages, unused, size;
    if (s->db->ops->kind != DB_SQLITE)
        return db_query_i64(s->db, "SELECT pg_database_size(current_database())", 0, ret, err);
    int rc = db_query_i64(s->db, "PRAGMA page_count", 0, &pages, err);
    if (rc == 0)
        rc = db_query_i64(s->db, "PRAGMA freelist_count", 0, &unused, err);
    if (rc == 0)
        rc = db_query_i64(s->db, "PRAGMA page_size", 0, &size, err);
    if (rc == 0)
        *ret = (pages - unused) * size;
    return rc;
}

/* The oldest bucket of a level among all subjects, found by one index lookup per subject. -1: none. */
static int oldest_bucket(struct store *s, enum series series, enum level level, int64_t *ret, struct error *err)
{
    char sql[256];
    snprintf(
        sql, sizeof sql,
        "SELECT MIN((SELECT MIN(b.id) FROM %s b WHERE b.id >= o.id * 4294967296 AND b.id < (o.id + 1) * 4294967296) & 4294967295) "
        "FROM %s o",
        series_table(series, level), series == SERIES_GPU ? "gpus" : "hosts");
    return db_query_i64(s->db, sql, -1, ret, err);
}

/* The start of a level's summaries; process minutes count as minutes. */
static int oldest_summary(struct store *s, enum level level, int64_t *ret_ms, struct error *err)
{
    int64_t bucket;
    int rc = 0;
    *ret_ms = INT64_MAX;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        rc = oldest_bucket(s, (enum series)series, level, &bucket, err);
        if (rc == 0 && bucket >= 0)
            *ret_ms = MIN_OF(*ret_ms, bucket * level_ms(level));
    }
    if (rc == 0 && level == LEVEL_MINUTE)
        rc = db_query_i64(s->db, "SELECT MIN(minute) FROM process_minutes", -1, &bucket, err);
    if (rc == 0 && level == LEVEL_MINUTE && bucket >= 0)
        *ret_ms = MIN_OF(*ret_ms, bucket * level_ms(LEVEL_MINUTE));
    return rc;
}

/* Never deletes raw rows of the last hour. */
static int clean_oldest_samples(struct store *s, int64_t now_ms, struct error *err)
{
    int rc = 0;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        int64_t first;
        rc = first_key(s, series_table((enum series)series, LEVEL_RAW), 0, raw_key(now_ms - level_ms(LEVEL_HOUR), 0), &first, err);
        if (rc != 1)
            continue;
        int64_t first_ms = raw_key_ms(first);
        int64_t cut_ms = first_ms + MAX_OF((now_ms - first_ms) / 64, level_ms(LEVEL_MINUTE));
        rc = clean_samples(s, (enum series)series, cut_ms + level_ms(LEVEL_MINUTE), err);
    }
    return rc;
}

/* Deletes the oldest 1/64 of a level's span, but never the last two days of summaries. */
static int clean_oldest(struct store *s, int64_t now_ms, struct error *err)
{
    int rc = clean_oldest_samples(s, now_ms, err);
    for (int level = LEVEL_MINUTE; rc == 0 && level < LEVEL_COUNT; level++) {
        int64_t first_ms;
        rc = oldest_summary(s, (enum level)level, &first_ms, err);
        if (rc < 0 || first_ms > now_ms - 48 * level_ms(LEVEL_HOUR))
            continue;
        int64_t cut_ms = first_ms + (now_ms - first_ms) / 64 + 2 * level_ms(LEVEL_HOUR);
        for (int series = 0; rc == 0 && series < SERIES_COUNT; series++)
            rc = clean_buckets(s, (enum series)series, (enum level)level, cut_ms, err);
        if (rc == 0 && level == LEVEL_MINUTE)
            rc = clean_by_time(s, "process_minutes", "minute", "minute, process_id", "", cut_ms / level_ms(LEVEL_MINUTE), err);
    }
    return rc;
}

static int clean_by_size(struct store *s, int64_t now_ms, struct error *err)
{
    int64_t used;
    if (s->limits.max_bytes == 0 || s->db->ops->kind != DB_SQLITE)
        return 0;
    int rc = store_used_bytes(s, &used, err);
    if (rc < 0)
        return rc;
    /* Free 5 % at once: otherwise every new row would have to delete another one. */
    int64_t limit = s->over_size ? s->limits.max_bytes / 20 * 19 : s->limits.max_bytes;
    s->over_size = used > limit;
    return s->over_size ? clean_oldest(s, now_ms, err) : 0;
}

/* Returns free pages to the file system. */
static int shrink(struct store *s, struct error *err)
{
    int64_t unused;
    if (s->db->ops->kind != DB_SQLITE)
        return 0;
    int rc = db_query_i64(s->db, "PRAGMA freelist_count", 0, &unused, err);
    if (rc < 0 || unused < VACUUM_WORTH_PAGES)
        return rc;
    rc = db_execf(s->db, err, "PRAGMA incremental_vacuum(%d)", VACUUM_PAGES_A_STEP);
    return rc < 0 ? rc : 1;
}

/* A session that reads a day's table blocks dropping it. Waiting for the lock would make the writer and all other sessions wait. */
static int begin_cleaning(struct store *s, struct error *err)
{
    int rc = db_begin(s->db, err);
    return rc < 0 || s->db->ops->kind == DB_SQLITE ? rc : db_exec(s->db, "SET LOCAL lock_timeout = '200ms'", err);
}

int store_clean(struct store *s, struct wall now, struct mono seen, struct error *err)
{
    if (seen.ns < s->retention.rest_until.ns || retention_rests(s, seen))
        return 0;
    int rc = begin_cleaning(s, err);
    int more = rc < 0 ? rc : retention_step(s, now, seen, err);
    if (more == 1)
        more = clean_by_age(s, err);
    if (more == 0 && s->retention.host_id)
        more = clean_by_size(s, s->retention.own_ms, err);
    if (more < 0)
        db_rollback(s->db);
    else
        rc = db_commit(s->db, err);
    if (more < 0 || rc < 0) {
        load_horizons(s, NULL);
        s->retention.cleaned_ms = 0;
        if (more == -EBUSY)
            s->retention.rest_until = (struct mono){seen.ns + (int64_t)REST_MS * NS_PER_MS};
        return more < 0 ? more : rc;
    }
    return more == 0 ? shrink(s, err) : more;
}
