/* SPDX-License-Identifier: Apache-2.0
 * Reading back: pages that stay stable, plots from any level that agree with the samples, runs, events.
 */
#include <errno.h>

#include "base/buf.h"
#include "sql.h"
#include "store/internal.h"
#include "store/query.h"

enum { DAY_SAMPLES = 17280 };

static size_t column(const char *name)
{
    int found = series_find(SERIES_GPU, name);
    assert_true(found >= 0);
    return (size_t)found;
}

struct seen {
    size_t count;
    int64_t first, last, cursor;
    int64_t keys[512];
    double sum, min, max;
    int64_t samples;
    int64_t steps[512];
};

static int see_row(void *user, const struct store_row *row)
{
    struct seen *seen = user;
    if (seen->count < ARRAY_LEN(seen->keys))
        seen->keys[seen->count] = row->cursor;
    seen->count++;
    seen->cursor = row->cursor;
    assert_non_null(row->gpu);
    return 0;
}

static void pages_are_stable_while_rows_are_added(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=3,scenario=idle");
    struct store *s = open_store("pages.db");
    write_samples(s, &h, 40);
    struct store *reader = NULL;
    struct error err;
    assert_int_equal(store_open_read_only(&test_env, store_url("pages.db"), &reader, &err), 0);
    size_t columns[] = {column("power_watts")};
    struct store_page page = {.since_ms = HISTORY_BEGIN.ms,
                              .until_ms = HISTORY_BEGIN.ms + 86400000,
                              .gpu_index = -1,
                              .limit = 17,
                              .columns = columns,
                              .column_count = 1};
    struct seen all = {0};
    for (size_t before = SIZE_MAX; before != all.count;) {
        before = all.count;
        assert_int_equal(store_rows(reader, &page, see_row, &all, &err), 0);
        page.cursor = all.cursor;
        if (all.count == 51)
            write_samples(s, &h, 10); /* while a client reads page after page */
    }
    assert_int_equal(all.count, 150);
    for (size_t i = 1; i < all.count; i++)
        assert_true(all.keys[i] > all.keys[i - 1]);
    page.cursor = 0;
    page.gpu_index = 1;
    page.limit = 1000;
    struct seen one = {0};
    assert_int_equal(store_rows(reader, &page, see_row, &one, &err), 0);
    assert_int_equal(one.count, 50);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
}

static int see_point(void *user, const struct store_point *point)
{
    struct seen *seen = user;
    if (seen->count < ARRAY_LEN(seen->steps))
        seen->steps[seen->count] = point->at.ms;
    if (seen->count++ == 0)
        seen->first = point->at.ms;
    seen->last = point->at.ms;
    const struct aggregate *a = &point->values[0];
    seen->samples += a->count;
    seen->sum += (double)a->sum;
    seen->max = MAX_OF(seen->max, (double)a->max);
    return 0;
}

static void a_plot_says_the_same_from_every_level(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=bursty");
    struct store *s = open_store("plots.db");
    write_samples(s, &h, 3 * 720 + 100); /* three hours and a piece: there are pending minutes and hours */
    size_t columns[] = {column("power_watts"), column("fan_rpm")};
    const int64_t steps[] = {5000, 60000, 300000, 3600000, 7200000};
    struct error err;
    double expected = sql_double("plots.db", "SELECT SUM(power_mw) FROM samples WHERE (id & 16383) = 1");
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct store_plot plot = {.series = SERIES_GPU,
                                  .subject = 1,
                                  .since_ms = HISTORY_BEGIN.ms,
                                  .until_ms = h.clock.today.ms,
                                  .step_ms = steps[i],
                                  .columns = columns,
                                  .column_count = 2};
        struct seen seen = {0};
        assert_int_equal(store_series(s, &plot, see_point, &seen, &err), 0);
        assert_true(seen.sum > expected - 0.5 && seen.sum < expected + 0.5);
        assert_int_equal(seen.samples, 3 * 720 + 100);
        assert_int_equal(seen.first, HISTORY_BEGIN.ms);
        int64_t span = h.clock.today.ms - HISTORY_BEGIN.ms;
        assert_int_equal(seen.count, (size_t)((span + steps[i] - 1) / steps[i]));
        for (size_t k = 1; k < MIN_OF(seen.count, ARRAY_LEN(seen.steps)); k++)
            assert_int_equal(seen.steps[k] - seen.steps[k - 1], steps[i]);
    }
    store_close(s);
    sim_history_close(&h);
}

