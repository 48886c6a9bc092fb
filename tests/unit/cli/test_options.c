/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

static const char *const sorts[] = {"memory", "power", NULL};
static const struct option_spec specs[] = {{.name = "sort", .argument = "WHAT", .values = sorts},
                                           {.name = "watch", .letter = 'w', .argument = "SECONDS", .optional = true},
                                           {.name = "source", .argument = "NAME"},
                                           {.name = "json"}};
static const struct option_table table = {specs, ARRAY_LEN(specs)};

static int parse(struct options *o, struct error *err, int argc, const char **argv)
{
    *o = (struct options){0};
    *err = (struct error){0};
    return options_parse(o, &table, 1, argc, (char **)argv, err);
}

#define PARSE(o, err, ...) \
    parse(o, err, (int)ARRAY_LEN(((const char *[]){"whirr", __VA_ARGS__})), (const char *[]){"whirr", __VA_ARGS__, NULL})

static void options_may_stand_anywhere_until_two_dashes(void **state)
{
    (void)state;
    struct options o;
    struct error err;
    assert_int_equal(PARSE(&o, &err, "a", "--sort", "power", "b", "--source=x", "--source", "y", "--", "--json"), 0);
    assert_string_equal(options_value(&o, "sort", ""), "power");
    assert_string_equal(options_value(&o, "source", ""), "y"); /* the last one */
    assert_int_equal(options_times(&o, "source"), 2);
    assert_false(options_has(&o, "json"));
    assert_int_equal(o.argument_count, 3);
    assert_string_equal(o.arguments[2], "--json");
}

static void wrong_usage_is_named_with_what_is_near(void **state)
{
    (void)state;
    struct options o;
    struct error err;
    assert_int_equal(PARSE(&o, &err, "--sotr", "power"), -EINVAL);
    assert_non_null(strstr(err.text, "did you mean '--sort'?"));
    assert_int_equal(PARSE(&o, &err, "--sort", "powr"), -EINVAL);
    assert_non_null(strstr(err.text, "'power'"));
    assert_int_equal(PARSE(&o, &err, "--sort"), -EINVAL);
    assert_non_null(strstr(err.text, "needs a value"));
    assert_int_equal(PARSE(&o, &err, "--json=yes"), -EINVAL);
    assert_int_equal(PARSE(&o, &err, "-x"), -EINVAL);
}

static void seconds_are_above_zero(void **state)
{
    (void)state;
    struct options o;
    struct error err;
    int64_t ms = 7;
    assert_int_equal(PARSE(&o, &err, "--json"), 0);
    assert_int_equal(options_seconds(&o, "watch", &ms, &err), 0);
    assert_int_equal(ms, 7); /* not given: as it was */
    assert_int_equal(PARSE(&o, &err, "--watch=0.5"), 0);
    assert_int_equal(options_seconds(&o, "watch", &ms, &err), 0);
    assert_int_equal(ms, 500);
    assert_int_equal(PARSE(&o, &err, "-w3s"), 0);
    assert_int_equal(options_seconds(&o, "watch", &ms, &err), 0);
    assert_int_equal(ms, 3000);
    static const char *const wrong[] = {"--watch=0", "--watch=-1", "--watch=soon", "--watch=1e99"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(PARSE(&o, &err, wrong[i]), 0);
        assert_int_equal(options_seconds(&o, "watch", &ms, &err), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(options_may_stand_anywhere_until_two_dashes),
        TEST(wrong_usage_is_named_with_what_is_near),
        TEST(seconds_are_above_zero),
    };
    return RUN_TESTS(tests);
}
