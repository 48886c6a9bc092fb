/* SPDX-License-Identifier: Apache-2.0
 * The store on a real PostgreSQL server, whose URL is WHIRR_TEST_POSTGRES (tools/with-postgres starts one); skipped without.
 */
#include <errno.h>
#include <pthread.h>

#include "own_database.h"
#include "past/explain.h"
#include "sim_history.h"
#include "store/internal.h"
#include "store/query.h"

static const char *server;

enum { DAYS_AHEAD = 3 }; /* tables are made ahead of time */

/* What psql says to a query: past the program's own ways. */
static void psql(const char *query, char *answer, size_t size)
{
    char command[4096];
    snprintf(command, sizeof command, "psql -X -A -t -q -v ON_ERROR_STOP=1 '%s' <<'END'\n%s\nEND\n", server, query);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t len = fread(answer, 1, size - 1, p);
    answer[len] = '\0';
    while (len && answer[len - 1] == '\n')
        answer[--len] = '\0';
    if (pclose(p) != 0)
        fail_msg("%s", query);
}

static int64_t psql_i64(const char *query)
{
    char answer[256];
    int64_t value = -1;
    psql(query, answer, sizeof answer);
    str_to_i64(str_from(answer), &value);
    return value;
}

static void empty_database(void)
{
    char answer[64];
    psql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public;", answer, sizeof answer);
}

#define NEEDS_EMPTY_SERVER()                                        \
    do {                                                            \
        (void)state;                                                \
        if (!server)                                                \
            SKIP("no PostgreSQL (tools/with-postgres starts one)"); \
        empty_database();                                           \
    } while (0)

static struct store *open_server(const char *host)
{
    struct store *s = NULL;
    struct error err = {0};
    const struct store_options options = {.env = &test_env, .url = server, .host = host, .limits = store_default_limits};
    if (store_open(&options, &s, &err) != 0)
        fail_msg("%s", err.text);
    return s;
}

/* Two hosts that write what their simulated GPUs show. */
struct pair {
    struct sim_history a, b;
    struct store *first, *second;
};

static void pair_open(struct pair *p, const char *gpus_of_first, const char *gpus_of_second)
{
    sim_history_open(&p->a, gpus_of_first);
    sim_history_open(&p->b, gpus_of_second);
    p->first = open_server("alpha");
    p->second = open_server("beta");
}

static void pair_write(struct pair *p, int samples)
{
    write_samples(p->first, &p->a, samples);
    write_samples(p->second, &p->b, samples);
}

static void pair_close(struct pair *p)
{
    store_close(p->first);
    store_close(p->second);
    sim_history_close(&p->a);
    sim_history_close(&p->b);
}

static void rows_are_there_for_psql(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=training");
    struct store *s = open_server("alpha");
    write_samples(s, &h, 30);
    struct snapshot *last = sim_history_next(&h);
    write_one(s, last);
    char answer[512], expected[512];
    psql("SELECT gpu_index, gpu_name, temperature_celsius, power_watts, gpu_utilization_percent, host, "
         "to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') FROM gpu_stats ORDER BY id DESC LIMIT 1",
         answer, sizeof answer);
    const struct gpu *gpu = &last->gpus[1];
    snprintf(expected, sizeof expected, "1|%s|%g|%g|%g|alpha|2026-03-01 00:02:30.000", gpu->id.name,
             (double)gpu->temp_mdegc.value / 1000, (double)gpu->power_mw.value / 1000, (double)gpu->util_permille.value / 10);
    assert_string_equal(answer, expected);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM gpu_stats"), 62);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM gpu_stats_minute"), 4);
    assert_true(psql_i64("SELECT COUNT(*) FROM processes") >= 2);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'samples'::regclass"), 1 + DAYS_AHEAD);
    snapshot_unref(last);
    store_close(s);
    sim_history_close(&h);
}

/* Days whose sums are not those of their hours, of GPUs and processes. */
static int64_t wrong_days(void)
{
    return psql_i64(
        "SELECT (SELECT COUNT(*) FROM (SELECT hour / 24 AS day, gpu_id, SUM(energy_mj) AS mj FROM energy_hours GROUP BY 1, "
        "2) h FULL JOIN energy_days d USING (day, gpu_id) WHERE d.energy_mj IS DISTINCT FROM h.mj) + (SELECT COUNT(*) "
        "FROM (SELECT hour / 24 AS day, process_id, SUM(energy_mj) AS mj FROM process_hours GROUP BY 1, 2) h FULL JOIN "
        "process_days d USING (day, process_id) WHERE d.energy_mj IS DISTINCT FROM h.mj)");
}

