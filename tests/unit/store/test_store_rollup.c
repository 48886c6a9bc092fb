/* SPDX-License-Identifier: Apache-2.0
 * Summing up exactly once: whatever happens in between, minutes and hours are what a recomputation from the samples gives.
 */
#include "sql.h"
#include "store/series.h"

#include <sys/stat.h>

/* Every minute and hour row of two columns against the samples; the current ones may be pending instead. */
static void assert_exact(const char *name)
{
    static const char *const columns[] = {"power_mw", "temp_mdegc"};
    char query[2048];
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        const char *c = columns[i];
        for (int level = 1; level <= 2; level++) {
            const char *table = level == 1 ? "minutes" : "hours";
            long long ms = level == 1 ? 60000 : 3600000;
            snprintf(
                query, sizeof query,
                "WITH raw AS (SELECT id & 16383 AS gpu, (id >> 14) / %lld AS bucket, SUM(%s) AS s, MIN(%s) AS lo, MAX(%s) AS hi, "
                "COUNT(%s) AS n, COUNT(*) AS rows FROM samples GROUP BY 1, 2), "
                "kept AS (SELECT id >> 32 AS gpu, id & 4294967295 AS bucket, %s_sum AS s, COALESCE(%s_min, %s_sum / "
                "COALESCE(%s_count, samples)) AS lo, COALESCE(%s_max, %s_sum / COALESCE(%s_count, samples)) AS hi, "
                "CASE WHEN %s_sum IS NULL THEN 0 ELSE COALESCE(%s_count, samples) END AS n, samples AS rows FROM %s), "
                "waiting AS (SELECT subject AS gpu, bucket FROM pending WHERE series = 0 AND level = %d) "
                "SELECT COUNT(*) FROM raw LEFT JOIN kept USING (gpu, bucket) WHERE (kept.s IS NOT raw.s OR kept.lo IS NOT raw.lo "
                "OR "
                "kept.hi IS NOT raw.hi OR kept.n IS NOT raw.n OR kept.rows IS NOT raw.rows) AND NOT EXISTS (SELECT 1 FROM waiting "
                "w "
                "WHERE w.gpu = raw.gpu AND (w.bucket = raw.bucket)) AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.series = 0 AND "
                "p.level = 1 AND p.subject = raw.gpu AND p.bucket * 60000 / %lld = raw.bucket)",
                ms, c, c, c, c, c, c, c, c, c, c, c, c, c, table, level, ms);
            assert_int_equal(sql_i64(name, query), 0);
        }
    }
}

static void minutes_and_hours_are_what_the_samples_say(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=3,scenario=bursty");
    struct store *s = open_store("plain.db");
    for (int i = 0; i < 3 * 720 + 5; i++) { /* three hours */
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
    }
    assert_int_equal(sql_i64("plain.db", "SELECT COUNT(*) FROM minutes"), 3 * 180);
    assert_int_equal(sql_i64("plain.db", "SELECT COUNT(*) FROM hours"), 3 * 3);
    assert_int_equal(sql_i64("plain.db", "SELECT COUNT(*) FROM host_minutes"), 180);
    assert_int_equal(sql_i64("plain.db", "SELECT SUM(samples) FROM hours"), 3 * 3 * 720);
    assert_exact("plain.db");
    /* The views fill in what was left out. */
    double view =
        sql_double("plain.db", "SELECT power_watts_max FROM gpu_stats_hour WHERE gpu_index = 0 ORDER BY starts_at LIMIT 1");
    double raw =
        sql_double("plain.db", "SELECT MAX(power_watts) FROM gpu_stats WHERE gpu_index = 0 AND recorded_at < '2026-03-01T01'");
    assert_true(view > raw - 1e-6 && view < raw + 1e-6);
    assert_int_equal(sql_i64("plain.db", "SELECT COUNT(*) FROM gpu_stats_minute WHERE pcie_replays_count <> samples"), 0);
    store_close(s);
    sim_history_close(&h);
}

