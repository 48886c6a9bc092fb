/* SPDX-License-Identifier: Apache-2.0
 * What other systems get in the place of GNU's functions of strings answers as those do.
 */
#include "port/gnu/text_gnu.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(finds_as_gnu_does)};
    return RUN_TESTS(tests);
}
