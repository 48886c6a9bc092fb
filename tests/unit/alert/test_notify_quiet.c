/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/notify/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "model/severity.h"
#include "test.h"

/* Local time. 2026-11-16 is a Monday. */
static struct wall at(int year, int month, int day, int hour, int minute)
{
    struct tm t = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute, .tm_isdst = -1};
    return (struct wall){(int64_t)mktime(&t) * MS_PER_S};
}

static struct quiet parse(bool digest, const char *text)
{
    struct quiet q;
    struct error err = {0};
    const char *items[] = {text};
    assert_int_equal(quiet_parse(&(struct config_list){items, 1}, digest, &q, &err), 0);
    return q;
}

static void nights_hold_what_is_not_critical(void **state)
{
    (void)state;
    use_zone("UTC", 0);
    struct quiet q = parse(false, "22:00-07:00");
    assert_int_equal(quiet_until(&q, SEVERITY_WARNING, at(2026, 11, 16, 21, 59)).ms, 0);
    assert_int_equal(quiet_until(&q, SEVERITY_WARNING, at(2026, 11, 16, 22, 0)).ms, at(2026, 11, 17, 7, 0).ms);
    assert_int_equal(quiet_until(&q, SEVERITY_INFO, at(2026, 11, 17, 6, 59)).ms, at(2026, 11, 17, 7, 0).ms);
    assert_int_equal(quiet_until(&q, SEVERITY_INFO, at(2026, 11, 17, 7, 0)).ms, 0);
    assert_int_equal(quiet_until(&q, SEVERITY_CRITICAL, at(2026, 11, 16, 23, 0)).ms, 0);
    q = parse(false, "21:00-00:00"); /* midnight, either way */
    assert_int_equal(quiet_until(&q, SEVERITY_INFO, at(2026, 11, 16, 22, 0)).ms, at(2026, 11, 17, 0, 0).ms);
    assert_int_equal(quiet_until(&q, SEVERITY_INFO, at(2026, 11, 17, 0, 0)).ms, 0);
    q = parse(false, "22:00-07:00 all");
    assert_int_equal(quiet_until(&q, SEVERITY_CRITICAL, at(2026, 11, 16, 23, 0)).ms, at(2026, 11, 17, 7, 0).ms);
}

static void days_begin_a_night_and_hours_that_touch_are_one(void **state)
{
    (void)state;
    use_zone("Europe/Berlin", 60);
    struct quiet q = parse(false, "fri,sat 23:00-10:00 info");
    assert_int_equal(quiet_until(&q, SEVERITY_INFO, at(2026, 11, 22, 9, 0)).ms, at(2026, 11, 22, 10, 0).ms); /* of Saturday */
    assert_int_equal(quiet_until(&q, SEVERITY_INFO, at(2026, 11, 20, 9, 0)).ms, 0);                          /* of Thursday */
    assert_int_equal(quiet_until(&q, SEVERITY_WARNING, at(2026, 11, 22, 9, 0)).ms, 0);
    const char *both[] = {"sat,sun 00:00-24:00", "mon-fri 18:00-24:00", "mon-fri 00:00-08:00"};
    struct error err = {0};
    assert_int_equal(quiet_parse(&(struct config_list){both, 3}, false, &q, &err), 0);
    assert_int_equal(quiet_until(&q, SEVERITY_INFO, at(2026, 11, 20, 19, 0)).ms, at(2026, 11, 23, 8, 0).ms); /* Friday to Monday */
}

static void a_night_in_which_clocks_change_ends_at_its_hour(void **state)
{
    (void)state;
    use_zone("Europe/Berlin", 60);
    struct quiet q = parse(false, "22:00-07:00");
    struct wall from = at(2026, 10, 24, 22, 0), until = quiet_until(&q, SEVERITY_INFO, from);
    assert_int_equal(until.ms, at(2026, 10, 25, 7, 0).ms);
    assert_int_equal(until.ms - from.ms, 10 * 3600 * 1000); /* an hour more */
}

static void digests_come_at_their_times(void **state)
{
    (void)state;
    use_zone("America/New_York", -300);
    struct quiet d = parse(true, "08:00");
    assert_int_equal(digest_after(&d, SEVERITY_INFO, at(2026, 11, 16, 7, 59)).ms, at(2026, 11, 16, 8, 0).ms);
    assert_int_equal(digest_after(&d, SEVERITY_INFO, at(2026, 11, 16, 8, 0)).ms, at(2026, 11, 17, 8, 0).ms);
    assert_int_equal(digest_after(&d, SEVERITY_CRITICAL, at(2026, 11, 16, 7, 0)).ms, 0);
    d = parse(true, "mon 18:30 all");
    assert_int_equal(digest_after(&d, SEVERITY_CRITICAL, at(2026, 11, 16, 18, 31)).ms, at(2026, 11, 23, 18, 30).ms);
    d = parse(true, "hourly info");
    assert_int_equal(digest_after(&d, SEVERITY_INFO, at(2026, 11, 16, 7, 20)).ms, at(2026, 11, 16, 8, 0).ms);
    assert_int_equal(digest_after(&d, SEVERITY_WARNING, at(2026, 11, 16, 7, 20)).ms, 0);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    const char *const wrong[] = {"",
                                 "22:00",
                                 "22-7",
                                 "25:00-07:00",
                                 "22:60-07:00",
                                 "22:00-22:00",
                                 "22:00-07:00 loud",
                                 "nev 22:00-07:00",
                                 "22:00-07:00 mon",
                                 "22:00-",
                                 "mon- 22:00-07:00",
                                 "22:00-07:00,"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct quiet q;
        struct error err = {0};
        assert_int_equal(quiet_parse(&(struct config_list){(const char *const[]){wrong[i]}, 1}, false, &q, &err), -EINVAL);
        assert_non_null(strstr(err.text, "22:00-07:00"));
    }
    struct quiet q;
    assert_int_equal(quiet_parse(&(struct config_list){(const char *const[]){"24:00"}, 1}, true, &q, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nights_hold_what_is_not_critical),
        cmocka_unit_test(days_begin_a_night_and_hours_that_touch_are_one),
        cmocka_unit_test(a_night_in_which_clocks_change_ends_at_its_hour),
        cmocka_unit_test(digests_come_at_their_times),
        cmocka_unit_test(mistakes_are_named),
    };
    return RUN_TESTS(tests);
}
