/* SPDX-License-Identifier: Apache-2.0
 * Plots of several subjects at once, in a file and on a PostgreSQL server (WHIRR_TEST_POSTGRES; skipped without).
 */
#include "own_database.h"
#include "sim_history.h"
#include "store/internal.h"
#include "store/query.h"

enum { GPUS = 3, POINTS_MAX = 20000 };

struct drawn {
    struct drawn_point {
        size_t place;
        int64_t at_ms;
        struct aggregate power, util;
    } list[POINTS_MAX];
    size_t count;
};

static int note_point(void *user, const struct store_point *point)
{
    struct drawn *d = user;
    assert_true(d->count < POINTS_MAX);
    d->list[d->count++] = (struct drawn_point){point->place, point->at.ms, point->values[0], point->values[1]};
    return 0;
}

static void draw(struct store *s, const int64_t *subjects, size_t count, int64_t until_ms, int64_t step_ms, struct drawn *ret)
{
    struct error err = {0};
    const size_t columns[] = {(size_t)series_find(SERIES_GPU, "power_mw"), (size_t)series_find(SERIES_GPU, "util_permille")};
    struct store_plot plot = {.series = SERIES_GPU,
                              .since_ms = HISTORY_BEGIN.ms,
                              .until_ms = until_ms,
                              .step_ms = step_ms,
                              .columns = columns,
                              .column_count = ARRAY_LEN(columns)};
    if (count > 1) {
        plot.subjects = subjects;
        plot.subject_count = count;
    } else {
        plot.subject = subjects[0];
    }
    ret->count = 0;
    if (store_series(s, &plot, note_point, ret, &err) != 0)
        fail_msg("%s", err.text);
}

/* In one question the same points come as in one for each, those of each in the same order. */
static void assert_same(struct store *s, int64_t until_ms, int64_t step_ms)
{
    static struct drawn all, one;
    static const int64_t subjects[GPUS] = {3, 1, 2};
    size_t points = 0;
    draw(s, subjects, GPUS, until_ms, step_ms, &all);
    for (size_t place = 0; place < GPUS; place++) {
        size_t next = 0;
        draw(s, &subjects[place], 1, until_ms, step_ms, &one);
        assert_true(one.count > 0);
        points += one.count;
        for (size_t i = 0; i < all.count; i++)
            if (all.list[i].place == place) {
                one.list[next].place = place;
                assert_memory_equal(&all.list[i], &one.list[next++], sizeof one.list[0]);
            }
        assert_int_equal(next, one.count);
    }
    assert_int_equal(all.count, points);
}

static void check_all_steps(struct store *s, int64_t until_ms)
{
    static const int64_t steps_ms[] = {10000, 60000, 300000, 3600000, 30 * 86400000LL};
    for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++)
        assert_same(s, until_ms, steps_ms[i]);
}

/* Two weeks, each of which a server has in a part of its own; the last minute and hour are not over. */
static void check_store(const char *url)
{
    struct sim_history h;
    struct store *s = NULL, *reader = NULL;
    struct error err = {0};
    const struct store_options options = {.env = &test_env, .url = url, .host = "box", .limits = store_default_limits};
    sim_history_open(&h, "gpus=3,scenario=multi-user");
    if (store_open(&options, &s, &err) != 0)
        fail_msg("%s", err.text);
    h.interval_ms = 20000;
    write_samples(s, &h, 3 * 70);
    clock_manual_advance_ms(&h.clock, 3 * 86400000LL);
    write_samples(s, &h, 3 * 130 + 1);
    /* One of them has to be summed up anew, in the middle of the time. */
    if (db_execf(s->db, &err, "INSERT INTO pending (series, level, subject, bucket) VALUES (0, 1, 2, %lld)",
                 (long long)(HISTORY_BEGIN.ms / 60000 + 30)) < 0)
        fail_msg("%s", err.text);
    check_all_steps(s, h.clock.today.ms);
    if (store_open_read_only(&test_env, url, &reader, &err) != 0)
        fail_msg("%s", err.text);
    check_all_steps(reader, h.clock.today.ms);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
}

static void several_gpus_of_a_file_are_drawn_as_each_by_itself(void **state)
{
    (void)state;
    check_store(store_url("series.db"));
}

static void several_gpus_of_a_server_are_drawn_as_each_by_itself(void **state)
{
    (void)state;
    const char *server = own_database("whirr_series");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    check_store(server);
}

static void energy_of_several_gpus_is_that_of_each(void **state)
{
    (void)state;
    static const int64_t ids[GPUS + 1] = {2, 77, 3, 1};
    struct store_energy all[2][GPUS + 1], one;
    struct sim_history h;
    struct error err = {0};
    sim_history_open(&h, "gpus=3,scenario=multi-user");
    h.interval_ms = 20000;
    struct store *s = open_store("energy.db");
    write_samples(s, &h, 3 * 70);
    /* Of a short time it comes from minutes, of a long one that of the first hour from its sum. Nothing was used later. */
    const int64_t ends_ms[2] = {h.clock.today.ms, HISTORY_BEGIN.ms + 20 * 86400000LL};
    for (size_t end = 0; end < ARRAY_LEN(ends_ms); end++) {
        assert_int_equal(store_energy_of(s, ids, ARRAY_LEN(ids), HISTORY_BEGIN.ms, ends_ms[end], all[end], &err), 0);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
            assert_int_equal(store_energy_of(s, &ids[i], 1, HISTORY_BEGIN.ms, ends_ms[end], &one, &err), 0);
            assert_memory_equal(&all[end][i], &one, sizeof one);
            assert_int_equal(one.energy_mj > 0, ids[i] <= GPUS);
        }
    }
    assert_memory_equal(all[1], all[0], sizeof all[0]);
    store_close(s);
    sim_history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(several_gpus_of_a_file_are_drawn_as_each_by_itself),
        TEST(several_gpus_of_a_server_are_drawn_as_each_by_itself),
        TEST(energy_of_several_gpus_is_that_of_each),
    };
    make_store_folder();
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
