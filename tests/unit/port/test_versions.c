/* SPDX-License-Identifier: Apache-2.0
 * What other systems get in the place of GNU's strverscmp() answers as that does.
 */
#include "port/gnu/versions.h"

#include <stdio.h>

#include "test.h"

static int sign(int n)
{
    return (n > 0) - (n < 0);
}

static void assert_as_gnu(const char *a, const char *b)
{
    if (sign(gnu_strverscmp(a, b)) != sign(strverscmp(a, b)))
        fail_msg("'%s' and '%s'", a, b);
}

static void orders_as_gnu_does(void **state)
{
    (void)state;
    static const char letters[] = "0019a.-2";
    unsigned seed = 38;
    for (int n = 0; n < 200000; n++) {
        char text[2][8] = {"", ""};
        for (int i = 0; i < 2; i++)
            for (int len = rand_r(&seed) % 7, k = 0; k < len; k++)
                text[i][k] = letters[rand_r(&seed) % 8];
        assert_as_gnu(text[0], text[1]);
    }
    assert_true(gnu_strverscmp("card9", "card10") < 0);
    assert_true(gnu_strverscmp("000", "00") < 0 && gnu_strverscmp("0.9", "0.10") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(orders_as_gnu_does)};
    return RUN_TESTS(tests);
}