/* Snapshots so many at a time, the last ones alone: a process that ends, an hour that is over, the minute at the end. */
static void write_in_batches(const char *name, size_t at_once, bool give_back)
{
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=mixed");
    struct store *s = open_store(name);
    for (int i = 0; i < 2 * 720 + 240;) {
        struct snapshot *batch[60];
        size_t count = 0;
        for (; count < at_once; count++, i++) {
            batch[count] = sim_history_next(&h);
            if (i / 7 % 5 == 4)
                batch[count]->gpus[0].process_count = 0;
        }
        struct error err;
        assert_int_equal(store_write(s, (const struct snapshot *const *)batch, count, NULL, 0, &err), 0);
        for (size_t k = 0; k < count; k++)
            snapshot_unref(batch[k]);
        if (give_back && i % 4 == 0)
            store_trim_memory(s);
    }
    store_close(s);
    sim_history_close(&h);
}

static void assert_same_rows(const char *one, const char *other)
{
    static const char *const tables[] = {"hosts",         "gpus",       "samples",     "minutes",   "hours",
                                         "host_minutes",  "host_hours", "pending",     "processes", "process_minutes",
                                         "process_hours", "energy",     "energy_hours"};
    sql_run(one, "DROP TABLE IF EXISTS differs; CREATE TABLE differs (name TEXT, rows INTEGER)");
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        char query[1024];
        snprintf(query, sizeof query,
                 "ATTACH '%s/%s' AS other; INSERT INTO differs SELECT '%s', COUNT(*) FROM (SELECT * FROM (SELECT * FROM main.%s "
                 "EXCEPT SELECT * FROM other.%s) UNION ALL SELECT * FROM (SELECT * FROM other.%s EXCEPT SELECT * FROM main.%s))",
                 store_folder, other, tables[i], tables[i], tables[i], tables[i], tables[i]);
        sql_run(one, query);
    }
    char which[200];
    sql_text(one, "SELECT group_concat(name) FROM differs WHERE rows > 0", which, sizeof which);
    assert_string_equal(which, "");
}

static void many_samples_in_one_transaction_leave_behind_what_one_by_one_does(void **state)
{
    (void)state;
    write_in_batches("one.db", 1, false);
    write_in_batches("many.db", 60, false);
    assert_true(sql_i64("one.db", "SELECT COUNT(*) FROM processes WHERE ended = 1 AND samples > 0") > 0);
    assert_same_rows("one.db", "many.db");
    assert_exact("many.db");
}

static sqlite3 *opened_last;

static int note_opened(sqlite3 *db, char **message, const void *unused)
{
    (void)message, (void)unused;
    opened_last = db;
    return SQLITE_OK;
}

static int statement_bytes(sqlite3 *db)
{
    int bytes = 0, highest;
    assert_int_equal(sqlite3_db_status(db, SQLITE_DBSTATUS_STMT_USED, &bytes, &highest, 0), SQLITE_OK);
    return bytes;
}

/* After a restart, the first hour is read back; that takes statements with hundreds of columns. */
static void what_is_seldom_needed_is_not_kept_in_memory(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    sqlite3_auto_extension((void (*)(void))note_opened);
    for (int run = 0; run < 2; run++) {
        struct store *s = open_store("seldom.db");
        sqlite3 *db = opened_last;
        for (int i = 0; i < 720; i++) {
            AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
            write_one(s, snapshot);
        }
        if (run == 1) {
            assert_true(statement_bytes(db) > 200000);
            store_trim_memory(s); /* what just ran is kept until the next time */
            AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
            write_one(s, snapshot);
            store_trim_memory(s);
            if (statement_bytes(db) > 80000)
                fail_msg("%d bytes", statement_bytes(db));
        }
        store_close(s);
    }
    sqlite3_cancel_auto_extension((void (*)(void))note_opened);
    assert_exact("seldom.db");
    sim_history_close(&h);
}

static void giving_memory_back_changes_nothing_that_is_stored(void **state)
{
    (void)state;
    write_in_batches("kept.db", 1, false);
    write_in_batches("given.db", 1, true);
    assert_same_rows("kept.db", "given.db");
}

