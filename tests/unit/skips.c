/* SPDX-License-Identifier: Apache-2.0
 * What tap_output.py runs: a test of each kind.
 */
#include <sys/stat.h>

#include "test.h"

static void passes_and_talks(void **state)
{
    (void)state;
    struct stat st;
    assert_return_code(stat(getenv("HOME"), &st), 0);
    print_message("home %s\nand more\n", getenv("HOME"));
}

static void cannot_be_made(void **state)
{
    (void)state;
    SKIP("there is no such thing here");
}

static void fails(void **state)
{
    (void)state;
    assert_int_equal(1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(passes_and_talks), TEST(cannot_be_made), TEST(fails)};
    return RUN_TESTS(tests);
}
