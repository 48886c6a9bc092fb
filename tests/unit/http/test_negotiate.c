/* SPDX-License-Identifier: Apache-2.0 */
#include "http/negotiate.h"

#include "test.h"

static void types(void **state)
{
    (void)state;
    assert_true(accepts_type((struct str){0}, "application/json"));
    assert_true(accepts_type(STR(""), "application/json"));
    assert_true(accepts_type(STR("*/*"), "application/json"));
    assert_true(accepts_type(STR("text/html, application/*;q=0.1"), "application/json"));
    assert_true(accepts_type(STR("Application/JSON"), "application/json"));
    assert_true(accepts_type(STR("text/plain;version=0.0.4"), "text/plain; charset=utf-8"));
    assert_false(accepts_type(STR("text/html"), "application/json"));
    assert_false(accepts_type(STR("application/json;q=0, */*"), "application/json"));
    assert_false(accepts_type(STR("*/*;q=0"), "application/json"));
    /* The precise range decides, whatever its quality. */
    assert_int_equal(accept_quality(STR("*/*;q=0.9, application/json;q=0.3"), "application/json"), 300);
}

static void encodings(void **state)
{
    (void)state;
    assert_false(accepts_gzip((struct str){0}));
    assert_true(accepts_gzip(STR("gzip, deflate, br")));
    assert_true(accepts_gzip(STR("br;q=1.0, gzip;q=0.8, *;q=0.1")));
    assert_true(accepts_gzip(STR("*")));
    assert_false(accepts_gzip(STR("gzip;q=0")));
    assert_false(accepts_gzip(STR("*;q=0")));
    assert_false(accepts_gzip(STR("identity;q=1, gzip;q=0.5")));
    assert_false(accepts_gzip(STR("deflate")));
}

static void tags(void **state)
{
    (void)state;
    assert_true(none_match_has(STR("\"abc\""), "abc"));
    assert_true(none_match_has(STR("W/\"x\", W/\"abc\""), "abc"));
    assert_true(none_match_has(STR("*"), "abc"));
    assert_false(none_match_has(STR("abc"), "abc"));
    assert_false(none_match_has(STR("\"abcd\""), "abc"));
    assert_false(none_match_has(STR("\""), ""));
    assert_false(none_match_has((struct str){0}, "abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(types), TEST(encodings), TEST(tags)};
    return RUN_TESTS(tests);
}