static void hours_of_processes_are_summed_up_on_the_server(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=multi-user");
    h.interval_ms = 20000;
    struct store *s = open_server("alpha");
    write_samples(s, &h, 400); /* two hours and some minutes */
    assert_int_equal(psql_i64("SELECT COUNT(DISTINCT hour) FROM process_hours"), 2);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM process_hours x WHERE (x.energy_mj, x.samples, x.sm_sum_permille) <> "
                              "(SELECT SUM(m.energy_mj), SUM(m.samples), SUM(m.sm_sum_permille) FROM process_minutes m WHERE "
                              "m.process_id = x.process_id AND m.minute / 60 = x.hour)"),
                     0);
    assert_int_equal(
        psql_i64("SELECT COUNT(*) FROM energy_hours x WHERE x.energy_mj <> (SELECT SUM(e.energy_mj) FROM energy e WHERE "
                 "e.gpu_id = x.gpu_id AND e.minute / 60 = x.hour)"),
        0);
    assert_true(psql_i64("SELECT MAX(present_minutes) FROM process_hours") > 0);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM pending WHERE series = 2"), 1);
    assert_true(psql_i64("SELECT COUNT(*) FROM process_days, energy_days WHERE energy_days.energy_mj > 0") > 0);
    assert_int_equal(wrong_days(), 0);
    store_close(s);
    sim_history_close(&h);
}

static void two_samples_within_a_millisecond_are_both_kept(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=training");
    struct store *s = open_server("alpha");
    struct snapshot *one = sim_history_next(&h), *two = sim_history_next(&h);
    two->taken_at = one->taken_at;
    write_one(s, one);
    write_one(s, two);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM samples"), 4);
    snapshot_unref(one);
    snapshot_unref(two);
    store_close(s);
    sim_history_close(&h);
}

static void many_hosts_share_one_database(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct pair p;
    pair_open(&p, "gpus=2,scenario=training", "gpus=1,scenario=mixed,model=rx7900xtx");
    for (int i = 0; i < 40; i++) { /* each brings columns that the other does not know of */
        pair_write(&p, 1);
    }
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM gpu_stats WHERE host = 'alpha'"), 80);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM gpu_stats WHERE host = 'beta'"), 40);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM minutes"), 9);
    pair_close(&p);
}

static int add_run(void *user, const struct store_process_run *run)
{
    assert_string_equal(run->host, "beta");
    *(int64_t *)user += run->samples;
    return 0;
}

static int add_worker(void *user, const struct store_worker *worker)
{
    *(int64_t *)user += worker->samples;
    return 0;
}

static void one_host_is_asked_about_without_the_others(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct pair p;
    struct error err = {0};
    pair_open(&p, "gpus=2,scenario=multi-user", "gpus=1,scenario=mixed");
    p.a.interval_ms = p.b.interval_ms = 20000;
    pair_write(&p, 60); /* twenty minutes */
    int64_t until_ms = p.b.clock.today.ms + 60000, since_ms = until_ms - 3600000, of_runs = 0, of_workers = 0;
    int64_t stored = psql_i64("SELECT SUM(m.samples) FROM process_minutes m JOIN processes p ON p.id = m.process_id JOIN gpus g ON "
                              "g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id WHERE h.name = 'beta'");
    assert_true(stored > 0);
    const struct store_span span = {.host = "beta", .since_ms = since_ms, .until_ms = until_ms, .within = true, .limit = 1000};
    assert_int_equal(store_process_runs(p.first, &span, add_run, &of_runs, &err), 0);
    assert_int_equal(of_runs, stored);
    const struct store_workers workers = {.host = "beta", .since_ms = since_ms, .until_ms = until_ms, .step_ms = 60000};
    assert_int_equal(store_workers(p.first, &workers, add_worker, &of_workers, &err), 0);
    assert_int_equal(of_workers, stored);
    pair_close(&p);
}

