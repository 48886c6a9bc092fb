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

static void a_choice_between_types_follows_the_most_precise_range(void **state)
{
    (void)state;
    static const struct {
        const char *accept, *type;
        int quality;
    } cases[] = {
        {"text/*;q=0.5, text/html;q=0.2, */*", "text/html", 200},
        {"text/*;q=0.5, text/html;q=0.2, */*", "text/csv", 500},
        {"text/*;q=0.5, text/html;q=0.2, */*", "image/png", 1000},
        {"text/html;level=1;q=0.7", "text/html", 700},
        {"text/html;q=0.3, text/html;q=0.6", "text/html", 600},
        {"text/html;q=nonsense", "text/html", 1000},
        {"text/html;q=7", "text/html", 1000},
        {", ,text/html", "text/html", 1000},
        {"text", "text/html", 0},
        {"texts/*", "text/html", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (accept_quality(str_from(cases[i].accept), cases[i].type) != cases[i].quality)
            fail_msg("%s of %s: %d", cases[i].type, cases[i].accept, accept_quality(str_from(cases[i].accept), cases[i].type));
    assert_true(accept_names(STR("text/html, */*"), "text/html; charset=utf-8"));
    assert_false(accept_names(STR("text/*, */*"), "text/html"));
    assert_false(accept_names(STR("text/html;q=0"), "text/html"));
    assert_false(accept_names((struct str){0}, "text/html"));
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
    const struct CMUnitTest tests[] = {TEST(types), TEST(a_choice_between_types_follows_the_most_precise_range), TEST(encodings),
                                       TEST(tags)};
    return RUN_TESTS(tests);
}
