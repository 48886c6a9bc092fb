/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "test.h"

static void formats_utc_with_milliseconds(void **state)
{
    (void)state;
    char text[WALL_TEXT_SIZE];
    wall_format((struct wall){1794702123456}, text);
    assert_string_equal(text, "2026-11-15T00:22:03.456Z");
    wall_format((struct wall){-1}, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
}

static void reads_what_it_writes_and_the_usual_variants(void **state)
{
    (void)state;
    const char *same[] = {"2026-11-15T00:22:03.456Z", "2026-11-15 00:22:03.456", "2026-11-15T01:22:03.456+01:00",
                          "2026-11-14T19:22:03.456-0500"};
    for (size_t i = 0; i < 4; i++) {
        struct wall w = {0};
        assert_true(wall_parse(str_from(same[i]), &w));
        assert_int_equal(w.ms, 1794702123456);
    }
    struct wall w = {5};
    assert_true(wall_parse(STR("2026-11-15"), &w));
    assert_true(wall_parse(STR("2028-02-29"), &w));
    assert_true(wall_parse(STR("2016-12-31T23:59:60Z"), &w)); /* a leap second */
    const char *bad[] = {"",
                         "2026",
                         "2026-13-01",
                         "2026-11-15T25:00",
                         "2026-11-15T00:00:00x",
                         "tomorrow",
                         "2026-11-15T00:00+25:00",
                         "2026-02-30",
                         "2026-02-29",
                         "2026-04-31",
                         "2026-02-30T12:00:00Z"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(wall_parse(str_from(bad[i]), &w));
}

static void a_manual_clock_stands_until_moved(void **state)
{
    (void)state;
    struct clock_manual c;
    clock_manual_init(&c, (struct wall){1000});
    struct mono before = clock_mono(&c.clock);
    assert_int_equal(clock_mono(&c.clock).ns, before.ns);
    clock_manual_advance_ms(&c, 1500);
    assert_int_equal(mono_since_ms(clock_mono(&c.clock), before), 1500);
    assert_int_equal(clock_wall(&c.clock).ms, 2500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(formats_utc_with_milliseconds),
        TEST(reads_what_it_writes_and_the_usual_variants),
        TEST(a_manual_clock_stands_until_moved),
    };
    return RUN_TESTS(tests);
}
