/* SPDX-License-Identifier: Apache-2.0
 * Courses: thinned, joined with older points, resampled.
 */
#include "test.h"

#include <math.h>

#include "tui/top.h"

static struct trail_point at(int64_t ms, float util)
{
    return (struct trail_point){ms, {[TRAIL_UTIL] = util}};
}

static void add(struct trail *c, int64_t ms, float util, int64_t least)
{
    struct trail_point p = at(ms, util);
    trail_add(c, &p, least);
}

static void test_points_closer_than_the_window_needs_replace_the_last(void **state)
{
    (void)state;
    struct trail c = {0};
    for (int i = 0; i < 10; i++)
        add(&c, 1000 * i, (float)i, 5000);
    assert_int_equal(c.count, 4); /* 0, 4, 8 s and the newest */
    assert_int_equal(c.points[1].at_ms, 4000);
    assert_int_equal(c.points[3].at_ms, 9000);
    add(&c, 4000, 1, 0); /* older: ignored */
    assert_int_equal(c.count, 4);
    trail_done(&c);
}

static void test_it_never_grows_beyond_its_bound(void **state)
{
    (void)state;
    struct trail c = {0};
    for (int i = 0; i < 5000; i++)
        add(&c, i, 1, 0);
    assert_true(c.count <= TRAIL_POINTS);
    assert_int_equal(c.points[c.count - 1].at_ms, 4999);
    trail_done(&c);
}

static void test_the_past_is_put_in_front_without_overlap(void **state)
{
    (void)state;
    struct trail c = {0};
    struct trail_point past[] = {at(1000, 1), at(2000, 2), at(10000, 3)};
    add(&c, 10000, 5, 0);
    trail_prepend(&c, past, 3);
    assert_int_equal(c.count, 3);
    assert_int_equal(c.points[0].at_ms, 1000);
    assert_float_equal(c.points[2].value[TRAIL_UTIL], 5, 0);
    trail_done(&c);
}

static void test_slots_are_means_and_gaps_stay_gaps(void **state)
{
    (void)state;
    struct trail c = {0};
    float values[4];
    add(&c, 500, 10, 0);
    add(&c, 900, 30, 0);
    add(&c, 3500, 50, 0);
    trail_sample(&c, TRAIL_UTIL, 0, 4000, 500, 4, values);
    assert_float_equal(values[0], 20, 0.01);
    assert_true(isnan(values[1]) && isnan(values[2]));
    assert_float_equal(values[3], 50, 0.01);
    trail_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_points_closer_than_the_window_needs_replace_the_last),
        TEST(test_it_never_grows_beyond_its_bound),
        TEST(test_the_past_is_put_in_front_without_overlap),
        TEST(test_slots_are_means_and_gaps_stay_gaps),
    };
    return RUN_TESTS(tests);
}