/* A process that opens the database has all views in memory: the daemon keeps them as long as it runs. */
static void views_take_little_memory(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_store("memory.db");
    AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
    write_one(s, snapshot);
    store_close(s);
    int64_t columns = sql_i64("memory.db", "SELECT (SELECT COUNT(*) FROM pragma_table_info('samples')) + "
                                           "(SELECT COUNT(*) FROM pragma_table_info('host_samples'))");
    sqlite3 *db = sql_open("memory.db");
    int bytes = 0, highest;
    assert_int_equal(sqlite3_exec(db, "SELECT COUNT(*) FROM sqlite_master", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_db_status(db, SQLITE_DBSTATUS_SCHEMA_USED, &bytes, &highest, 0), SQLITE_OK);
    sqlite3_close(db);
    assert_true(columns > 40);
    if (bytes > columns * 6 * 1024)
        fail_msg("%d bytes for %d columns", bytes, (int)columns);
    sim_history_close(&h);
}

static void views_of_an_earlier_program_are_made_anew(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_store("older.db");
    AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
    write_one(s, snapshot);
    store_close(s);
    sql_run("older.db", "DROP VIEW gpu_stats_minute; CREATE VIEW gpu_stats_minute AS SELECT 1 AS old; DROP VIEW event_log");
    int64_t made = sql_i64("older.db", "PRAGMA schema_version");
    store_close(open_store("older.db"));
    assert_int_equal(
        sql_i64("older.db", "SELECT COUNT(*) FROM pragma_table_info('gpu_stats_minute') WHERE name = 'power_watts_max'"), 1);
    assert_true(sql_i64("older.db", "SELECT COUNT(*) FROM event_log") >= 0);
    assert_true(sql_i64("older.db", "PRAGMA schema_version") > made);
    made = sql_i64("older.db", "PRAGMA schema_version");
    store_close(open_store("older.db"));
    assert_int_equal(sql_i64("older.db", "PRAGMA schema_version"), made); /* nothing was to be done */
    sim_history_close(&h);
}

/* Restarts at any moment, batches of any size, a clock that is set forward and back, missing samples. */
static void restarts_clock_steps_and_late_rows_change_nothing(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        uint32_t random = seed;
        char name[32];
        snprintf(name, sizeof name, "steps%u.db", seed);
        struct sim_history h;
        sim_history_open(&h, "gpus=2,scenario=bursty");
        struct store *s = open_store(name);
        int written = 0;
        for (int i = 0; i < 900; i++) {
            struct snapshot *batch[8];
            size_t count = 1 + next_random(&random) % 3;
            for (size_t k = 0; k < count; k++) {
                batch[k] = sim_history_next(&h);
                if (next_random(&random) % 5 == 0)
                    batch[k]->gpus[0].power_mw = reading_absent(READING_FAILED);
            }
            struct error err;
            assert_int_equal(store_write(s, (const struct snapshot *const *)batch, count, NULL, 0, &err), 0);
            written += (int)count;
            for (size_t k = 0; k < count; k++)
                snapshot_unref(batch[k]);
            switch (next_random(&random) % 60) {
            case 0:
                store_close(s);
                s = open_store(name);
                break;
            case 1: h.clock.today.ms -= (int64_t)(next_random(&random) % 7200) * 1000; break; /* set back */
            case 2: h.clock.today.ms += (int64_t)(next_random(&random) % 7200) * 1000; break;
            case 3: h.clock.today.ms -= h.interval_ms * 2; break; /* onto the very moments of rows that are there */
            default: break;
            }
        }
        char query[64] = "SELECT COUNT(*) FROM samples";
        assert_int_equal(sql_i64(name, query), 2 * written);
        assert_exact(name);
        assert_int_equal(sql_i64(name, "SELECT COUNT(*) FROM pending WHERE level = 1"), 3);
        store_close(s);
        sim_history_close(&h);
    }
}

