/* SPDX-License-Identifier: Apache-2.0
 * What other systems get in the place of GNU's functions of text answers as those do.
 */
#include "port/gnu/text_gnu.h"

#include <stdio.h>
#include <stdlib.h>

#include "test.h"

static void finds_as_gnu_does(void **state)
{
    (void)state;
    static const char letters[] = "aab\xff";
    unsigned seed = 38;
    for (int n = 0; n < 20000; n++) {
        char text[9] = "";
        size_t len = (size_t)rand_r(&seed) % sizeof text;
        for (size_t i = 0; i < len; i++)
            text[i] = letters[rand_r(&seed) % 5]; /* the end, too */
        for (size_t i = 0; i < sizeof letters; i++) {
            int letter = (unsigned char)letters[i];
            assert_ptr_equal(gnu_memrchr(text, letter, len), memrchr(text, letter, len));
            assert_ptr_equal(gnu_strchrnul(text, letter), strchrnul(text, letter));
        }
        char copy[sizeof text];
        assert_ptr_equal(gnu_mempcpy(copy, text, len), copy + len);
        assert_memory_equal(copy, text, len);
    }
}

/* ---- versions ---- */

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
    const struct CMUnitTest tests[] = {TEST(finds_as_gnu_does), TEST(orders_as_gnu_does)};
    return RUN_TESTS(tests);
}
