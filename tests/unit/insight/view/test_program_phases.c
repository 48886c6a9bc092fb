/* SPDX-License-Identifier: Apache-2.0
 * Programs with a known course: the phases and the limit that a person would name.
 */
#include "insight/view/program_phases.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "model/metric.h"
#include "test.h"

/* One look of a program that has the GPU for itself. */
static struct course_moment working(int util)
{
    return (struct course_moment){.on_gpu = true,
                                  .vram_bytes = reading_ok(8 * GIB_BYTES),
                                  .util_permille = reading_ok(util),
                                  .gpu_util_permille = reading_ok(util),
                                  .power_mw = reading_ok(200000),
                                  .limit = util ? LIMIT_COMPUTE : LIMIT_NONE,
                                  .temp_mdegc = reading_ok(60000),
                                  .cpu_permille = 300,
                                  .cpu_busiest_permille = 300};
}

static struct course_moment nothing_yet(void)
{
    return (struct course_moment){
        .vram_bytes = reading_ok(0), .util_permille = reading_ok(0), .cpu_permille = 400, .cpu_busiest_permille = 400};
}

static void last(struct run_course *c, struct course_moment m, double seconds, double step)
{
    for (double end = c->seconds + seconds; c->seconds + step / 2 < end;) {
        m.at_s = c->seconds + step;
        course_see(c, &m);
    }
}

static void what_limits_most_of_its_time_on_a_gpu_is_named(void **state)
{
    (void)state;
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++) {
        struct run_course c;
        assert_int_equal(course_init(&c), 0);
        last(&c, nothing_yet(), 60, 1); /* not on a GPU: nothing that counts */
        struct course_moment m = working(500);
        m.limit = (enum limit)l;
        last(&c, m, 20, 1);
        m.limit = LIMIT_HEAT;
        last(&c, m, 5, 1);
        assert_int_equal(course_limited_by(&c), l);
        course_done(&c);
    }
}

static void assert_phases(const struct run_course *c, const enum course_kind *kinds, size_t count)
{
    struct course_phase phases[COURSE_PHASES_MAX];
    size_t found = course_phases(c, phases);
    for (size_t i = 0; i < found && i < count; i++)
        if (phases[i].kind != kinds[i])
            fail_msg("phase %zu is %s, not %s", i, course_kind_name(phases[i].kind), course_kind_name(kinds[i]));
    assert_int_equal(found, count);
    double end = 0;
    for (size_t i = 0; i < found; i++) {
        assert_true(phases[i].from_s - end < 1e-9 && end - phases[i].from_s < 1e-9); /* no gap between them */
        end = phases[i].from_s + phases[i].seconds;
    }
    assert_true(end - c->seconds < 1e-9);
}

static void a_training_run_is_told_in_its_phases(void **state)
{
    (void)state;
    struct run_course c;
    assert_int_equal(course_init(&c), 0);
    last(&c, nothing_yet(), 4, 1);
    struct course_moment m = working(0);
    m.read_bytes_per_s = reading_ok(900000000);
    last(&c, m, 10, 1);
    last(&c, working(970), 120, 1);
    m = working(0);
    m.write_bytes_per_s = reading_ok(500000000);
    last(&c, m, 8, 1);
    last(&c, nothing_yet(), 5, 1);
    const enum course_kind kinds[] = {COURSE_STARTING, COURSE_LOADING, COURSE_COMPUTING, COURSE_SAVING, COURSE_ENDING};
    assert_phases(&c, kinds, ARRAY_LEN(kinds));
    assert_int_equal(course_limited_by(&c), LIMIT_COMPUTE);
    assert_int_equal(c.vram_bytes.peak, 8 * GIB_BYTES);
    assert_true(c.util_permille.mean > 780 && c.util_permille.mean < 810);
    course_done(&c);
}

static void a_growing_memory_is_loading_also_without_a_disk(void **state)
{
    (void)state;
    struct run_course c;
    assert_int_equal(course_init(&c), 0);
    for (int i = 1; i <= 10; i++) { /* from the page cache */
        struct course_moment m = working(0);
        m.at_s = i;
        m.vram_bytes = reading_ok(i * GIB_BYTES);
        course_see(&c, &m);
    }
    last(&c, working(0), 30, 1); /* 8 GiB held, and no requests */
    const enum course_kind kinds[] = {COURSE_LOADING, COURSE_WAITING};
    assert_phases(&c, kinds, ARRAY_LEN(kinds));
    assert_int_equal(course_limited_by(&c), LIMIT_NONE);
    course_done(&c);
}

static void short_bursts_and_pauses_are_one_phase(void **state)
{
    (void)state;
    struct run_course c;
    assert_int_equal(course_init(&c), 0);
    for (int i = 0; i < 200; i++) { /* every second step waits for data */
        struct course_moment m = working(i % 2 ? 900 : 0);
        m.at_s = (i + 1) * 0.5;
        course_see(&c, &m);
    }
    struct course_moment blip = working(0);
    last(&c, blip, 1.5, 0.5); /* one pause of 1.5 s in 100 s is no phase */
    last(&c, working(900), 50, 0.5);
    const enum course_kind kinds[] = {COURSE_COMPUTING};
    assert_phases(&c, kinds, ARRAY_LEN(kinds));
    course_done(&c);
}

static void a_week_is_thinned_out_and_stays_true(void **state)
{
    (void)state;
    struct run_course c;
    assert_int_equal(course_init(&c), 0);
    last(&c, working(500), 100000, 1);
    last(&c, working(0), 50000, 1);
    assert_true(c.moment_count <= COURSE_MOMENTS_MAX);
    struct course_phase phases[COURSE_PHASES_MAX];
    assert_int_equal(course_phases(&c, phases), 2);
    assert_true(phases[0].seconds > 99000 && phases[0].seconds < 101000);
    course_done(&c);
}

static void many_changes_stay_within_the_most(void **state)
{
    (void)state;
    struct run_course c;
    assert_int_equal(course_init(&c), 0);
    for (int i = 0; i < 100; i++)
        last(&c, i % 2 ? working(0) : working(900), 40, 1);
    struct course_phase phases[COURSE_PHASES_MAX];
    assert_true(course_phases(&c, phases) <= COURSE_PHASES_MAX);
    course_done(&c);
}

static void a_program_that_was_not_seen_has_no_phases(void **state)
{
    (void)state;
    struct run_course c;
    struct course_phase phases[COURSE_PHASES_MAX];
    assert_int_equal(course_init(&c), 0);
    assert_int_equal(course_phases(&c, phases), 0);
    assert_int_equal(course_limited_by(&c), LIMIT_NONE);
    course_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_limits_most_of_its_time_on_a_gpu_is_named),
        cmocka_unit_test(a_training_run_is_told_in_its_phases),
        cmocka_unit_test(a_growing_memory_is_loading_also_without_a_disk),
        cmocka_unit_test(short_bursts_and_pauses_are_one_phase),
        cmocka_unit_test(a_week_is_thinned_out_and_stays_true),
        cmocka_unit_test(many_changes_stay_within_the_most),
        cmocka_unit_test(a_program_that_was_not_seen_has_no_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