/* Three minutes, the sixth sample of them late, one by one or in one transaction. */
static void write_with_a_late_one(struct store *s, struct sim_history *h, int64_t minutes_late, size_t at_once)
{
    struct snapshot *list[36];
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        list[i] = sim_history_next(h);
    list[5]->taken_at.ms -= minutes_late * 60000 - 1;
    for (size_t i = 0; i < ARRAY_LEN(list); i += at_once)
        assert_int_equal(store_write(s, (const struct snapshot *const *)list + i, at_once, NULL, 0, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        snapshot_unref(list[i]);
}

/* In the middle of an hour, when nothing else is to be summed up. */
/* Two snapshots of one moment, the last of its minute: the second one is stored in the minute after it. */
static void leave_a_minute(const char *name, int64_t then_on_ms)
{
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_store(name);
    write_samples(s, &h, 5 * 12);
    struct snapshot *batch[] = {sim_history_next(&h), sim_history_next(&h)};
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(batch); i++)
        batch[i]->taken_at.ms = HISTORY_BEGIN.ms + 6 * 60000 - 1;
    assert_int_equal(store_write(s, (const struct snapshot *const *)batch, ARRAY_LEN(batch), NULL, 0, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(batch); i++)
        snapshot_unref(batch[i]);
    assert_int_equal(sql_i64(name, "SELECT COUNT(*) FROM samples WHERE (id >> 14) % 60000 = 0"), 6);
    h.clock.today.ms += then_on_ms;
    write_samples(s, &h, 3 * 12);
    assert_int_equal(
        sql_i64(name, "SELECT COUNT(*) FROM pending WHERE level = 1 AND bucket < (SELECT MAX(id >> 14) / 60000 FROM samples)"), 0);
    assert_exact(name);
    store_close(s);
    sim_history_close(&h);
}

static void a_minute_that_is_left_within_a_transaction_is_summed_up_like_any_other(void **state)
{
    (void)state;
    leave_a_minute("left.db", 60000);
    leave_a_minute("back.db", 0); /* into which more rows come then */
}

static void late_rows_are_in_their_minute_and_hour_before_the_next_hour(void **state)
{
    (void)state;
    static const int64_t minutes_late[] = {5, 90};
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_store("late.db");
    for (int i = 0; i < 130 * 12; i++) {
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
    }
    for (size_t i = 0; i < 2 * ARRAY_LEN(minutes_late); i++) {
        write_with_a_late_one(s, &h, minutes_late[i / 2], i % 2 ? 36 : 1);
        write_with_a_late_one(s, &h, 0, 1);
        assert_int_equal(
            sql_i64("late.db",
                    "SELECT COUNT(*) FROM pending WHERE (level = 1 AND bucket < (SELECT MAX(id >> 14) / 60000 FROM samples)) OR "
                    "(level = 2 AND bucket < (SELECT MAX(id >> 14) / 3600000 FROM samples))"),
            0);
        assert_exact("late.db");
        assert_int_equal(sql_i64("late.db", "SELECT SUM(samples) FROM process_hours"),
                         sql_i64("late.db",
                                 "SELECT SUM(samples) FROM process_minutes WHERE minute / 60 < (SELECT MAX(id >> 14) / 3600000 "
                                 "FROM samples)"));
    }
    store_close(s);
    sim_history_close(&h);
}

static void what_the_last_run_left_undone_is_done_after_the_start(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("undone.db");
    for (int i = 0; i < 5; i++) {
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
    }
    store_close(s);
    assert_int_equal(sql_i64("undone.db", "SELECT COUNT(*) FROM minutes"), 0);
    clock_manual_advance_ms(&h.clock, 2 * 86400000LL);
    s = open_store("undone.db");
    const struct snapshot *snapshot = sim_history_next(&h);
    write_one(s, snapshot);
    snapshot_unref(snapshot);
    assert_int_equal(sql_i64("undone.db", "SELECT COUNT(*) FROM minutes"), 1);
    assert_int_equal(sql_i64("undone.db", "SELECT COUNT(*) FROM hours"), 1);
    assert_int_equal(sql_i64("undone.db", "SELECT samples FROM hours"), 5);
    store_close(s);
    sim_history_close(&h);
}

static int clean_all(struct store *s, struct wall now)
{
    struct error err = {0};
    int steps = 0, rc;
    while ((rc = clean_step(s, now, &err)) == 1)
        steps++;
    if (rc < 0)
        fail_msg("%s", err.text);
    return steps;
}

/* Adds up what the summaries of a level hold for a moment. */
static int64_t samples_at(const char *name, const char *table, int64_t ms, int64_t at_ms)
{
    char query[160];
    snprintf(query, sizeof query, "SELECT SUM(samples) FROM %s WHERE (id & 4294967295) = %lld", table, (long long)(at_ms / ms));
    return sql_i64(name, query);
}

static void old_rows_go_in_small_steps_and_late_ones_are_added_to_the_summaries(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=4,scenario=idle");
    h.interval_ms = 20000;
    struct store *s = open_store("clean.db");
    const struct store_limits limits = {.raw_ms = 6 * 3600000LL,
                                        .minute_ms = 24 * 3600000LL,
                                        .hour_ms = 30 * 3600000LL,
                                        .process_ms = 20 * 3600000LL,
                                        .event_ms = 20 * 3600000LL,
                                        .max_bytes = 0};
    store_set_limits(s, &limits);
    for (int i = 0; i < 36 * 180; i++) { /* a day and a half */
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
    }
    struct error err;
    int64_t before, after;
    assert_int_equal(store_used_bytes(s, &before, &err), 0);
    int64_t now_ms = h.clock.today.ms;
    assert_true(clean_all(s, h.clock.today) > 10);
    assert_int_equal(store_used_bytes(s, &after, &err), 0);
    assert_true(after < before * 6 / 10);
    assert_true(sql_i64("clean.db", "PRAGMA freelist_count") < 600); /* the file gave its space back */
    assert_int_equal(sql_i64("clean.db", "SELECT MIN(id >> 14) FROM samples"), now_ms - limits.raw_ms);
    assert_int_equal(sql_i64("clean.db", "SELECT MIN(id & 4294967295) * 60000 FROM minutes"), now_ms - limits.minute_ms);
    assert_int_equal(sql_i64("clean.db", "SELECT MIN(id & 4294967295) * 3600000 FROM hours"), now_ms - limits.hour_ms);
    assert_int_equal(sql_i64("clean.db", "SELECT COUNT(*) FROM hours"), 4 * 29); /* the last one is not over yet */
    /* Nothing else is touched a second time. */
    assert_int_equal(clean_all(s, h.clock.today), 0);

    /* Behind the samples, behind the minutes, behind the hours: every row of its own time counts once. */
    int64_t rows = sql_i64("clean.db", "SELECT COUNT(*) FROM samples"), before_hours = now_ms - limits.hour_ms - 3600000;
    struct snapshot *late = sim_history_next(&h);
    const int64_t moments[] = {now_ms - limits.raw_ms - 3 * 3600000, now_ms - limits.minute_ms - 3600000, before_hours};
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        late->taken_at.ms = moments[i] + 1;
        int64_t minute = samples_at("clean.db", "minutes", 60000, moments[i]);
        int64_t hour = samples_at("clean.db", "hours", 3600000, moments[i]);
        write_one(s, late);
        write_one(s, late); /* the very same moment: the next free one */
        assert_int_equal(sql_i64("clean.db", "SELECT COUNT(*) FROM samples"), rows += 8);
        assert_int_equal(samples_at("clean.db", "minutes", 60000, moments[i]), minute + 8);
        late->taken_at.ms = h.clock.today.ms; /* what is over is summed up by what comes next */
        clock_manual_advance_ms(&h.clock, 60000);
        write_one(s, late);
        rows += 4;
        assert_int_equal(samples_at("clean.db", "hours", 3600000, moments[i]), hour + 8);
    }
    assert_int_equal(store_rejected(s), 0);
    late->taken_at.ms = now_ms - limits.raw_ms + 1;
    write_one(s, late);
    assert_int_equal(sql_i64("clean.db", "SELECT COUNT(*) FROM samples"), rows + 4);
    late->taken_at.ms = -1; /* no row can have that time */
    write_one(s, late);
    assert_int_equal(store_rejected(s), 1);
    snapshot_unref(late);
    store_close(s);
    sim_history_close(&h);
}

/* Time passes, sample by sample, and is cleaned up after; the clock is wrong by error_ms. */
static void live(struct store *s, struct sim_history *h, int64_t error_ms, int64_t for_ms)
{
    for (int64_t end = h->clock.today.ms + for_ms; h->clock.today.ms < end;) {
        struct snapshot *snapshot = sim_history_next(h);
        struct error err = {0};
        snapshot->taken_at.ms += error_ms;
        write_one(s, snapshot);
        snapshot_unref(snapshot);
        int rc;
        while ((rc = store_clean(s, (struct wall){h->clock.today.ms + error_ms}, h->clock.now, &err)) == 1)
            ;
        if (rc < 0)
            fail_msg("%s", err.text);
    }
}

static void a_leap_of_the_clock_deletes_nothing_and_what_comes_after_it_is_kept(void **state)
{
    (void)state;
    static const int64_t leaps[] = {7200000, 30 * 86400000LL,  3 * 365 * 86400000LL,
                                    -30000,  -30 * 86400000LL, -3 * 365 * 86400000LL};
    for (size_t i = 0; i < ARRAY_LEN(leaps); i++) {
        char name[32];
        snprintf(name, sizeof name, "leap%zu.db", i);
        struct sim_history h;
        sim_history_open(&h, "gpus=1,scenario=idle");
        h.interval_ms = 60000;
        struct store *s = open_store(name);
        const int64_t errors[] = {0, leaps[i], 0, leaps[i], 0};
        int64_t truth = 0, wrong = 0;
        for (size_t k = 0; k < ARRAY_LEN(errors); k++) {
            live(s, &h, errors[k], 2 * 3600000);
            *(errors[k] ? &wrong : &truth) += 120;
            struct store_clock clock;
            store_clock(s, &clock);
            assert_int_equal(store_clock_side(&clock), k && errors[k] > 3600000 ? 1 : k && errors[k] < -60000 ? -1 : 0);
            store_close(s); /* with a restart in between */
            s = open_store(name);
        }
        /* What lies years back is older than samples and minutes are kept, by its own time; everything else is all there. */
        int64_t rows = sql_i64(name, "SELECT COUNT(*) FROM samples");
        assert_int_equal(rows, leaps[i] < -86400000LL ? truth : truth + wrong);
        assert_int_equal(sql_i64(name, "SELECT SUM(samples) FROM hours") >= truth + wrong - 120, true);
        assert_int_equal(store_rejected(s), 0);
        store_close(s);
        sim_history_close(&h);
    }
}

static void a_database_that_an_earlier_version_harmed_heals(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("harmed.db");
    live(s, &h, 0, 600000);
    store_close(s);
    /* As 0.1.0 left it after six seconds with a clock that was 30 days ahead. */
    char sql[512];
    snprintf(sql, sizeof sql,
             "DELETE FROM retention; DELETE FROM samples;"
             "INSERT INTO samples (id, gpu_index) VALUES (%lld, 0);"
             "INSERT INTO meta (key, value) VALUES ('horizon.gpu.0', '%lld'), ('horizon.host.0', '%lld')",
             (long long)raw_key(h.clock.today.ms + 30 * 86400000LL, 1), (long long)(h.clock.today.ms + 23 * 86400000LL),
             (long long)(h.clock.today.ms + 23 * 86400000LL));
    sql_run("harmed.db", sql);
    s = open_store("harmed.db");
    int64_t minutes = sql_i64("harmed.db", "SELECT SUM(samples) FROM minutes");
    live(s, &h, 0, 600000);
    struct store_clock clock;
    store_clock(s, &clock);
    assert_true(clock.healed_ms > 22 * 86400000LL);
    assert_int_equal(store_clock_side(&clock), 0);
    assert_int_equal(sql_i64("harmed.db", "SELECT COUNT(*) FROM samples"), 120 + 1);
    assert_true(sql_i64("harmed.db", "SELECT SUM(samples) FROM minutes") >= minutes + 100);
    assert_true(sql_i64("harmed.db", "SELECT MAX(CAST(value AS INTEGER)) FROM meta WHERE key LIKE 'horizon%'") <= h.clock.today.ms);
    store_close(s);
    sim_history_close(&h);
}

static void what_a_host_that_is_gone_left_behind_is_summed_up_and_goes(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    for (int i = 0; i < 3; i++) { /* the host is given another name twice */
        const struct store_options options = {.env = &test_env,
                                              .url = store_url("renamed.db"),
                                              .host = i == 0   ? "one"
                                                      : i == 1 ? "two"
                                                               : "three",
                                              .limits = store_default_limits};
        struct error err = {0};
        struct store *s = NULL;
        assert_int_equal(store_open(&options, &s, &err), 0);
        h.interval_ms = 5000;
        live(s, &h, 0, 100000);
        h.interval_ms = 600000;
        if (i == 2)
            live(s, &h, 0, 2 * 86400000LL);
        store_close(s);
        clock_manual_advance_ms(&h.clock, 10 * 86400000LL);
    }
    assert_int_equal(sql_i64("renamed.db", "SELECT COUNT(DISTINCT id & 16383) FROM samples"), 1);
    assert_int_equal(sql_i64("renamed.db", "SELECT COUNT(*) FROM pending WHERE subject < 3"), 0);
    assert_int_equal(sql_i64("renamed.db", "SELECT SUM(samples) FROM minutes WHERE id >> 32 = 1"), 20);
    assert_int_equal(sql_i64("renamed.db", "SELECT SUM(samples) FROM hours WHERE id >> 32 = 1"), 20);
    sim_history_close(&h);
}

static void a_host_is_seen_as_long_as_it_writes(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("seen.db");
    live(s, &h, 0, 600000);
    assert_true(sql_i64("seen.db", "SELECT last_seen_ms FROM hosts") > h.clock.today.ms - 61000);
    assert_true(sql_i64("seen.db", "SELECT last_seen_ms FROM gpus") > h.clock.today.ms - 61000);
    store_close(s);
    sim_history_close(&h);
}

/* A snapshot in which no process is on the GPUs any more. */
static struct snapshot *without_processes(struct sim_history *h)
{
    struct snapshot *s = sim_history_next(h);
    for (size_t i = 0; i < s->gpu_count; i++)
        s->gpus[i].process_count = 0;
    return s;
}

static void processes_energy_and_events_go_when_their_time_is_over(void **state)
{
    (void)state;
    struct sim_history h;
    struct error err = {0};
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_store("process_runs.db");
    struct store_limits limits = store_default_limits;
    limits.minute_ms = 86400000;
    limits.process_ms = 2 * 86400000;
    limits.event_ms = 3 * 86400000;
    store_set_limits(s, &limits);
    for (int i = 0; i < 30; i++) {
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
    }
    const struct store_event event = {
        .at = HISTORY_BEGIN, .gpu_index = -1, .kind = "daemon", .severity = "info", .text = "started"};
    assert_int_equal(store_write(s, NULL, 0, &event, 1, &err), 0);
    AUTO_SNAPSHOT const struct snapshot *empty = without_processes(&h);
    write_one(s, empty);
    struct wall now = h.clock.today;
    assert_true(sql_i64("process_runs.db", "SELECT COUNT(*) FROM processes WHERE ended = 1") > 0);
    assert_true(sql_i64("process_runs.db", "SELECT COUNT(*) FROM process_minutes") > 0);
    const struct {
        double days;
        bool minutes, runs, events;
    } ages[] = {{0.9, true, true, true}, {1.1, false, true, true}, {2.1, false, false, true}, {3.1, false, false, false}};
    for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
        clean_all(s, (struct wall){now.ms + (int64_t)(ages[i].days * 86400000)});
        assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM process_minutes") > 0, ages[i].minutes);
        assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM processes") > 0, ages[i].runs);
        assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM energy") > 0, ages[i].runs);
        assert_int_equal(sql_i64("process_runs.db", "SELECT COUNT(*) FROM events") > 0, ages[i].events);
    }
    store_close(s);
    sim_history_close(&h);
}

