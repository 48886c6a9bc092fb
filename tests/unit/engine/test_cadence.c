/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "test.h"

static struct mono at(int64_t ms)
{
    return (struct mono){ms * NS_PER_MS};
}

static void the_first_sample_reads_everything_later_ones_what_is_due(void **state)
{
    (void)state;
    struct cadence c = {0};
    assert_int_equal(cadence_due(&c, false, at(0)), GROUP_ALL);
    cadence_read(&c, GROUP_ALL, at(0));
    assert_int_equal(cadence_due(&c, false, at(5000)), GROUP_QUICK);
    assert_int_equal(cadence_due(&c, false, at(9990)), GROUP_QUICK | GROUP_SLOW); /* a timer may fire a little early */
    assert_int_equal(cadence_due(&c, false, at(30000)), GROUP_QUICK | GROUP_SLOW | GROUP_RARE);
}

static void a_game_is_not_disturbed_by_asking_for_processes_each_second(void **state)
{
    (void)state;
    struct cadence c = {0};
    cadence_read(&c, GROUP_ALL, at(0));
    assert_int_equal(cadence_due(&c, true, at(1000)), GROUP_FAST);
    assert_int_equal(cadence_due(&c, true, at(5000)), GROUP_QUICK);

    struct gpu gpu = {0};
    struct process *p = gpu_add_process(&gpu, 1);
    p->type = PROCESS_GRAPHICS;
    p->util_permille = reading_ok(150);
    assert_false(cadence_game_runs(&gpu, 1));
    p->util_permille = reading_ok(900);
    assert_true(cadence_game_runs(&gpu, 1));
    p->type = PROCESS_COMPUTE;
    assert_false(cadence_game_runs(&gpu, 1));
    gpu_done(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_sample_reads_everything_later_ones_what_is_due),
        TEST(a_game_is_not_disturbed_by_asking_for_processes_each_second),
    };
    return RUN_TESTS(tests);
}
