/* SPDX-License-Identifier: Apache-2.0 */
#include "base/moment.h"

#include <stdlib.h>
#include <time.h>

#include "test.h"

static struct wall utc(const char *text)
{
    struct wall at;
    assert_true(wall_parse(str_from(text), &at));
    return at;
}

static void expect(const char *text, const char *now, enum moment_zone zone, const char *wanted)
{
    struct wall at = {-1};
    char got[WALL_TEXT_SIZE];
    if (!moment_parse(str_from(text), utc(now), zone, &at))
        fail_msg("'%s' is not understood", text);
    wall_format(at, got);
    if (at.ms != utc(wanted).ms)
        fail_msg("'%s' is %s, not %s", text, got, wanted);
}

static void how_long_ago_is_counted_back_from_now(void **state)
{
    (void)state;
    expect("now", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-15T05:00:00Z");
    expect("-2h", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-15T03:00:00Z");
    expect("2h", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-15T03:00:00Z");
    expect("1h30m", "2026-11-15T05:00:00Z", MOMENT_UTC, "2026-11-15T03:30:00Z");
    expect(" -1h30m ", "2026-11-15T05:00:00Z", MOMENT_UTC, "2026-11-15T03:30:00Z");
    expect("7d ago", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-08T05:00:00Z");
}

static void a_time_of_day_is_the_last_one(void **state)
{
    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3", 60);
    expect("03:10", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-15T02:10:00Z");
    expect("3:10", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-15T02:10:00Z");
    expect("06:00:01", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-14T05:00:01Z");
    expect("23:30", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-14T22:30:00Z");
    expect("23:30", "2026-11-15T05:00:00Z", MOMENT_UTC, "2026-11-14T23:30:00Z");
    /* The night in which summer time ended: yesterday's 20:00 was still in summer time. */
    expect("yesterday 20:00", "2026-10-25T12:00:00Z", MOMENT_LOCAL, "2026-10-24T18:00:00Z");
    expect("20:00", "2026-10-25T12:00:00Z", MOMENT_LOCAL, "2026-10-24T18:00:00Z");
    expect("today", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-14T23:00:00Z");
    expect("yesterday", "2026-11-15T05:00:00Z", MOMENT_LOCAL, "2026-11-13T23:00:00Z");
    use_zone("UTC", 0);
}

static void a_date_without_a_zone_is_in_the_zone_of_who_asks(void **state)
{
    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3", 60);
    const char *now = "2026-11-15T05:00:00Z";
    expect("2026-11-14T03:10", now, MOMENT_LOCAL, "2026-11-14T02:10:00Z");
    expect("2026-11-14T03:10", now, MOMENT_UTC, "2026-11-14T03:10:00Z");
    expect("2026-11-14 03:10:05.250", now, MOMENT_LOCAL, "2026-11-14T02:10:05.250Z");
    expect("2026-07-14", now, MOMENT_LOCAL, "2026-07-13T22:00:00Z");
    expect("2026-11-14T03:10Z", now, MOMENT_LOCAL, "2026-11-14T03:10:00Z");
    expect("2026-11-14T03:10-05:00", now, MOMENT_LOCAL, "2026-11-14T08:10:00Z");
    use_zone("UTC", 0);
}

static void what_is_no_moment_is_refused(void **state)
{
    (void)state;
    const char *wrong[] = {"",        "-",      "0",           "-2x",      "24:00",    "12:60", "12:5",
                           "1:2:3",   "todays", "today 25:00", "tomorrow", "- 2h ago", "ago",   "1969-01-01T00:00Z",
                           "03:10 pm"};
    struct wall at = {7};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (moment_parse(str_from(wrong[i]), utc("2026-11-15T05:00:00Z"), MOMENT_LOCAL, &at))
            fail_msg("'%s' was taken for a moment", wrong[i]);
    assert_int_equal(at.ms, 7);
}

static void moments_are_shown_as_short_as_they_are_clear(void **state)
{
    (void)state;
    char text[MOMENT_TEXT_SIZE];
    struct wall now = utc("2026-11-15T05:00:00Z");
    moment_format(utc("2026-11-15T03:10:00Z"), now, text);
    assert_string_equal(text, "03:10");
    moment_format(utc("2026-11-14T03:10:00Z"), now, text);
    assert_string_equal(text, "Nov 14 03:10");
    moment_format(utc("2025-11-14T03:10:00Z"), now, text);
    assert_string_equal(text, "2025-11-14 03:10");
}

int main(void)
{
    use_zone("UTC", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_long_ago_is_counted_back_from_now),
        cmocka_unit_test(a_time_of_day_is_the_last_one),
        cmocka_unit_test(a_date_without_a_zone_is_in_the_zone_of_who_asks),
        cmocka_unit_test(what_is_no_moment_is_refused),
        cmocka_unit_test(moments_are_shown_as_short_as_they_are_clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
