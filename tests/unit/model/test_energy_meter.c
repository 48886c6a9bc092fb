/* SPDX-License-Identifier: Apache-2.0
 * Energy from power readings and the counter of a card.
 */
#include "model/energy.h"

#include "test.h"

enum { GAP_MS = 60000 };

static struct energy_meter meter;
static struct energy_sample at;

static int begin(void **state)
{
    (void)state;
    meter = (struct energy_meter){0};
    at = (struct energy_sample){.at = {NS_PER_S}, .wall = {1000000}, .power_mw = reading_ok(100000)};
    return 0;
}

static struct energy_used step(int64_t ms)
{
    at.at.ns += ms * NS_PER_MS;
    at.wall.ms += ms;
    return energy_step(&meter, &at, GAP_MS);
}

static void the_first_sample_has_used_nothing(void **state)
{
    (void)state;
    assert_int_equal(step(0).mj, 0);
}

static void power_is_the_mean_of_two_samples(void **state)
{
    (void)state;
    step(0);
    at.power_mw = reading_ok(300000);
    struct energy_used used = step(10000);
    assert_int_equal(used.mj, 2000000); /* 200 W for 10 s */
    assert_int_equal(used.ms, 10000);
    assert_int_equal(used.evidence, ENERGY_FROM_POWER);
}

static void a_pause_without_a_counter_counts_for_nothing(void **state)
{
    (void)state;
    step(0);
    struct energy_used used = step(GAP_MS + 1);
    assert_int_equal(used.mj, 0);
    assert_int_equal(used.unwatched_mj, 0);
    assert_int_equal(step(1000).mj, 100000);
}

static void a_pause_is_bridged_by_the_counter(void **state)
{
    (void)state;
    at.counter_mj = reading_ok(5000000);
    step(0);
    at.counter_mj = reading_ok(5000000 + 30000000);
    struct energy_used used = step(300000);
    assert_int_equal(used.mj + used.unwatched_mj, 30000000);
    assert_true(used.unwatched_mj > 0);
    assert_int_equal(used.evidence, ENERGY_COUNTED);
    assert_int_equal(used.unwatched_to.ms - used.unwatched_from.ms, 300000);
}

static void a_counter_that_begins_anew_takes_nothing_back(void **state)
{
    (void)state;
    at.counter_mj = reading_ok(5000000);
    step(0);
    at.counter_mj = reading_ok(10);
    assert_true(step(1000).mj >= 0);
    assert_true(step(1000).mj >= 0);
}

static void a_missing_reading_is_not_zero_watts(void **state)
{
    (void)state;
    step(0);
    at.power_mw = reading_absent(READING_FAILED);
    assert_int_equal(step(1000).mj, 100000); /* the reading that there is */
    assert_int_equal(step(1000).mj, 0);
}

static void a_part_of_a_span_has_its_part_of_the_energy(void **state)
{
    (void)state;
    assert_int_equal(energy_upto(1000, 250, 1000), 250);
    assert_int_equal(energy_upto(1000, 2000, 1000), 1000);
    assert_int_equal(energy_upto(1000, 0, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_sample_has_used_nothing, begin),
        cmocka_unit_test_setup(power_is_the_mean_of_two_samples, begin),
        cmocka_unit_test_setup(a_pause_without_a_counter_counts_for_nothing, begin),
        cmocka_unit_test_setup(a_pause_is_bridged_by_the_counter, begin),
        cmocka_unit_test_setup(a_counter_that_begins_anew_takes_nothing_back, begin),
        cmocka_unit_test_setup(a_missing_reading_is_not_zero_watts, begin),
        cmocka_unit_test_setup(a_part_of_a_span_has_its_part_of_the_energy, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
