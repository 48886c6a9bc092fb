/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/programs.h"

#include "base/cleanup.h"
#include "sysroot.h"

#define ONE "python3\0/home/alice/train.py\0"
#define OTHER "/usr/games/Doom\0"

static void a_program_is_found_by_its_number_or_what_it_is_called(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    sysroot_write_bytes(&s, "/proc/70/cmdline", ONE, sizeof ONE - 1);
    sysroot_write_bytes(&s, "/proc/71/cmdline", ONE, sizeof ONE - 1);
    sysroot_write_bytes(&s, "/proc/72/cmdline", OTHER, sizeof OTHER - 1);
    static const struct {
        const char *asked;
        size_t count;
        int32_t pid; /* of the only one */
    } cases[] = {{"70", 1, 70}, {"73", 0, 0}, {"0", 0, 0}, {"train.py", 2, 0}, {"doom", 1, 72}, {"quake", 0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct program_found found[4];
        assert_int_equal(programs_called(&s.env, cases[i].asked, found, ARRAY_LEN(found)), cases[i].count);
        if (cases[i].count == 1)
            assert_int_equal(found[0].pid, cases[i].pid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_is_found_by_its_number_or_what_it_is_called)};
    return RUN_TESTS(tests);
}
