/* SPDX-License-Identifier: Apache-2.0
 * A moment of the past as the engine would have shown it.
 */
#include "past/explain.h"

#include <errno.h>

#include "store/internal.h"
#include "store/sim_history.h"

static void a_moment_of_the_past_comes_back_as_a_snapshot(void **state)
{
    (void)state;
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=multi-user");
    struct store *s = open_store("past.db");
    write_samples(s, &h, 300);
    struct snapshot *then = sim_history_next(&h);
    gpu_set_property(&then->gpus[0], PROPERTY_driver_version, "1.2.3");
    write_one(s, then);
    write_samples(s, &h, 300);
    struct error err = {0};
    struct recent recent;
    enum level level;
    struct snapshot *past = NULL;
    struct wall at = {then->taken_at.ms + 2000};
    assert_int_equal(store_past(s, "box", at, 0, &past, &recent, &level, &err), 0);
    assert_int_equal(past->gpu_count, 2);
    assert_int_equal(past->taken_at.ms, then->taken_at.ms);
    for (size_t g = 0; g < 2; g++) {
        assert_string_equal(past->gpus[g].id.uuid, then->gpus[g].id.uuid);
        assert_int_equal(past->gpus[g].power_mw.value, then->gpus[g].power_mw.value);
        assert_int_equal(past->gpus[g].throttle_bits.value, then->gpus[g].throttle_bits.value);
        assert_int_equal(past->gpus[g].process_count, then->gpus[g].process_count);
        assert_int_equal(past->gpus[g].power_limit_max_mw.value, then->gpus[g].power_limit_max_mw.value);
        assert_true(recent.gpus[g].count > 100);
    }
    assert_string_equal(past->gpus[0].driver_version.value, "1.2.3");
    snapshot_unref(past);
    recent_done(&recent);

    /* Just before whirr was started again there was nothing, although that minute has a mean. */
    clock_manual_advance_ms(&h.clock, 1230 * MS_PER_S);
    struct wall resumed = h.clock.today;
    write_samples(s, &h, 60);
    assert_int_equal(store_past(s, "box", (struct wall){resumed.ms - 2000}, 0, &past, &recent, &level, &err), -ENODATA);

    /* From minutes, when the samples are gone. */
    struct store_limits limits = store_default_limits;
    limits.raw_ms = 60000;
    store_set_limits(s, &limits);
    while (clean_step(s, h.clock.today, &err) == 1)
        ;
    assert_int_equal(store_past(s, "box", at, 0, &past, &recent, &level, &err), 0);
    assert_int_equal(past->gpu_count, 2);
    assert_true(past->gpus[0].power_mw.state == READING_OK && past->gpus[0].clock_memory_khz.state == READING_OK);
    assert_int_equal(past->gpus[0].process_count, then->gpus[0].process_count);
    assert_int_equal(recent.gpus[0].count, 11);
    snapshot_unref(past);
    recent_done(&recent);
    at.ms -= 86400000;
    assert_int_equal(store_past(s, "box", at, 0, &past, &recent, &level, &err), -ENODATA);
    snapshot_unref(then);
    store_close(s);
    sim_history_close(&h);
}

static const struct db_ops *counted_ops;
static int questions;

static void count_question(struct db_statement *s)
{
    questions++;
    counted_ops->recycle(s);
}

/* Questions for a moment of one GPU of so many. */
static int questions_about(const char *params, const char *file)
{
    struct sim_history h;
    struct error err = {0};
    struct recent recent;
    enum level level;
    struct store *reader = NULL;
    struct snapshot *past = NULL;
    sim_history_open(&h, params);
    struct store *s = open_store(file);
    write_samples(s, &h, 30);
    assert_int_equal(store_open_read_only(&test_env, store_url(file), &reader, &err), 0);
    struct db_ops ops = *reader->db->ops;
    counted_ops = reader->db->ops;
    ops.recycle = count_question;
    reader->db->ops = &ops;
    questions = 0;
    assert_int_equal(store_past(reader, "box", (struct wall){h.clock.today.ms - 10000}, 1, &past, &recent, &level, &err), 0);
    reader->db->ops = counted_ops;
    snapshot_unref(past);
    recent_done(&recent);
    store_close(reader);
    store_close(s);
    sim_history_close(&h);
    return questions;
}

/* A year has hundreds of moments to explain, and a server takes longer to take a question than to answer it. */
static void more_gpus_are_no_more_questions(void **state)
{
    (void)state;
    int of_one = questions_about("gpus=1,scenario=training", "one.db"),
        of_many = questions_about("gpus=8,scenario=training", "many.db");
    assert_int_equal(of_one, of_many);
    assert_in_range(of_many, 1, 8);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(a_moment_of_the_past_comes_back_as_a_snapshot),
        TEST(more_gpus_are_no_more_questions),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