static void assert_exact(void)
{
    char query[3072];
    for (int level = 1; level <= 2; level++) {
        const char *table = level == 1 ? "minutes" : "hours";
        long long ms = level == 1 ? 60000 : 3600000;
        snprintf(
            query, sizeof query,
            "WITH raw AS (SELECT gpu_id AS gpu, CAST(EXTRACT(EPOCH FROM recorded_at) * 1000 AS BIGINT) / %lld AS bucket, "
            "SUM(power_mw) AS s, MIN(power_mw) AS lo, "
            "MAX(power_mw) AS hi, COUNT(power_mw) AS n, COUNT(*) AS rows FROM samples GROUP BY 1, 2), "
            "kept AS (SELECT id >> 32 AS gpu, id & 4294967295 AS bucket, power_mw_sum AS s, COALESCE(power_mw_min, power_mw_sum / "
            "COALESCE(power_mw_count, samples)) AS lo, COALESCE(power_mw_max, power_mw_sum / COALESCE(power_mw_count, samples)) "
            "AS hi, CASE WHEN power_mw_sum IS NULL THEN 0 ELSE COALESCE(power_mw_count, samples) END AS n, samples AS rows FROM "
            "%s) "
            "SELECT COUNT(*) FROM raw LEFT JOIN kept USING (gpu, bucket) WHERE (kept.s IS DISTINCT FROM raw.s OR "
            "kept.lo IS DISTINCT FROM raw.lo OR kept.hi IS DISTINCT FROM raw.hi OR kept.n IS DISTINCT FROM raw.n OR "
            "kept.rows IS DISTINCT FROM raw.rows) AND NOT EXISTS (SELECT 1 FROM pending w WHERE w.series = 0 AND w.level = %d AND "
            "w.subject = raw.gpu AND w.bucket = raw.bucket) AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.series = 0 AND "
            "p.level = 1 AND p.subject = raw.gpu AND p.bucket * 60000 / %lld = raw.bucket)",
            ms, table, level, ms);
        assert_int_equal(psql_i64(query), 0);
    }
}

static void summaries_are_exact_over_restarts_and_clock_steps(void **state)
{
    NEEDS_EMPTY_SERVER();
    uint32_t random = 7;
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=bursty");
    struct store *s = open_server("alpha");
    for (int i = 0; i < 250; i++) {
        write_samples(s, &h, 1 + (int)(next_random(&random) % 12));
        switch (next_random(&random) % 20) {
        case 0:
            store_close(s);
            s = open_server("alpha");
            break;
        case 1: h.clock.today.ms -= (int64_t)(next_random(&random) % 7200) * 1000 + 17; break;
        case 2: h.clock.today.ms += (int64_t)(next_random(&random) % 7200) * 1000 + 3; break;
        default: break;
        }
    }
    assert_exact();
    assert_true(psql_i64("SELECT COUNT(*) FROM hours") > 3);
    assert_int_equal(wrong_days(), 0);
    store_close(s);
    sim_history_close(&h);
}

static int add_point(void *user, const struct store_point *point)
{
    double *sum = user;
    *sum += (double)point->values[0].sum;
    return 0;
}

static int count_row(void *user, const struct store_row *row)
{
    (void)row;
    ++*(int *)user;
    return 0;
}

/* Page by page, for a question about all of time. */
static int rows_of_all_time(struct store *s, size_t column)
{
    struct error err = {0};
    int rows = 0, before = -1;
    struct store_page page = {.since_ms = INT64_MIN / 2,
                              .until_ms = INT64_MAX / 2,
                              .gpu_index = -1,
                              .limit = 100000,
                              .columns = &column,
                              .column_count = 1};
    if (store_rows(s, &page, count_row, &rows, &err) != 0)
        fail_msg("%s", err.text);
    /* Both GPUs of one moment: the second is behind the first. */
    page.cursor = cursor_at(HISTORY_BEGIN.ms, 1);
    assert_int_equal(store_rows(s, &page, count_row, &before, &err), 0);
    assert_int_equal(before, rows - 2);
    return rows;
}

