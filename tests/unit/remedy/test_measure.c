/* SPDX-License-Identifier: Apache-2.0
 * Doing a remedy, sample by sample: kept, taken back, tried, and honest about what can't be told.
 */
#include "remedy/measure.h"

#include <errno.h>

#include "test.h"

struct bench {
    struct remedy_doing doing;
    struct gpu gpu;
    struct wall now;
    int changes, ends;
};

static void reset(struct bench *b)
{
    *b = (struct bench){.now.ms = 1700000000000};
    b->doing.measure_ms = 12000;
    b->doing.remedy.code = REMEDY_QUIET;
    b->gpu.power_mw = reading_ok(448000);
    b->gpu.fan_permille = reading_ok(880);
    b->gpu.clock_graphics_khz = reading_ok(1870000);
    b->gpu.util_permille = reading_ok(980);
    b->gpu.power_limit_mw = reading_ok(450000);
    doing_start(&b->doing, b->now);
}

/* Samples until the phase ends. */
static void measure(struct bench *b)
{
    enum doing_phase phase = b->doing.phase;
    for (int i = 0; i < 100 && b->doing.phase == phase; i++) {
        b->now.ms += 1000;
        doing_sample(&b->doing, &b->gpu, b->now);
    }
    assert_int_not_equal(b->doing.phase, phase);
}

static void quieter(struct bench *b)
{
    assert_int_equal(b->doing.phase, DOING_BEGIN);
    b->gpu.power_mw = reading_ok(331000);
    b->gpu.fan_permille = reading_ok(670);
    b->gpu.clock_graphics_khz = reading_ok(1770000);
    b->gpu.power_limit_mw = reading_ok(330000);
    doing_began(&b->doing, 0, NULL, b->now);
}

static void what_works_is_kept_and_becomes_a_step(void **state)
{
    struct bench b;
    struct effect e;
    (void)state;
    reset(&b);
    measure(&b);
    quieter(&b);
    measure(&b);
    assert_int_equal(b.doing.phase, DOING_OVER);
    assert_true(b.doing.kept);
    assert_int_equal(b.doing.outcome, DOING_MEASURED);
    assert_string_equal(b.doing.text, "Measured: 117 W less, 21% fan less, 5% slower.");
    assert_true(doing_effect(&b.doing, b.now, &e));
    assert_int_equal(e.after.power_mw.value, 331000);
}

static void two_samples_are_enough_where_they_are_rare(void **state)
{
    struct bench b;
    (void)state;
    reset(&b);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(b.doing.phase, DOING_BEFORE);
        b.now.ms += 10000;
        doing_sample(&b.doing, &b.gpu, b.now);
    }
    assert_int_equal(b.doing.phase, DOING_BEGIN);
}

static void what_was_expected_is_compared(void **state)
{
    struct bench b;
    (void)state;
    for (int off = 0; off < 2; off++) {
        reset(&b);
        b.doing.remedy.source = EXPECTED_OWN_HISTORY;
        b.doing.remedy.expected = (struct remedy_values){.power_mw = reading_ok(off ? -60000 : -110000)};
        measure(&b);
        quieter(&b);
        measure(&b);
        assert_int_equal(b.doing.outcome, off ? DOING_UNEXPECTED : DOING_AS_EXPECTED);
    }
}

static void what_does_nothing_is_taken_back(void **state)
{
    struct bench b;
    (void)state;
    reset(&b);
    measure(&b);
    doing_began(&b.doing, 0, NULL, b.now);
    measure(&b);
    assert_int_equal(b.doing.outcome, DOING_NO_EFFECT);
    assert_int_equal(b.doing.phase, DOING_END);
    doing_ended(&b.doing, 0, NULL, b.now);
    assert_int_equal(b.doing.phase, DOING_OVER);
    assert_false(b.doing.kept);
}

static void a_load_or_a_limit_that_changes_meanwhile_tells_nothing(void **state)
{
    struct bench b;
    struct effect e;
    (void)state;
    reset(&b);
    measure(&b);
    quieter(&b);
    b.gpu.util_permille = reading_ok(600);
    measure(&b);
    assert_int_equal(b.doing.outcome, DOING_UNCLEAR);
    assert_string_equal(b.doing.text, "Can't tell what it did: the load changed by 38%.");
    assert_false(doing_effect(&b.doing, b.now, &e));
    reset(&b);
    measure(&b);
    quieter(&b);
    for (int i = 0; b.doing.phase == DOING_AFTER && i < 100; i++) {
        b.now.ms += 1000;
        b.gpu.power_limit_mw = reading_ok(i > 9 ? 200000 : 330000);
        doing_sample(&b.doing, &b.gpu, b.now);
    }
    assert_int_equal(b.doing.outcome, DOING_UNCLEAR);
    assert_int_equal(b.doing.phase, DOING_END); /* whose limit it is now, the lease decides */
}

static void keep_if_decides(void **state)
{
    struct bench b;
    (void)state;
    for (int holds = 0; holds < 2; holds++) {
        reset(&b);
        b.doing.has_keep_if = true;
        assert_true(keep_if_parse(holds ? "fan < 70%" : "power < 300 W", &b.doing.keep_if));
        measure(&b);
        quieter(&b);
        measure(&b);
        assert_int_equal(b.doing.phase, holds ? DOING_OVER : DOING_END);
    }
    assert_false(keep_if_parse("fan", &b.doing.keep_if));
    assert_false(keep_if_parse("noise < 3", &b.doing.keep_if));
}

static void a_try_counts_only_what_going_back_undoes(void **state)
{
    struct bench b;
    (void)state;
    for (int undoes = 0; undoes < 2; undoes++) {
        reset(&b);
        b.doing.trying = true;
        measure(&b);
        quieter(&b);
        measure(&b);
        assert_int_equal(b.doing.phase, DOING_END);
        doing_ended(&b.doing, 0, NULL, b.now);
        assert_int_equal(b.doing.phase, DOING_AGAIN);
        if (undoes)
            b.gpu.power_mw = reading_ok(446000);
        measure(&b);
        assert_int_equal(b.doing.outcome, undoes ? DOING_MEASURED : DOING_UNCLEAR);
        assert_false(b.doing.kept);
    }
}

static void what_fails_in_the_middle_is_put_back(void **state)
{
    struct bench b;
    const struct error err = {.code = -EACCES, .text = "the helper refuses"};
    (void)state;
    reset(&b);
    measure(&b);
    doing_began(&b.doing, -EACCES, &err, b.now);
    assert_int_equal(b.doing.phase, DOING_OVER);
    assert_string_equal(b.doing.text, "the helper refuses");
    reset(&b);
    measure(&b);
    quieter(&b);
    doing_sample(&b.doing, NULL, b.now); /* the GPU is lost */
    assert_int_equal(b.doing.phase, DOING_END);
    assert_int_equal(b.doing.outcome, DOING_FAILED);
    reset(&b);
    measure(&b);
    quieter(&b);
    doing_undone(&b.doing);
    assert_int_equal(b.doing.phase, DOING_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_works_is_kept_and_becomes_a_step),
        cmocka_unit_test(two_samples_are_enough_where_they_are_rare),
        cmocka_unit_test(what_was_expected_is_compared),
        cmocka_unit_test(what_does_nothing_is_taken_back),
        cmocka_unit_test(a_load_or_a_limit_that_changes_meanwhile_tells_nothing),
        cmocka_unit_test(keep_if_decides),
        cmocka_unit_test(a_try_counts_only_what_going_back_undoes),
        cmocka_unit_test(what_fails_in_the_middle_is_put_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
