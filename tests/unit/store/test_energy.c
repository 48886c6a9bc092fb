/* SPDX-License-Identifier: Apache-2.0 */
#include "model/energy.h"

#include "base/cleanup.h"

#include "test.h"

enum { GAP_MS = 60000 };

static struct energy_used used;

static int64_t step(struct energy_meter *m, int64_t at_ms, int64_t power_mw, int64_t counter_mj, enum energy_evidence *evidence)
{
    const struct energy_sample now = {.at = {at_ms * NS_PER_MS},
                                      .wall = {1000000 + at_ms},
                                      .power_mw = power_mw < 0 ? reading_absent(READING_UNSUPPORTED) : reading_ok(power_mw),
                                      .counter_mj = counter_mj < 0 ? reading_absent(READING_UNSUPPORTED) : reading_ok(counter_mj)};
    used = energy_step(m, &now, GAP_MS);
    *evidence = used.evidence;
    return used.mj;
}

static void without_a_counter_power_is_integrated(void **state)
{
    (void)state;
    struct energy_meter m = {0};
    enum energy_evidence evidence;
    assert_int_equal(step(&m, 0, 100000, -1, &evidence), 0);
    assert_int_equal(step(&m, 5000, 100000, -1, &evidence), 500000); /* 100 W for 5 s are 500 J */
    assert_int_equal(step(&m, 10000, 200000, -1, &evidence), 750000);
    assert_int_equal(evidence, ENERGY_FROM_POWER);
    assert_int_equal(step(&m, 15000, -1, -1, &evidence), 1000000); /* one reading of the two is enough */
    assert_int_equal(step(&m, 20000, -1, -1, &evidence), 0);
}

static void the_sum_follows_the_counter(void **state)
{
    (void)state;
    struct energy_meter m = {0};
    enum energy_evidence evidence, most = ENERGY_FROM_POWER;
    int64_t sum = 0;
    /* The power reading is 10 % off; the counter is read every sixth time. */
    for (int64_t i = 0; i <= 60; i++) {
        sum += step(&m, i * 5000, 110000, 7000000 + i / 6 * 3000000, &evidence);
        most = MAX_OF(most, evidence);
    }
    assert_int_equal(most, ENERGY_COUNTED);
    assert_int_equal(sum, 30000000); /* 100 W for 300 s */
}

static void what_was_too_much_is_taken_off_later_and_never_negative(void **state)
{
    (void)state;
    struct energy_meter m = {0};
    enum energy_evidence evidence;
    int64_t sum = step(&m, 0, 100000, 0, &evidence);
    for (int64_t i = 1; i <= 6; i++)
        sum += step(&m, i * 5000, 100000, 0, &evidence);
    assert_int_equal(sum, 3000000);
    assert_int_equal(step(&m, 35000, 100000, 1000000, &evidence), 0); /* the card says it was a third */
    sum = 3000000;
    for (int64_t i = 8; i <= 200; i++)
        sum += step(&m, i * 5000, 100000, 1000000 + (i - 7) * 500000, &evidence);
    assert_int_equal(sum, 1000000 + 193 * 500000);
}

static void a_pause_is_bridged_by_the_counter_or_not_at_all(void **state)
{
    (void)state;
    struct energy_meter m = {0};
    enum energy_evidence evidence;
    step(&m, 0, 100000, -1, &evidence);
    assert_int_equal(step(&m, 3600000, 100000, -1, &evidence), 0);
    m = (struct energy_meter){0};
    step(&m, 0, 100000, 5000, &evidence);
    assert_int_equal(step(&m, 3600000, 100000, 9000, &evidence), 0); /* for the processes that are there now */
    assert_int_equal(used.unwatched_mj, 4000);
    assert_int_equal(used.unwatched_from.ms, 1000000);
    assert_int_equal(used.unwatched_to.ms, 4600000);
}

/* The clock of a suspended machine stands still; the time of day and the counter do not. */
static void a_suspend_is_a_time_that_was_not_watched(void **state)
{
    (void)state;
    struct energy_meter m = {0};
    const struct energy_sample before = {.wall = {1000000}, .power_mw = reading_ok(100000), .counter_mj = reading_ok(0)};
    const struct energy_sample after = {
        .at = {5000LL * NS_PER_MS}, .wall = {8200000}, .power_mw = reading_ok(100000), .counter_mj = reading_ok(90500000)};
    energy_step(&m, &before, GAP_MS);
    used = energy_step(&m, &after, GAP_MS);
    assert_int_equal(used.mj, 0);
    assert_int_equal(used.unwatched_mj, 90500000);
    assert_int_equal(used.unwatched_to.ms - used.unwatched_from.ms, 7200000);
}

static void a_time_without_power_is_marked_when_the_counter_catches_up(void **state)
{
    (void)state;
    struct energy_meter m = {0};
    enum energy_evidence evidence;
    step(&m, 0, 100000, 5000, &evidence);
    assert_int_equal(step(&m, 5000, -1, -1, &evidence), 0);
    assert_int_equal(step(&m, 10000, -1, -1, &evidence), 0); /* the driver says nothing */
    assert_int_equal(step(&m, 15000, 100000, 1505000, &evidence), 0);
    assert_int_equal(used.unwatched_mj, 1500000);
    assert_int_equal(used.unwatched_from.ms, 1000000); /* since the last reading, up to the next */
    assert_int_equal(used.unwatched_to.ms, 1015000);
    assert_int_equal(step(&m, 20000, 100000, 2005000, &evidence), 500000); /* and is watched again */
    assert_int_equal(evidence, ENERGY_COUNTED);
}

static void a_counter_that_went_back_was_reset(void **state)
{
    (void)state;
    struct energy_meter m = {0};
    enum energy_evidence evidence;
    step(&m, 0, 100000, 5000000, &evidence);
    assert_int_equal(step(&m, 5000, 100000, 10, &evidence), 500000);
    assert_int_equal(evidence, ENERGY_FROM_POWER);
    assert_int_equal(step(&m, 10000, 100000, 600010, &evidence), 600000);
    assert_int_equal(evidence, ENERGY_COUNTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_counter_power_is_integrated),
        TEST(the_sum_follows_the_counter),
        TEST(what_was_too_much_is_taken_off_later_and_never_negative),
        TEST(a_pause_is_bridged_by_the_counter_or_not_at_all),
        TEST(a_suspend_is_a_time_that_was_not_watched),
        TEST(a_time_without_power_is_marked_when_the_counter_catches_up),
        TEST(a_counter_that_went_back_was_reset),
    };
    return RUN_TESTS(tests);
}