static void it_answers_like_sqlite(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h, twin;
    sim_history_open(&h, "gpus=2,scenario=multi-user");
    sim_history_open(&twin, "gpus=2,scenario=multi-user");
    struct store *there = open_server(""), *here = open_store("twin.db");
    write_samples(there, &h, 1500);
    write_samples(here, &twin, 1500);
    size_t column = (size_t)series_find(SERIES_GPU, "power_watts");
    const int64_t steps[] = {5000, 60000, 3600000};
    struct error err = {0};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct store_plot plot = {.subject = 2,
                                  .since_ms = HISTORY_BEGIN.ms,
                                  .until_ms = h.clock.today.ms,
                                  .step_ms = steps[i],
                                  .columns = &column,
                                  .column_count = 1};
        double one = 0, other = 0;
        assert_int_equal(store_series(there, &plot, add_point, &one, &err), 0);
        assert_int_equal(store_series(here, &plot, add_point, &other, &err), 0);
        assert_true(one > 0 && one == other);
    }
    assert_int_equal(rows_of_all_time(there, column), 3000);
    assert_int_equal(rows_of_all_time(here, column), 3000);
    struct recent recent, recent_here;
    enum level level;
    struct snapshot *past = NULL, *past_here = NULL;
    struct wall at = {HISTORY_BEGIN.ms + 3000000};
    if (store_past(there, "box", at, 0, &past, &recent, &level, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(store_past(here, "box", at, 0, &past_here, &recent_here, &level, &err), 0);
    assert_int_equal(past->gpus[1].power_mw.value, past_here->gpus[1].power_mw.value);
    assert_int_equal(past->gpus[1].process_count, past_here->gpus[1].process_count);
    snapshot_unref(past);
    snapshot_unref(past_here);
    recent_done(&recent);
    recent_done(&recent_here);
    store_close(there);
    store_close(here);
    sim_history_close(&h);
    sim_history_close(&twin);
}

/* A session has only so many statements, and they are there again for the next question. */
static void a_reader_keeps_its_statements(void **state)
{
    NEEDS_EMPTY_SERVER();
    static const char count[] = "SELECT COUNT(*) FROM pg_prepared_statements";
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_server("alpha"), *reader = NULL;
    struct db_statement *q = NULL;
    struct error err = {0};
    int64_t before = 0, after = 0;
    write_samples(s, &h, 1);
    assert_int_equal(store_open_read_only(&test_env, server, &reader, &err), 0);
    for (int i = 0; i < 2 * DB_SPARE_MAX; i++) {
        char sql[32];
        snprintf(sql, sizeof sql, "SELECT %d + $1", i);
        assert_int_equal(db_prepare(reader->db, sql, &q, &err), 0);
        db_bind_i64(q, 1, 1000);
        assert_int_equal(db_step(q, &err), 1);
        assert_int_equal(db_i64(q, 0), 1000 + i);
        db_finish(&q);
    }
    assert_int_equal(db_query_i64(reader->db, count, 0, &before, &err), 0);
    assert_in_range(before, DB_SPARE_MAX, DB_SPARE_MAX + 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(db_prepare(reader->db, "SELECT 63 + $1", &q, &err), 0);
        db_bind_i64(q, 1, i);
        assert_int_equal(db_step(q, &err), 1);
        assert_int_equal(db_i64(q, 0), 63 + i);
        db_finish(&q);
    }
    assert_int_equal(db_query_i64(reader->db, count, 0, &after, &err), 0);
    assert_in_range(after, DB_SPARE_MAX, DB_SPARE_MAX + 1);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
}

/* One step of cleaning up after the other, at a time that was seen to come. */
static void clean_all(struct store *s, struct wall now)
{
    struct error err = {0};
    int rc;
    while ((rc = clean_step(s, now, &err)) == 1)
        ;
    if (rc < 0)
        fail_msg("%s", err.text);
}

static void days_go_as_whole_tables(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    h.interval_ms = 600000;
    struct store *s = open_server("alpha");
    struct store_limits limits = store_default_limits;
    limits.raw_ms = 2 * 86400000LL;
    limits.minute_ms = 3 * 86400000LL;
    store_set_limits(s, &limits);
    write_samples(s, &h, 6 * 144);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'samples'::regclass"), 6 + DAYS_AHEAD);
    clean_all(s, h.clock.today);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'samples'::regclass"), 2 + DAYS_AHEAD);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM samples"), 2 * 144);
    /* Minutes go by weeks: that of Sunday, the first day, is over and older than three days. */
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM minutes"), 5 * 144 - 1);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM process_minutes WHERE minute < 29540160"), 0);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'minutes'::regclass"), 2);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'energy_hours'::regclass"), 2);
    assert_int_equal(store_horizon(s, SERIES_GPU, LEVEL_MINUTE), 29540160 * 60000LL);
    /* Days of energy; and where an earlier version knew only hours, they are made up for. */
    assert_true(psql_i64("SELECT COUNT(*) FROM energy_days") >= 6);
    assert_int_equal(wrong_days(), 0);
    char answer[64];
    psql("DELETE FROM energy_days; DELETE FROM process_days; INSERT INTO meta (key, value) SELECT 'days_from', CAST(MAX(hour) / 24 "
         "+ 1 "
         "AS TEXT) FROM energy_hours",
         answer, sizeof answer);
    clean_all(s, (struct wall){h.clock.today.ms + 60000});
    assert_int_equal(wrong_days(), 0);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM meta WHERE key = 'days_from'"), 0);
    store_close(s);
    sim_history_close(&h);
}

static int64_t days_of_samples(const char *host)
{
    char query[256];
    snprintf(query, sizeof query, "SELECT COUNT(DISTINCT recorded_at_ms / 86400000) FROM gpu_stats WHERE host = '%s'", host);
    return psql_i64(query);
}