static int64_t file_size(const char *name)
{
    char path[200];
    struct stat info;
    sql_run(name, "PRAGMA wal_checkpoint(TRUNCATE)");
    snprintf(path, sizeof path, "%s/%s", store_folder, name);
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

static void when_samples_are_not_enough_the_oldest_summaries_go_and_the_file_shrinks(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=4,scenario=training");
    h.interval_ms = 60000;
    struct store *s = open_store("cap2.db");
    for (int i = 0; i < 4 * 1440; i++) { /* four days */
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
    }
    struct error err;
    int64_t used, before = file_size("cap2.db");
    struct store_limits limits = store_default_limits;
    limits.max_bytes = before / 2;
    store_set_limits(s, &limits);
    clean_all(s, h.clock.today);
    assert_int_equal(store_used_bytes(s, &used, &err), 0);
    assert_true(used <= limits.max_bytes);
    /* Only the samples of the last hour are left, the oldest minutes are gone, also of processes, and the hours are all there. */
    assert_true(sql_i64("cap2.db", "SELECT MIN(id >> 14) FROM samples") >= h.clock.today.ms - 2 * 3600000);
    int64_t first = sql_i64("cap2.db", "SELECT MIN(id & 4294967295) FROM minutes");
    assert_true(first > HISTORY_BEGIN.ms / 60000);
    assert_true(first <= (h.clock.today.ms - 47 * 3600000LL) / 60000);
    assert_true(sql_i64("cap2.db", "SELECT MIN(minute) FROM process_minutes") > HISTORY_BEGIN.ms / 60000);
    assert_int_equal(sql_i64("cap2.db", "SELECT MIN(id & 4294967295) FROM hours"), HISTORY_BEGIN.ms / 3600000);
    assert_true(file_size("cap2.db") < before * 6 / 10);
    store_close(s);
    sim_history_close(&h);
}

static void over_the_size_limit_the_oldest_samples_go_first(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=4,scenario=idle");
    struct store *s = open_store("cap.db");
    struct store_limits limits = store_default_limits;
    limits.max_bytes = 3 << 19;
    store_set_limits(s, &limits);
    for (int i = 0; i < 3000; i++) {
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
        if (i % 100 == 0)
            clean_all(s, h.clock.today);
    }
    clean_all(s, h.clock.today);
    struct error err;
    int64_t used;
    assert_int_equal(store_used_bytes(s, &used, &err), 0);
    assert_true(used <= limits.max_bytes);
    assert_true(sql_i64("cap.db", "SELECT MIN(id >> 14) FROM samples") > HISTORY_BEGIN.ms);
    /* The summaries of what went are still there. */
    assert_int_equal(sql_i64("cap.db", "SELECT MIN(id & 4294967295) * 60000 FROM minutes"), HISTORY_BEGIN.ms);
    store_close(s);
    sim_history_close(&h);
}

static void stored_values_are_small(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=8,model=h100,scenario=training");
    struct store *s = open_store("small.db");
    int64_t values = 0;
    for (int i = 0; i < 1500; i++) {
        AUTO_SNAPSHOT const struct snapshot *snapshot = sim_history_next(&h);
        write_one(s, snapshot);
        for (size_t g = 0; g < snapshot->gpu_count; g++)
            for (size_t c = 0; c < series_count(SERIES_GPU); c++)
                values += snapshot->gpus[g].metric[series_place(SERIES_GPU, c)].state == READING_OK;
    }
    int64_t used;
    struct error err;
    assert_int_equal(store_used_bytes(s, &used, &err), 0);
    /* With everything else that is in the file. */
    assert_true(used < values * 5);
    store_close(s);
    sim_history_close(&h);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(minutes_and_hours_are_what_the_samples_say),
        TEST(many_samples_in_one_transaction_leave_behind_what_one_by_one_does),
        TEST(what_is_seldom_needed_is_not_kept_in_memory),
        TEST(giving_memory_back_changes_nothing_that_is_stored),
        TEST(views_take_little_memory),
        TEST(views_of_an_earlier_program_are_made_anew),
        TEST(restarts_clock_steps_and_late_rows_change_nothing),
        TEST(a_minute_that_is_left_within_a_transaction_is_summed_up_like_any_other),
        TEST(late_rows_are_in_their_minute_and_hour_before_the_next_hour),
        TEST(what_the_last_run_left_undone_is_done_after_the_start),
        TEST(old_rows_go_in_small_steps_and_late_ones_are_added_to_the_summaries),
        TEST(a_leap_of_the_clock_deletes_nothing_and_what_comes_after_it_is_kept),
        TEST(a_database_that_an_earlier_version_harmed_heals),
        TEST(what_a_host_that_is_gone_left_behind_is_summed_up_and_goes),
        TEST(a_host_is_seen_as_long_as_it_writes),
        TEST(processes_energy_and_events_go_when_their_time_is_over),
        TEST(over_the_size_limit_the_oldest_samples_go_first),
        TEST(when_samples_are_not_enough_the_oldest_summaries_go_and_the_file_shrinks),
        TEST(stored_values_are_small),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
