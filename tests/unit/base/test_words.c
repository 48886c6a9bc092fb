/* SPDX-License-Identifier: Apache-2.0 */
#include "base/words.h"

#include "base/cleanup.h"
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
        char text[WORDS_SIZE];
        int64_t back = -1;
        duration_exact(values[i], text);
        assert_true(duration_parse(str_from(text), &back));
        assert_int_equal(back, values[i]);
        bytes_exact(values[i], text);
        assert_true(bytes_parse(str_from(text), &back));
        assert_int_equal(back, values[i]);
    }
    char text[WORDS_SIZE];
    duration_exact(90 * 86400000LL, text);
    assert_string_equal(text, "90d");
    bytes_exact(20LL << 30, text);
    assert_string_equal(text, "20GiB");
}

static void durations_are_told_in_at_most_two_units(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0s"},           {300, "300ms"},         {1500, "1.5s"},        {9000, "9s"},
        {45999, "45s"},      {60000, "1m"},          {425000, "7m 5s"},     {725000, "12m"},
        {3600000, "1h"},     {10080000, "2h 48m"},   {86399999, "23h 59m"}, {93600000, "1d 2h"},
        {7776000000, "90d"}, {-10080000, "-2h 48m"}, {900000000, "10d"},    {86400000, "1d"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[WORDS_SIZE];
        assert_string_equal(words_duration(cases[i].ms, text), cases[i].text);
    }
}

static void amounts_of_memory_are_told_in_the_unit_that_shows_digits(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 MiB"},
        {1, "1 KiB"},
        {512 << 10, "512 KiB"},
        {3670016, "3.5 MiB"},
        {5 << 20, "5 MiB"},
        {340 << 20, "340 MiB"},
        {1023LL << 20, "1.0 GiB"},
        {17825792000, "16.6 GiB"},
        {24LL << 30, "24.0 GiB"},
        {1536LL << 30, "1.5 TiB"},
        {-(340 << 20), "-340 MiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[WORDS_SIZE];
        assert_string_equal(words_bytes(cases[i].bytes, text), cases[i].text);
    }
    char text[WORDS_SIZE];
    assert_string_equal(words_rate(3670016, text), "3.5 MiB/s");
}

static void shares_heat_power_and_energy_have_one_form(void **state)
{
    (void)state;
    char text[WORDS_SIZE];
    assert_string_equal(words_percent(0, text), "0%");
    assert_string_equal(words_percent(3, text), "<1%");
    assert_string_equal(words_percent(346, text), "35%");
    assert_string_equal(words_temperature(70600, text), "71 °C");
    assert_string_equal(words_temperature(-4600, text), "-5 °C");
    assert_string_equal(words_power(3740, text), "3.7 W");
    assert_string_equal(words_power(133600, text), "134 W");
    assert_string_equal(words_energy(3096000000, text), "0.86 kWh");
    assert_string_equal(words_energy(21400000, text), "21.4 kJ");
}

static void the_nearest_name_is_the_one_that_was_meant(void **state)
{
    (void)state;
    static const char *const names[] = {"status", "history", "host.cpu_percent", "health"};
    assert_string_equal(nearest_name("statsu", names, 4), "status");
    assert_string_equal(nearest_name("hist", names, 4), "history");
    assert_string_equal(nearest_name("hi", names, 4), "history");
    assert_null(nearest_name("h", names, 4));
    assert_string_equal(nearest_name("cpu_percent", names, 4), "host.cpu_percent");
    assert_null(nearest_name("temperature", names, 4));
    assert_null(nearest_name("x", names, 0));
    static const char *const keys[] = {"job", "pod", "fan", "hot", "user", "temperature_celsius", "temperature_memory_celsius"};
    static const char *const others[] = {"foo", "x", "zz", "hat-rack", "usual", "temp_limit"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_null(nearest_name(others[i], keys, ARRAY_LEN(keys)));
    assert_string_equal(nearest_name("hto", keys, ARRAY_LEN(keys)), "hot");
    assert_string_equal(nearest_name("usre", keys, ARRAY_LEN(keys)), "user");
    assert_string_equal(nearest_name("temperature", keys, ARRAY_LEN(keys)), "temperature_celsius");
    assert_string_equal(nearest_name("temprature", keys, ARRAY_LEN(keys)), "temperature_celsius");
    struct nearest n;
    char text[80];
    nearest_init(&n, "helth");
    assert_string_equal(nearest_text(&n, text, sizeof text), "");
    nearest_try(&n, "health");
    assert_string_equal(nearest_text(&n, text, sizeof text), ", did you mean 'health'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(durations_are_read_as_people_write_them),
        TEST(amounts_of_memory_know_binary_and_decimal_units),
        TEST(what_is_written_is_read_back_the_same),
        TEST(durations_are_told_in_at_most_two_units),
        TEST(amounts_of_memory_are_told_in_the_unit_that_shows_digits),
        TEST(shares_heat_power_and_energy_have_one_form),
        TEST(the_nearest_name_is_the_one_that_was_meant),
    };
    return RUN_TESTS(tests);
}