static void one_host_does_not_delete_the_days_of_another(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct pair p;
    pair_open(&p, "gpus=1,scenario=idle", "gpus=1,scenario=idle");
    p.a.interval_ms = p.b.interval_ms = 3600000;
    struct store_limits week = store_default_limits, day = store_default_limits;
    day.raw_ms = day.minute_ms = 86400000;
    store_set_limits(p.first, &week);
    store_set_limits(p.second, &day);
    pair_write(&p, 6 * 24);
    clean_all(p.first, p.a.clock.today);
    clean_all(p.second, p.b.clock.today); /* it wants a day kept, but the other one a week */
    assert_int_equal(days_of_samples("alpha"), 6);
    /* A clock that is a month ahead, and was seen to be for days: two hosts and the server are more than one. */
    store_close(p.second);
    p.second = open_server("gamma");
    struct sim_history c;
    sim_history_open(&c, "gpus=1,scenario=idle");
    clock_manual_advance_ms(&c.clock, 40 * 86400000LL);
    write_samples(p.second, &c, 3);
    clean_all(p.second, c.clock.today);
    clean_all(p.second, (struct wall){c.clock.today.ms + 3 * 86400000LL});
    assert_int_equal(days_of_samples("alpha"), 6);
    assert_int_equal(days_of_samples("gamma"), 1);
    /* What the first one wants is done when it is time. */
    clock_manual_advance_ms(&p.a.clock, 4 * 86400000LL);
    write_samples(p.first, &p.a, 1);
    clean_all(p.first, p.a.clock.today);
    assert_true(days_of_samples("alpha") < 6);
    pair_close(&p);
    sim_history_close(&c);
}

static void one_host_a_minute_cleans_up_for_all(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct pair p;
    pair_open(&p, "gpus=1,scenario=idle", "gpus=1,scenario=idle");
    pair_write(&p, 3);
    clean_all(p.first, p.a.clock.today);
    clean_all(p.second, p.b.clock.today);
    /* An event of 1970 is too old by any limit. */
    char answer[64];
    psql("INSERT INTO events (at_ms, host_id, kind, severity, text) VALUES (5, 1, 'start', 'info', '')", answer, sizeof answer);
    clean_all(p.second, p.b.clock.today);
    clean_all(p.first, p.a.clock.today);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM events WHERE at_ms = 5"), 1);
    store_set_limits(
        p.second,
        &(struct store_limits){
            .raw_ms = 86400000, .minute_ms = 86400000, .hour_ms = 86400000, .process_ms = 86400000, .event_ms = 86400000});
    clean_all(p.second, p.b.clock.today); /* the other one has just done it: next minute */
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM events WHERE at_ms = 5"), 1);
    clean_all(p.second, (struct wall){p.b.clock.today.ms + 60000});
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM events WHERE at_ms = 5"), 0);
    pair_close(&p);
}

