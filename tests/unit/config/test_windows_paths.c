/* SPDX-License-Identifier: Apache-2.0
 * Paths of Windows from options and settings.
 */
#include "config/places.h"
#include "test.h"

static void typed_paths_are_parted_at_slashes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"sqlite:C:\\data\\w.db", "sqlite:C:/data/w.db"},
        {"C:\\data\\w.db", "sqlite:C:/data/w.db"},
        {"sqlite:\\\\server\\share\\w.db", "sqlite://server/share/w.db"},
        {"postgresql://me:a\\b@db/whirr", "postgresql://me:a\\b@db/whirr"}, /* a password */
    };
    char url[STORE_PLACE_SIZE], path[PLACE_SIZE];
    struct error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(store_place(cases[i][0], url, &err), 0);
        assert_string_equal(url, cases[i][1]);
    }
    assert_true(place_to_act("C:\\run\\whirr.sock", path));
    assert_string_equal(path, "C:/run/whirr.sock");
    place_typed(path, sizeof path, "D:\\models\\x.gguf");
    assert_string_equal(path, "D:/models/x.gguf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(typed_paths_are_parted_at_slashes),
    };
    return RUN_TESTS(tests);
}
