/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

static void *mathematics(void)
{
    struct error err = {0};
    void *library = library_load("libm.so.6", &err);
    assert_non_null(library);
    return library;
}

static void functions_are_found_by_their_names(void **state)
{
    (void)state;
    double (*floor_of)(double) = NULL, (*ceiling_of)(double) = NULL;
    const struct library_symbol symbols[] = {{"floor", &floor_of}, {"ceil", &ceiling_of}};
    struct error err = {0};
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), &err), 0);
    assert_true(floor_of(2.5) == 2.0);
    assert_true(ceiling_of(2.5) == 3.0);
    assert_string_equal(err.text, "");
}

static void a_missing_one_is_named(void **state)
{
    (void)state;
    double (*floor_of)(double) = NULL, (*other)(double) = NULL;
    const struct library_symbol symbols[] = {{"floor", &floor_of}, {"no_such_function", &other}};
    struct error err = {0};
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), &err), -ENOSYS);
    assert_string_equal(err.text, "the one found has no no_such_function");
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), NULL), -ENOSYS);
}

static double some_function(double x)
{
    return x;
}

static void an_optional_one_may_be_missing_and_is_null_then(void **state)
{
    (void)state;
    double (*floor_of)(double) = NULL, (*other)(double) = some_function;
    const struct library_symbol symbols[] = {{"no_such_function", &other, .optional = true}, {"floor", &floor_of}};
    struct error err = {0};
    assert_int_equal(library_symbols(mathematics(), symbols, ARRAY_LEN(symbols), &err), 0);
    assert_null(other);
    assert_non_null(floor_of);
}

static void a_library_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(library_load("libno-such-library.so.9", &err));
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.text, "libno-such-library.so.9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(functions_are_found_by_their_names),
        TEST(a_missing_one_is_named),
        TEST(an_optional_one_may_be_missing_and_is_null_then),
        TEST(a_library_that_is_not_there_is_named),
    };
    return RUN_TESTS(tests);
}
