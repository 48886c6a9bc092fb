/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include "test.h"

static void durations_are_read_as_people_write_them(void **state)
{
    (void)state;
    int64_t ms = -1;
    assert_true(duration_parse(STR("250ms"), &ms) && ms == 250);
    assert_true(duration_parse(STR(" 30 s "), &ms) && ms == 30000);
    assert_true(duration_parse(STR("1.5h"), &ms) && ms == 5400000);
    assert_true(duration_parse(STR("1h30m"), &ms) && ms == 5400000);
    assert_true(duration_parse(STR("7d"), &ms) && ms == 604800000);
    assert_true(duration_parse(STR("0"), &ms) && ms == 0);
    ms = 7;
    const char *wrong[] = {"", "30", "s", "-5s", "5x", "30m1h", "5s5s", "1e3s", "nan", "99999999999999w", "5 5s"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(duration_parse(str_from(wrong[i]), &ms));
    assert_int_equal(ms, 7);
}

static void amounts_of_memory_know_binary_and_decimal_units(void **state)
{
    (void)state;
    int64_t bytes = -1;
    assert_true(bytes_parse(STR("20GiB"), &bytes) && bytes == 20LL << 30);
    assert_true(bytes_parse(STR("1.5 G"), &bytes) && bytes == 3LL << 29);
    assert_true(bytes_parse(STR("100kB"), &bytes) && bytes == 100000);
    assert_true(bytes_parse(STR("512mib"), &bytes) && bytes == 512LL << 20);
    assert_true(bytes_parse(STR("4096"), &bytes) && bytes == 4096);
    const char *wrong[] = {"", "GiB", "-1GiB", "1.5", "20GiBs", "20 Gi B", "9999999999TiB"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(bytes_parse(str_from(wrong[i]), &bytes));
}

static void what_is_written_is_read_back_the_same(void **state)
{
    (void)state;
    const int64_t values[] = {0, 1, 999, 1000, 1500, 60000, 90000, 3600000, 86400000, 604800000, 1LL << 20, 20LL << 30, 123456789};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[UNITS_TEXT_SIZE];
        int64_t back = -1;
        duration_format(values[i], text);
        assert_true(duration_parse(str_from(text), &back));
        assert_int_equal(back, values[i]);
        bytes_format(values[i], text);
        assert_true(bytes_parse(str_from(text), &back));
        assert_int_equal(back, values[i]);
    }
    char text[UNITS_TEXT_SIZE];
    duration_format(90 * 86400000LL, text);
    assert_string_equal(text, "90d");
    bytes_format(20LL << 30, text);
    assert_string_equal(text, "20GiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(durations_are_read_as_people_write_them),
        TEST(amounts_of_memory_know_binary_and_decimal_units),
        TEST(what_is_written_is_read_back_the_same),
    };
    return RUN_TESTS(tests);
}
