/* SPDX-License-Identifier: Apache-2.0
 * What every unit test includes: cmocka with the headers it needs in front, and what tap.c adds to it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Ends a test that cannot be made here; the reason is listed with the results. */
extern const char *skip_reason;
#define SKIP(reason) (skip_reason = (reason), skip())

/* A folder of whole recorded trees, an extra beside tests/machines; NULL where there is none. */
static inline const char *fixtures_dir(void)
{
    const char *dir = getenv("WHIRR_FIXTURES");
    return dir && access(dir, R_OK) == 0 ? dir : NULL;
}

#define TEST(function) cmocka_unit_test(function)
#define RUN_TESTS(tests) cmocka_run_group_tests(tests, NULL, NULL)