static void any_range_has_at_most_a_few_thousand_points(void **state)
{
    (void)state;
    struct store *s = open_store("plan.db");
    const struct {
        int64_t span_ms;
        enum level level;
    } cases[] = {{600000, LEVEL_RAW},           {3600000, LEVEL_RAW},
                 {86400000, LEVEL_MINUTE},      {7 * 86400000LL, LEVEL_MINUTE},
                 {90 * 86400000LL, LEVEL_HOUR}, {3650 * 86400000LL, LEVEL_HOUR}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_plot plot = {.since_ms = HISTORY_BEGIN.ms, .until_ms = HISTORY_BEGIN.ms + cases[i].span_ms};
        int64_t step;
        enum level level;
        store_plan(s, &plot, &step, &level);
        assert_true(cases[i].span_ms / step <= QUERY_POINTS_DEFAULT);
        assert_true(step == 1000 || cases[i].span_ms / step > QUERY_POINTS_DEFAULT / 8);
        assert_int_equal(level, cases[i].level);
        plot.step_ms = 1;
        store_plan(s, &plot, &step, &level);
        assert_true(cases[i].span_ms / step <= QUERY_POINTS_MAX);
    }
    store_close(s);
}

static int see_run(void *user, const struct store_process_run *run)
{
    struct seen *seen = user;
    seen->count++;
    seen->samples += run->samples;
    seen->sum += (double)run->energy_mj;
    assert_true(run->process.pid > 0);
    assert_true(run->process.name[0]);
    return 0;
}

static void who_used_the_card_at_a_moment(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=4,scenario=multi-user");
    struct store *s = open_store("who.db");
    write_samples(s, &h, 720);
    struct error err;
    struct seen whole = {0}, minute = {0}, none = {0};
    struct store_span span = {.since_ms = HISTORY_BEGIN.ms, .until_ms = h.clock.today.ms, .limit = 100};
    assert_int_equal(store_process_runs(s, &span, see_run, &whole, &err), 0);
    assert_true(whole.count >= 2);
    span = (struct store_span){
        .since_ms = HISTORY_BEGIN.ms + 1800000, .until_ms = HISTORY_BEGIN.ms + 1800001, .within = true, .limit = 100};
    assert_int_equal(store_process_runs(s, &span, see_run, &minute, &err), 0);
    assert_true(minute.count >= 2 && minute.count <= whole.count);
    assert_int_equal(minute.samples, 12 * (int64_t)minute.count);
    assert_true(minute.samples < whole.samples / 10);
    span.since_ms -= 86400000;
    span.until_ms -= 86400000;
    assert_int_equal(store_process_runs(s, &span, see_run, &none, &err), 0);
    assert_int_equal(none.count, 0);
    struct store_energy energy;
    assert_int_equal(store_energy_of(s, &(int64_t){1}, 1, HISTORY_BEGIN.ms, h.clock.today.ms, &energy, &err), 0);
    assert_true(energy.energy_mj > 0 && energy.counter_mj > 0);
    store_close(s);
    sim_history_close(&h);
}

static int see_comfy(void *user, const struct store_process_run *run)
{
    struct seen *seen = user;
    seen->count += strcmp(run->process.title, "ComfyUI") == 0;
    return 0;
}

/* A working directory, which says that a main.py is ComfyUI, is known only while the process runs. */
static void what_people_call_a_process_is_kept(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_store("title.db");
    write_samples(s, &h, 20);
    assert_true(sql_i64("title.db", "SELECT COUNT(*) FROM processes WHERE title = 'train.py'") > 0);
    sql_run("title.db", "UPDATE processes SET title = 'ComfyUI'");
    struct seen seen = {0};
    struct store_span span = {.since_ms = HISTORY_BEGIN.ms, .until_ms = h.clock.today.ms, .limit = 100};
    struct error err;
    assert_int_equal(store_process_runs(s, &span, see_comfy, &seen, &err), 0);
    assert_true(seen.count > 0);
    store_close(s);
    sim_history_close(&h);
}

static int see_event(void *user, const struct store_event_row *event)
{
    struct seen *seen = user;
    seen->count++;
    seen->cursor = event->cursor;
    assert_string_equal(event->host, "box");
    assert_string_equal(event->kind, "alert");
    return 0;
}

static void events_come_page_by_page(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("eventpages.db");
    write_samples(s, &h, 1);
    struct error err;
    for (int i = 0; i < 10; i++) {
        struct store_event e = {.at = {HISTORY_BEGIN.ms + i},
                                .gpu_index = i % 2 ? 0 : -1,
                                .kind = i % 5 ? "alert" : "guard",
                                .severity = "info",
                                .text = "x"};
        assert_int_equal(store_write(s, NULL, 0, &e, 1, &err), 0);
    }
    struct store_event_page page = {.kind = "alert", .since_ms = 0, .until_ms = INT64_MAX, .limit = 3};
    struct seen seen = {0};
    for (size_t before = SIZE_MAX; before != seen.count; page.cursor = seen.cursor) {
        before = seen.count;
        assert_int_equal(store_events(s, &page, see_event, &seen, &err), 0);
    }
    assert_int_equal(seen.count, 8);
    store_close(s);
    sim_history_close(&h);
}

