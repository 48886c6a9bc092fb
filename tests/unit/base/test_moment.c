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

static void times_are_read_as_people_say_them(void **state)
{
    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3", 60);
    const char *now = "2026-11-18T05:00:00Z"; /* a Wednesday, 06:00 */
    expect("3am", now, MOMENT_LOCAL, "2026-11-18T02:00:00Z");
    expect("3:10 PM", now, MOMENT_LOCAL, "2026-11-17T14:10:00Z");
    expect("12am", now, MOMENT_LOCAL, "2026-11-17T23:00:00Z");
    expect("12pm", now, MOMENT_UTC, "2026-11-17T12:00:00Z");
    expect("Noon", now, MOMENT_LOCAL, "2026-11-17T11:00:00Z");
    expect("midnight", now, MOMENT_LOCAL, "2026-11-17T23:00:00Z");
    expect("last night", now, MOMENT_LOCAL, "2026-11-17T19:00:00Z");
    expect("last night 22:30", now, MOMENT_LOCAL, "2026-11-17T21:30:00Z");
    expect("last night 3am", now, MOMENT_LOCAL, "2026-11-18T02:00:00Z");
    expect("tonight", now, MOMENT_LOCAL, "2026-11-18T19:00:00Z");
    expect("tonight 01:00", now, MOMENT_LOCAL, "2026-11-19T00:00:00Z");
    expect("tomorrow 8am", now, MOMENT_LOCAL, "2026-11-19T07:00:00Z");
    expect("this month", now, MOMENT_LOCAL, "2026-10-31T23:00:00Z");
    expect("last month", now, MOMENT_LOCAL, "2026-09-30T22:00:00Z");
    expect("last month", "2026-01-18T05:00:00Z", MOMENT_UTC, "2025-12-01T00:00:00Z");
    expect("this week", now, MOMENT_UTC, "2026-11-16T00:00:00Z");
    expect("tonight", "2026-11-18T00:08:00Z", MOMENT_LOCAL, "2026-11-17T19:00:00Z"); /* 01:08: the night that is on */
    expect("tonight 01:00", "2026-11-18T00:08:00Z", MOMENT_LOCAL, "2026-11-18T00:00:00Z");
    expect("monday", now, MOMENT_LOCAL, "2026-11-15T23:00:00Z");
    expect("last Friday 2pm", now, MOMENT_LOCAL, "2026-11-13T13:00:00Z");
    expect("wednesday", now, MOMENT_LOCAL, "2026-11-17T23:00:00Z"); /* today */
    expect("wednesday 8am", now, MOMENT_LOCAL, "2026-11-11T07:00:00Z");
    expect("an hour ago", now, MOMENT_LOCAL, "2026-11-18T04:00:00Z");
    expect("10 minutes ago", now, MOMENT_UTC, "2026-11-18T04:50:00Z");
    expect("2 Days ago", now, MOMENT_LOCAL, "2026-11-16T05:00:00Z");
    expect("Last week", "2026-11-15T05:00:00Z", MOMENT_UTC, "2026-11-02T00:00:00Z"); /* a Sunday */
    use_zone("UTC", 0);
}

static void expect_end(const char *since, const char *until, const char *now, const char *wanted)
{
    struct wall from, to = {-1};
    char got[WALL_TEXT_SIZE];
    assert_true(moment_parse(str_from(since), utc(now), MOMENT_LOCAL, &from));
    assert_true(moment_parse_end(str_from(until), from, utc(now), MOMENT_LOCAL, &to));
    wall_format(to, got);
    if (to.ms != utc(wanted).ms)
        fail_msg("from '%s' to '%s' ends at %s, not %s", since, until, got, wanted);
}

static void the_end_of_a_span_comes_after_its_beginning(void **state)
{
    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3", 60);
    /* In the morning, at noon, in the evening and after midnight. */
    expect_end("20:00", "06:00", "2026-11-18T07:00:00Z", "2026-11-18T05:00:00Z");
    expect_end("20:00", "06:00", "2026-11-18T11:00:00Z", "2026-11-18T05:00:00Z");
    expect_end("20:00", "06:00", "2026-11-18T20:00:00Z", "2026-11-18T20:00:00Z"); /* now: 06:00 is still to come */
    expect_end("20:00", "06:00", "2026-11-18T01:00:00Z", "2026-11-18T01:00:00Z");
    expect_end("23:59", "00:01", "2026-11-17T23:01:30Z", "2026-11-17T23:01:00Z");
    expect_end("03:10", "03:20", "2026-11-18T11:00:00Z", "2026-11-18T02:20:00Z");
    expect_end("-7d", "06:00", "2026-11-18T11:00:00Z", "2026-11-18T05:00:00Z");
    expect_end("yesterday", "today", "2026-11-18T11:00:00Z", "2026-11-17T23:00:00Z");
    /* The night in which summer time began has no 02:30, the one in which it ended has two. */
    expect_end("20:00", "06:00", "2026-03-29T10:00:00Z", "2026-03-29T04:00:00Z");
    expect_end("20:00", "06:00", "2026-10-25T10:00:00Z", "2026-10-25T05:00:00Z");
    expect("02:30", "2026-10-25T00:40:00Z", MOMENT_LOCAL, "2026-10-25T00:30:00Z");
    expect("02:30", "2026-10-25T01:20:00Z", MOMENT_LOCAL, "2026-10-25T00:30:00Z");
    expect("02:30", "2026-10-25T01:40:00Z", MOMENT_LOCAL, "2026-10-25T01:30:00Z");
    expect_end("02:45", "02:30", "2026-10-25T01:10:00Z", "2026-10-25T01:10:00Z");
    use_zone("UTC", 0);
}

