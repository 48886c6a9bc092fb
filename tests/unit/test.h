/* SPDX-License-Identifier: Apache-2.0
 * What every unit test includes: cmocka with the headers it needs in front, and the folder of recorded machines.
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

/* The folder of recorded machines, NULL where it is not present: such tests then skip() and say so. */
static inline const char *fixtures_dir(void)
{
    const char *dir = getenv("WHIRR_FIXTURES");
    return dir && access(dir, R_OK) == 0 ? dir : NULL;
}

#define TEST(function) cmocka_unit_test(function)
#define RUN_TESTS(tests) cmocka_run_group_tests(tests, NULL, NULL)
