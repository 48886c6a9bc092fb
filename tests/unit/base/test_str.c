/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "test.h"

static void cuts_at_separators_and_keeps_the_last_part(void **state)
{
    (void)state;
    struct str rest = STR("a,b,,c"), part;
    const char *expected[] = {"a", "b", "", "c"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(str_cut(&rest, ',', &part));
        assert_true(str_is(part, expected[i]));
    }
    assert_false(str_cut(&rest, ',', &part));
}

static void numbers_are_whole_or_refused(void **state)
{
    (void)state;
    int64_t i = 7;
    uint64_t u = 7;
    double d = 7;
    assert_true(str_to_i64(STR(" -42\n"), &i));
    assert_int_equal(i, -42);
    assert_false(str_to_i64(STR("42x"), &i));
    assert_false(str_to_i64(STR(""), &i));
    assert_false(str_to_i64(STR("99999999999999999999"), &i));
    assert_int_equal(i, -42);
    assert_true(str_to_u64(STR("0x10"), &u));
    assert_int_equal(u, 16);
    assert_false(str_to_u64(STR("-1"), &u));
    assert_false(str_to_double(STR("nan"), &d));
    assert_false(str_to_double(STR("inf"), &d));
    assert_false(str_to_double(STR("0x1p3"), &d));
    assert_true(str_to_scaled(STR("79.95"), 1000, &i));
    assert_int_equal(i, 79950);
}

static void copies_cut_between_characters(void **state)
{
    (void)state;
    char text[5];
    str_copy(text, sizeof text, STR("ab\xc3\xa4\xc3\xb6"));
    assert_string_equal(text, "ab\xc3\xa4");
    str_copy(text, 4, STR("ab\xc3\xa4"));
    assert_string_equal(text, "ab");
}

static void foreign_names_are_cleaned(void **state)
{
    (void)state;
    char text[32];
    str_copy_clean(text, sizeof text, STR("a\x01\xff\xc3\xa4\x1b[31m"));
    assert_string_equal(text, "a??\xc3\xa4?[31m");
    /* A control character above ASCII, the direction turned around; but not the dash and the quotation mark beside them. */
    str_copy_clean(text, sizeof text,
                   STR("\xc2\x9b"
                       "1m\xe2\x80\xae"
                       "a\xe2\x81\xa6\xe2\x80\x93\xc2\xa0"));
    assert_string_equal(text, "?1m?a?\xe2\x80\x93\xc2\xa0");
    str_copy_clean(text, sizeof text, STR("\xed\xa0\x80z")); /* a surrogate is not a character */
    assert_string_equal(text, "???z");
}

static void distance_finds_typing_errors(void **state)
{
    (void)state;
    assert_int_equal(str_distance("status", "status"), 0);
    assert_int_equal(str_distance("statsu", "status"), 2);
    assert_int_equal(str_distance("", "abc"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cuts_at_separators_and_keeps_the_last_part),
        TEST(numbers_are_whole_or_refused),
        TEST(copies_cut_between_characters),
        TEST(foreign_names_are_cleaned),
        TEST(distance_finds_typing_errors),
    };
    return RUN_TESTS(tests);
}