static void expect_ahead(const char *from, const char *until, const char *now, const char *begins, const char *ends)
{
    struct wall start, end;
    char got[2][WALL_TEXT_SIZE];
    assert_true(moment_parse_ahead(str_from(from), utc(now), utc(now), MOMENT_LOCAL, &start));
    assert_true(moment_parse_ahead(str_from(until), start, utc(now), MOMENT_LOCAL, &end));
    wall_format(start, got[0]);
    wall_format(end, got[1]);
    if (start.ms != utc(begins).ms || end.ms != utc(ends).ms)
        fail_msg("at %s, from %s to %s is %s to %s", now, from, until, got[0], got[1]);
}

static void what_is_to_come_begins_after_now_and_ends_after_that(void **state)
{
    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3", 60);
    static const char *const of_the_day[] = {"2026-11-18T00:30:00Z", "2026-11-18T06:59:00Z", "2026-11-18T11:00:00Z",
                                             "2026-11-18T18:59:00Z"};
    for (size_t i = 0; i < 4; i++)
        expect_ahead("20:00", "08:00", of_the_day[i], "2026-11-18T19:00:00Z", "2026-11-19T07:00:00Z");
    expect_ahead("20:00", "08:00", "2026-11-18T19:00:00Z", "2026-11-19T19:00:00Z", "2026-11-20T07:00:00Z");
    expect_ahead("8pm", "8am", "2026-11-18T22:59:59Z", "2026-11-19T19:00:00Z", "2026-11-20T07:00:00Z");
    expect_ahead("tonight", "friday 8am", "2026-11-18T00:30:00Z", "2026-11-18T19:00:00Z", "2026-11-20T07:00:00Z");
    expect_ahead("2h", "2h", "2026-11-18T11:00:00Z", "2026-11-18T13:00:00Z", "2026-11-18T15:00:00Z");
    expect_ahead("tonight", "tomorrow 8am", "2026-11-18T11:00:00Z", "2026-11-18T19:00:00Z", "2026-11-19T07:00:00Z");
    expect_ahead("20:00", "08:00", "2026-03-28T11:00:00Z", "2026-03-28T19:00:00Z", "2026-03-29T06:00:00Z");
    expect_ahead("20:00", "08:00", "2026-10-24T11:00:00Z", "2026-10-24T18:00:00Z", "2026-10-25T07:00:00Z");
    expect_ahead("02:30", "02:10", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:10:00Z");
    struct wall at = {7}, now = utc("2026-11-18T11:00:00Z");
    for (size_t i = 0; i < 4; i++)
        assert_false(
            moment_parse_ahead(str_from(((const char *const[]){"yesterday", "now", "0", "soon"})[i]), now, now, MOMENT_LOCAL, &at));
    assert_int_equal(at.ms, 7);
    use_zone("UTC", 0);
}

static void both_ends_of_a_span_have_their_day(void **state)
{
    (void)state;
    use_zone("UTC", 0);
    static const struct {
        const char *since, *until, *from, *to;
    } spans[] = {
        {"2026-10-19T01:17:00Z", "2026-11-18T01:17:00Z", "Oct 19 01:17", "Nov 18 01:17"},
        {"2026-11-17T22:00:00Z", "2026-11-17T23:00:00Z", "Nov 17 22:00", "23:00"},
        {"2026-11-18T00:10:00Z", "2026-11-18T01:00:00Z", "00:10", "01:00"},
        {"2026-11-18T20:00:00Z", "2026-11-19T08:00:00Z", "Nov 18 20:00", "Nov 19 08:00"},
        {"2025-12-31T23:00:00Z", "2026-11-18T01:17:00Z", "2025-12-31 23:00", "2026-11-18 01:17"},
    };
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        char from[MOMENT_TEXT_SIZE], to[MOMENT_TEXT_SIZE];
        moment_format_span(utc(spans[i].since), utc(spans[i].until), utc("2026-11-18T12:00:00Z"), from, to);
        assert_string_equal(from, spans[i].from);
        assert_string_equal(to, spans[i].to);
    }
}

static void what_is_no_moment_is_refused(void **state)
{
    (void)state;
    const char *wrong[] = {"",      "-",      "0",           "-2x",  "24:00",    "12:60", "12:5",
                           "1:2:3", "todays", "today 25:00", "3",    "- 2h ago", "ago",   "1969-01-01T00:00Z",
                           "13pm",  "0am",    "3:10:05:1",   "last", "this day", "am",    "last night 25:00"};
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
        cmocka_unit_test(times_are_read_as_people_say_them),
        cmocka_unit_test(the_end_of_a_span_comes_after_its_beginning),
        cmocka_unit_test(what_is_to_come_begins_after_now_and_ends_after_that),
        cmocka_unit_test(both_ends_of_a_span_have_their_day),
        cmocka_unit_test(what_is_no_moment_is_refused),
        cmocka_unit_test(moments_are_shown_as_short_as_they_are_clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
