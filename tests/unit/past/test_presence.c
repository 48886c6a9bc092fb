/* SPDX-License-Identifier: Apache-2.0 */
#include "past/report.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"

#include "test.h"

struct minute_row {
    int64_t minute, gpu_id;
    double present;
    bool busy;
};

/* Two processes on GPU 1, of which the second began after a process on GPU 2. */
static const struct minute_row in_order[] = {{10, 1, 1, true},  {10, 1, 0.5, true}, {10, 2, 1, false},  {11, 1, 1, true},
                                             {11, 1, 1, false}, {11, 2, 1, false},  {13, 1, 0.25, true}};

static int feed(struct presence *p, const struct minute_row *rows, size_t count)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = presence_add_minute(p, rows[i].minute, rows[i].gpu_id, rows[i].present, rows[i].busy);
    presence_end(p);
    return rc;
}

static void two_processes_on_one_gpu_count_once(void **state)
{
    (void)state;
    struct presence p = {0};
    assert_int_equal(feed(&p, in_order, ARRAY_LEN(in_order)), 0);
    assert_true(fabs(p.hours * 60 - 4.25) < 1e-9);
    assert_true(fabs(p.busy_hours * 60 - 2.25) < 1e-9);
}

/* By minute and process, as the rows lie in the database. */
static void rows_in_another_order_are_refused_rather_than_counted_twice(void **state)
{
    (void)state;
    struct minute_row rows[ARRAY_LEN(in_order)];
    memcpy(rows, in_order, sizeof rows);
    rows[1] = in_order[2];
    rows[2] = in_order[1];
    struct presence p = {0};
    assert_int_equal(feed(&p, rows, ARRAY_LEN(rows)), -EPROTO);
    memcpy(rows, in_order, sizeof rows);
    rows[2] = in_order[3];
    rows[3] = in_order[2];
    p = (struct presence){0};
    assert_int_equal(feed(&p, rows, ARRAY_LEN(rows)), -EPROTO);
}

static void hours_count_the_minutes_that_any_of_them_was_there(void **state)
{
    (void)state;
    struct presence p = {0};
    const struct store_process_hour rows[] = {{.hour = 5, .gpu_id = 1, .present_minutes = 0x0f, .busy_minutes = 0x01},
                                              {.hour = 5, .gpu_id = 1, .present_minutes = 0x3c, .busy_minutes = 0x10},
                                              {.hour = 5, .gpu_id = 2, .present_minutes = 0x0f},
                                              {.hour = 6, .gpu_id = 1, .present_minutes = 0x01}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(presence_add_hour(&p, &rows[i], 0), 0);
    presence_end(&p);
    assert_true(fabs(p.hours * 60 - (6 + 4 + 1)) < 1e-9);
    assert_true(fabs(p.busy_hours * 60 - 2) < 1e-9);
    assert_int_equal(presence_add_hour(&p, &rows[0], 0), -EPROTO);
}

/* Two that were there for parts of a minute, and one in the first minute of which the GPU was watched from its middle on. */
static void parts_of_minutes_count_as_they_do_minute_by_minute(void **state)
{
    (void)state;
    struct presence p = {0};
    const struct store_process_hour rows[] = {
        {.hour = 5, .gpu_id = 1, .present_minutes = 0x07, .busy_minutes = 0x02, .partial_minutes = STR("1:3/12 2:6/12")},
        {.hour = 5, .gpu_id = 1, .present_minutes = 0x0e, .partial_minutes = STR("1:9/12")},
        {.hour = 6, .gpu_id = 1, .present_minutes = 0x01, .partial_minutes = STR("nonsense 77:1/2 0:4/2")}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(presence_add_hour(&p, &rows[i], 5 * 3600000 + 30000), 0);
    presence_end(&p);
    assert_true(fabs(p.hours * 60 - (0.5 + 0.75 + 1 + 1 + 1)) < 1e-9);
    assert_true(fabs(p.busy_hours * 60 - 0.25) < 1e-9);
    presence_done(&p);
    assert_true(fabs(presence_hours(&rows[0], 0x06, 0) * 60 - 0.75) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_processes_on_one_gpu_count_once),
        TEST(rows_in_another_order_are_refused_rather_than_counted_twice),
        TEST(hours_count_the_minutes_that_any_of_them_was_there),
        TEST(parts_of_minutes_count_as_they_do_minute_by_minute),
    };
    return RUN_TESTS(tests);
}