/* What others want kept is not read by a host that does not clean up: it does not notice that no host could. */
static void only_who_cleans_up_reads_what_all_hosts_want(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct pair p;
    pair_open(&p, "gpus=1,scenario=idle", "gpus=1,scenario=idle");
    pair_write(&p, 3);
    /* What it wants itself is written once a minute: now, and not again before half of the next. */
    const int64_t half_ms = p.b.clock.today.ms - p.b.clock.today.ms % 60000 + 90000;
    clean_all(p.first, (struct wall){half_ms});
    clean_all(p.second, (struct wall){half_ms});
    clean_all(p.first, (struct wall){half_ms + 30000});
    char answer[64];
    psql("ALTER TABLE retention RENAME TO hidden", answer, sizeof answer);
    struct error err = {0};
    int rc = 0;
    for (int64_t after_ms = 10000; rc == 0 && after_ms < 60000; after_ms += 10000)
        rc = after_ms == 30000 ? 0 : clean_step(p.second, (struct wall){half_ms + after_ms}, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    psql("ALTER TABLE hidden RENAME TO retention", answer, sizeof answer);
    clean_all(p.second, (struct wall){half_ms + 120000});
    pair_close(&p);
}

static void numbers_of_hosts_and_gpus_do_not_run_out(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    char answer[64];
    for (int i = 0; i < 5; i++) {
        struct store *s = open_server(i == 4 ? "beta" : "alpha");
        /* As starts and failures of an earlier version left it. */
        psql("SELECT setval(pg_get_serial_sequence('hosts', 'id'), 17000), setval(pg_get_serial_sequence('gpus', 'id'), 17000)",
             answer, sizeof answer);
        write_samples(s, &h, 1);
        store_close(s);
    }
    assert_int_equal(psql_i64("SELECT MAX(id) FROM hosts"), 2);
    assert_int_equal(psql_i64("SELECT MAX(id) FROM gpus"), 2);
    sim_history_close(&h);
}

/* A transaction that stays open until it is told to end. */
static FILE *begin_session(const char *statements)
{
    char command[512];
    snprintf(command, sizeof command, "psql -X -q '%s' >/dev/null", server);
    FILE *session = popen(command, "w");
    assert_non_null(session);
    fputs(statements, session);
    fflush(session);
    return session;
}

static void a_reader_does_not_block_writers(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_server("alpha");
    write_samples(s, &h, 3);
    store_close(s);
    FILE *reader = begin_session(
        "BEGIN; SELECT COUNT(*) FROM gpu_stats; SELECT COUNT(*) FROM gpu_stats_minute; SELECT COUNT(*) FROM samples;\n");
    assert_true(EVENTUALLY(psql_i64("SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == 1));
    s = open_server("alpha");
    struct mono begin = clock_mono(&clock_system);
    write_samples(s, &h, 1);
    clean_all(s, h.clock.today);
    for (int day = 0; day < 6; day++) { /* further than tables were made ahead */
        write_samples(s, &h, 2);
        clock_manual_advance_ms(&h.clock, 86400000LL);
    }
    /* Its day cannot go yet: that is tried again later, and keeps no session waiting. */
    struct store_limits limits = store_default_limits;
    limits.raw_ms = 2 * 86400000LL;
    store_set_limits(s, &limits);
    struct error err = {0};
    int rc;
    while ((rc = clean_step(s, h.clock.today, &err)) == 1)
        ;
    assert_int_equal(rc, -EBUSY);
    assert_int_equal(clean_step(s, h.clock.today, &err), 0);
    /* A session that waited for the reader would wait until it is told to go, below. */
    assert_true(mono_since_ms(clock_mono(&clock_system), begin) < 30000);
    fputs("COMMIT;\n", reader);
    assert_int_equal(pclose(reader), 0);
    assert_int_equal(days_of_samples("alpha"), 6);
    clean_all(s, (struct wall){h.clock.today.ms + 3600000});
    assert_true(days_of_samples("alpha") < 4);
    store_close(s);
    sim_history_close(&h);
}

static int count_point(void *user, const struct store_point *point)
{
    (void)point;
    ++*(int *)user;
    return 0;
}

static int points_of_minutes(struct store *s, struct wall since, struct wall until)
{
    struct error err = {0};
    int points = 0;
    size_t column = (size_t)series_find(SERIES_GPU, "power_mw");
    const struct store_plot plot = {.series = SERIES_GPU,
                                    .subject = 1,
                                    .since_ms = since.ms,
                                    .until_ms = until.ms,
                                    .step_ms = 60000,
                                    .columns = &column,
                                    .column_count = 1};
    if (store_series(s, &plot, count_point, &points, &err) < 0)
        fail_msg("%s", err.text);
    return points;
}

/* A session has the part of another week locked: one that looked into it would have to wait. */
static void a_question_about_a_week_looks_at_no_other(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_server("alpha");
    h.interval_ms = 30000;
    write_samples(s, &h, 5); /* on a Sunday */
    clock_manual_advance_ms(&h.clock, 3 * 86400000LL);
    struct wall begin = h.clock.today;
    write_samples(s, &h, 2 * 60 * 4);
    FILE *other =
        begin_session("BEGIN; LOCK TABLE minutes_2026_02_23, process_minutes_2026_02_23, energy_2026_02_23, minutes_2026_03_09;\n");
    assert_true(EVENTUALLY(psql_i64("SELECT COUNT(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation IN "
                                    "('minutes_2026_02_23'::regclass, 'minutes_2026_03_09'::regclass)") == 2));
    struct error err = {0};
    struct store_energy energy = {0};
    int points = points_of_minutes(s, begin, (struct wall){begin.ms + 3600000});
    int rc = store_energy_of(s, &(int64_t){1}, 1, begin.ms, begin.ms + 1800000, &energy, &err);
    if (rc == 0)
        write_samples(s, &h, 2 * 60 * 2); /* minutes and hours are summed up */
    fputs("COMMIT;\n", other);
    assert_int_equal(pclose(other), 0);
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_true(points >= 60 && energy.energy_mj > 0);
    store_close(s);
    sim_history_close(&h);
}

static void a_reader_asks_each_week_by_its_name_until_it_is_dropped(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_server("alpha"), *reader = NULL;
    struct error err = {0};
    struct wall since = h.clock.today; /* a Sunday */
    h.interval_ms = 30000;
    write_samples(s, &h, 10);
    clock_manual_advance_ms(&h.clock, 2 * 86400000LL);
    write_samples(s, &h, 20);
    assert_int_equal(store_open_read_only(&test_env, server, &reader, &err), 0);
    int all = points_of_minutes(s, since, h.clock.today);
    assert_int_equal(all, 15);
    assert_int_equal(points_of_minutes(reader, since, h.clock.today), all);
    int64_t named = 0;
    assert_int_equal(db_query_i64(reader->db,
                                  "SELECT COUNT(*) FROM pg_prepared_statements WHERE statement ~ '^SELECT id, samples.* FROM "
                                  "minutes_2026_(02_23|03_02) '",
                                  0, &named, &err),
                     0);
    assert_int_equal(named, 2);
    char answer[64];
    psql("DROP TABLE minutes_2026_02_23", answer, sizeof answer);
    assert_int_equal(points_of_minutes(reader, since, h.clock.today), 10);
    assert_int_equal(store_refresh(reader, &err), 0);
    assert_int_equal(points_of_minutes(reader, since, h.clock.today), 10);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
}

/* Of all tables but the parts of others. Roles are the server's, and may be there from an earlier run. */
static const char parents_only_role[] =
    "DO $$ BEGIN CREATE ROLE parents_only LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;"
    "GRANT USAGE ON SCHEMA public TO parents_only;"
    "DO $$ DECLARE t record; BEGIN FOR t IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace "
    "AND relkind IN ('r', 'p') AND NOT relispartition LOOP EXECUTE 'GRANT SELECT ON ' || t.name || ' TO parents_only'; END LOOP; "
    "END $$;";

static void a_user_without_rights_to_parts_is_answered_by_the_whole_table(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_server("alpha"), *reader = NULL;
    struct error err = {0};
    struct wall since = h.clock.today; /* a Sunday: two weeks, two parts */
    h.interval_ms = 30000;
    write_samples(s, &h, 10);
    clock_manual_advance_ms(&h.clock, 2 * 86400000LL);
    write_samples(s, &h, 20);
    char answer[64], url[512];
    psql(parents_only_role, answer, sizeof answer);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM pg_class WHERE relispartition AND relkind = 'r' AND "
                              "has_table_privilege('parents_only', oid, 'SELECT')"),
                     0);
    const char *rest = strchr(server, '@');
    assert_non_null(rest);
    snprintf(url, sizeof url, "postgresql://parents_only%s", rest);
    if (store_open_read_only(&test_env, url, &reader, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(reader->part_count, 0);
    assert_int_equal(points_of_minutes(reader, since, h.clock.today), 15);
    /* Rights on one part do not speak for the others. */
    psql("GRANT SELECT ON minutes_2026_03_09 TO parents_only", answer, sizeof answer);
    assert_int_equal(store_refresh(reader, &err), 0);
    assert_true(reader->part_count > 0);
    assert_int_equal(points_of_minutes(reader, since, h.clock.today), 15);
    assert_int_equal(store_refresh(reader, &err), 0);
    int rows = 0;
    size_t column = (size_t)series_find(SERIES_GPU, "power_mw");
    const struct store_page page = {
        .since_ms = since.ms, .until_ms = since.ms + 3600000, .gpu_index = -1, .limit = 100, .columns = &column, .column_count = 1};
    if (store_rows(reader, &page, count_row, &rows, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(rows, 10);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
}

static void after_the_clock_was_set_back_no_row_is_dropped_for_its_moment(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=bursty");
    struct store *s = open_server("alpha");
    write_samples(s, &h, 30);
    h.clock.today = HISTORY_BEGIN; /* onto the very moments of rows that are there */
    write_samples(s, &h, 30);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM samples"), 120);
    assert_int_equal(psql_i64("SELECT COUNT(*) FROM host_samples"), 60);
    store_close(s);
    sim_history_close(&h);
}

static void views_are_made_when_tables_change_and_not_at_a_start(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_server("alpha");
    write_samples(s, &h, 3);
    store_close(s);
    char before[64], after[64];
    psql("SELECT xmin FROM pg_class WHERE relname = 'gpu_stats'", before, sizeof before);
    s = open_server("alpha");
    write_samples(s, &h, 3);
    store_close(s);
    psql("SELECT xmin FROM pg_class WHERE relname = 'gpu_stats'", after, sizeof after);
    assert_string_equal(before, after); /* a reader is not in the way of a start */
    sim_history_close(&h);
}

/* Writes a sample whose GPU says only how hot it is, and this. */
static void write_reading(struct store *s, struct sim_history *h, size_t metric)
{
    struct snapshot *next = sim_history_next(h);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (i != metric && i != METRIC_temp_mdegc)
            next->gpus[0].metric[i] = reading_absent(READING_UNSUPPORTED);
    next->gpus[0].metric[metric] = reading_ok(1000);
    write_one(s, next);
    snapshot_unref(next);
}

static void views_have_what_other_hosts_measure(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct pair p;
    pair_open(&p, "gpus=1,scenario=idle", "gpus=1,scenario=idle");
    write_reading(p.first, &p.a, METRIC_power_mw);
    write_reading(p.second, &p.b, METRIC_fan_permille);
    write_reading(p.first, &p.a, METRIC_temp_hotspot_mdegc);
    assert_int_equal(psql_i64("SELECT COUNT(power_watts) FROM gpu_stats"), 1);
    assert_int_equal(psql_i64("SELECT COUNT(fan_percent) FROM gpu_stats"), 1);
    assert_int_equal(psql_i64("SELECT COUNT(temperature_hotspot_celsius) FROM gpu_stats"), 1);
    pair_close(&p);
}

static void a_server_that_is_away_is_told_apart(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct store *s = NULL;
    struct error err = {0};
    const struct store_options options = {
        .env = &test_env, .url = "postgresql://nobody@/x?host=/nonexistent", .host = "", .limits = store_default_limits};
    assert_int_equal(store_open(&options, &s, &err), -ENOTCONN);
    assert_non_null(strstr(err.text, "/nonexistent"));
}

/* Asks what never ends, in a thread of its own. */
struct endless {
    struct store *s;
    int rc;
};

static void *ask_endlessly(void *arg)
{
    struct endless *e = arg;
    struct error err = {0};
    int64_t ignored;
    e->rc = db_query_i64(e->s->db, "SELECT 1 FROM pg_sleep(600)", 0, &ignored, &err);
    return NULL;
}

static void a_question_that_is_cut_off_stops_on_the_server_and_keeps_its_connection(void **state)
{
    NEEDS_EMPTY_SERVER();
    struct store *s = open_server("a"), *reader = NULL;
    struct error err = {0};
    assert_int_equal(store_open_read_only(&test_env, server, &reader, &err), 0);
    static const char asleep[] = "SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'SELECT 1 FROM pg_sleep%' AND state = "
                                 "'active' AND datname = current_database()";
    static _Atomic bool cancel;
    store_set_cancel(reader, &cancel, (struct mono){0});
    struct endless e = {.s = reader};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_endlessly, &e), 0);
    assert_true(EVENTUALLY(psql_i64(asleep) == 1));
    cancel = true;
    pthread_join(thread, NULL);
    assert_int_equal(e.rc, -ECANCELED);
    assert_true(EVENTUALLY(psql_i64(asleep) == 0));
    /* The same connection again, now with little time. */
    store_set_cancel(reader, NULL, (struct mono){clock_mono(&clock_system).ns + 200 * NS_PER_MS});
    ask_endlessly(&e);
    assert_int_equal(e.rc, -ETIME);
    store_set_cancel(reader, NULL, (struct mono){0});
    assert_int_equal(store_refresh(reader, &err), 0);
    store_close(reader);
    store_close(s);
}

int main(void)
{
    server = own_database("whirr_store");
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(rows_are_there_for_psql),
        TEST(hours_of_processes_are_summed_up_on_the_server),
        TEST(two_samples_within_a_millisecond_are_both_kept),
        TEST(many_hosts_share_one_database),
        TEST(one_host_is_asked_about_without_the_others),
        TEST(summaries_are_exact_over_restarts_and_clock_steps),
        TEST(it_answers_like_sqlite),
        TEST(a_reader_keeps_its_statements),
        TEST(days_go_as_whole_tables),
        TEST(one_host_does_not_delete_the_days_of_another),
        TEST(one_host_a_minute_cleans_up_for_all),
        TEST(only_who_cleans_up_reads_what_all_hosts_want),
        TEST(numbers_of_hosts_and_gpus_do_not_run_out),
        TEST(a_reader_does_not_block_writers),
        TEST(a_question_about_a_week_looks_at_no_other),
        TEST(a_reader_asks_each_week_by_its_name_until_it_is_dropped),
        TEST(a_user_without_rights_to_parts_is_answered_by_the_whole_table),
        TEST(after_the_clock_was_set_back_no_row_is_dropped_for_its_moment),
        TEST(views_are_made_when_tables_change_and_not_at_a_start),
        TEST(views_have_what_other_hosts_measure),
        TEST(a_server_that_is_away_is_told_apart),
        TEST(a_question_that_is_cut_off_stops_on_the_server_and_keeps_its_connection),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