static void a_card_is_found_by_index_uuid_or_place(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=3,scenario=idle");
    struct store *s = open_store("find.db");
    write_samples(s, &h, 1);
    struct store_gpu gpu;
    struct error err;
    assert_int_equal(store_find_gpu(s, "box", "1", &gpu, &err), 0);
    assert_string_equal(gpu.identity.uuid, h.ids[1].uuid);
    assert_int_equal(store_find_gpu(s, NULL, h.ids[2].uuid, &gpu, &err), 0);
    assert_int_equal(gpu.index, 2);
    assert_int_equal(store_find_gpu(s, NULL, h.ids[0].pci_address, &gpu, &err), 0);
    assert_int_equal(gpu.index, 0);
    assert_int_equal(store_find_gpu(s, NULL, "7", &gpu, &err), -ENODEV);
    assert_int_equal(store_find_gpu(s, "other", "0", &gpu, &err), -ENODEV);
    store_close(s);
    sim_history_close(&h);
}

/* A reader asks the same with other numbers, hundreds of times. */
static void a_statement_is_kept_for_the_next_question(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    struct store *s = open_store("kept.db"), *reader = NULL;
    struct db_statement *q = NULL, *other = NULL;
    struct error err = {0};
    write_samples(s, &h, 1);
    assert_int_equal(store_open_read_only(&test_env, store_url("kept.db"), &reader, &err), 0);
    assert_int_equal(db_prepare(reader->db, "SELECT $1", &q, &err), 0);
    db_bind_i64(q, 1, 7);
    assert_int_equal(db_step(q, &err), 1);
    assert_int_equal(db_i64(q, 0), 7);
    const struct db_statement *first = q;
    /* One that is in use is not handed out again. */
    assert_int_equal(db_prepare(reader->db, "SELECT $1", &other, &err), 0);
    assert_ptr_not_equal(other, first);
    db_finish(&other);
    db_finish(&q);
    assert_int_equal(db_prepare(reader->db, "SELECT $1", &q, &err), 0);
    assert_ptr_equal(q, first);
    /* Nothing is left of what was asked before. */
    assert_int_equal(db_step(q, &err), 1);
    assert_true(db_is_null(q, 0));
    db_finish(&q);
    /* As many as are worth it, those of last. */
    for (int i = 0; i < 2 * DB_SPARE_MAX; i++) {
        char sql[32];
        snprintf(sql, sizeof sql, "SELECT %d", i);
        assert_int_equal(db_prepare(reader->db, sql, &q, &err), 0);
        db_finish(&q);
    }
    assert_int_equal(reader->db->spare_count, DB_SPARE_MAX);
    /* One that failed may fail for ever. */
    assert_int_equal(db_prepare(reader->db, "SELECT abs(-9223372036854775807 - 1)", &q, &err), 0);
    first = q;
    assert_true(db_step(q, &err) < 0);
    db_finish(&q);
    for (size_t i = 0; i < reader->db->spare_count; i++)
        assert_ptr_not_equal(reader->db->spare[i], first);
    /* The writer has its own. */
    assert_int_equal(db_prepare(s->db, "SELECT 1", &q, &err), 0);
    db_finish(&q);
    assert_int_equal(s->db->spare_count, 0);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
}

static int skip_worker(void *user, const struct store_worker *worker)
{
    (void)user, (void)worker;
    return 0;
}

/* Of months that begin and end with an hour, hours were read once for each process: half a minute for three months. */
static void hours_are_not_read_once_for_each_process(void **state)
{
    (void)state;
    enum { HOUR = 3600000 };
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=training");
    struct store *s = open_store("workers.db"), *reader = NULL;
    struct error err = {0};
    write_samples(s, &h, 10);
    assert_int_equal(store_open_read_only(&test_env, store_url("workers.db"), &reader, &err), 0);
    int64_t until = h.clock.today.ms / HOUR * HOUR;
    const struct store_workers query = {
        .host = "box", .since_ms = until - 100 * 24LL * HOUR, .until_ms = until, .step_ms = 2 * HOUR, .by_program = true};
    assert_int_equal(store_workers(reader, &query, skip_worker, NULL, &err), 0);
    /* What was asked last is kept last. */
    struct db_statement *plan = NULL;
    AUTO_BUF struct buf sql = BUF(1 << 16);
    buf_printf(&sql, "EXPLAIN QUERY PLAN %s", reader->db->spare[reader->db->spare_count - 1]->sql);
    assert_non_null(strstr(sql.at, "process_hours"));
    assert_int_equal(db_prepare(reader->db, sql.at, &plan, &err), 0);
    bool indexed = false;
    while (db_step(plan, &err) == 1)
        indexed |= str_contains(db_text(plan, 3), "USING AUTOMATIC");
    assert_true(indexed);
    db_finish(&plan);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(a_statement_is_kept_for_the_next_question),   TEST(hours_are_not_read_once_for_each_process),
        TEST(pages_are_stable_while_rows_are_added),       TEST(a_plot_says_the_same_from_every_level),
        TEST(any_range_has_at_most_a_few_thousand_points), TEST(who_used_the_card_at_a_moment),
        TEST(what_people_call_a_process_is_kept),          TEST(events_come_page_by_page),
        TEST(a_card_is_found_by_index_uuid_or_place),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
