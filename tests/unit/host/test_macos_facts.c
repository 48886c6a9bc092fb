/* SPDX-License-Identifier: Apache-2.0 */
#include "host/macos/facts_macos.h"

#include "test.h"

static struct str bytes_of(char *room, int32_t count, const char *text, size_t len)
{
    memcpy(room, &count, sizeof count);
    memcpy(room + sizeof count, text, len);
    return (struct str){room, sizeof count + len};
}

static void arguments_and_variables_are_behind_the_path(void **state)
{
    (void)state;
    static const char text[] = "/usr/bin/python3\0\0\0\0\0python3\0train.py\0\0HOME=/x\0RANK=1\0\0ptr_munge=\0";
    char room[128];
    struct str arguments, environment;
    assert_true(macos_arguments(bytes_of(room, 3, text, sizeof text - 1), &arguments, &environment));
    assert_int_equal(arguments.len, sizeof "python3\0train.py\0" - 0);
    assert_memory_equal(arguments.at, "python3\0train.py\0", arguments.len);
    assert_int_equal(environment.len, sizeof "HOME=/x\0RANK=1" - 0);
    assert_memory_equal(environment.at, "HOME=/x\0RANK=1", environment.len);
}

static void what_is_cut_short_is_refused(void **state)
{
    (void)state;
    char room[128];
    struct str arguments, environment;
    assert_false(macos_arguments((struct str){"\1\0", 2}, &arguments, &environment));
    assert_false(macos_arguments(bytes_of(room, 3, "/bin/x\0a\0b", 10), &arguments, &environment));
    assert_false(macos_arguments(bytes_of(room, -1, "/bin/x\0a\0", 9), &arguments, &environment));
    assert_true(macos_arguments(bytes_of(room, 1, "/bin/x\0a\0", 9), &arguments, &environment));
    assert_int_equal(environment.len, 0);
    assert_true(macos_arguments(bytes_of(room, 0, "/bin/x\0", 7), &arguments, &environment));
    assert_int_equal(arguments.len, 0);
}

static void time_is_in_the_units_of_the_processor(void **state)
{
    (void)state;
    assert_int_equal(macos_ns(1000, 1, 1), 1000);
    assert_int_equal(macos_ns(24000000, 125, 3), 1000000000);
    assert_int_equal(macos_ns(7, 125, 3), 291);
    assert_int_equal(macos_ns(24000000ULL * 86400 * 365 * 200, 125, 3), 1000000000LL * 86400 * 365 * 200); /* no overflow */
    assert_int_equal(macos_ns(1, 125, 0), -1);
}

static void only_what_the_system_tells_is_a_wait(void **state)
{
    (void)state;
    assert_int_equal(macos_wait(1), CALLS_WAIT_RUNNING);
    assert_int_equal(macos_wait(2), CALLS_WAIT_STOPPED);
    assert_int_equal(macos_wait(3), CALLS_WAIT_OTHER);
    assert_int_equal(macos_wait(4), CALLS_WAIT_OTHER);
    assert_int_equal(macos_wait(5), CALLS_WAIT_STOPPED);
}

static void cards_are_counted_and_nothing_above_them(void **state)
{
    (void)state;
    assert_true(macos_is_card("en0"));
    assert_true(macos_is_card("en12"));
    assert_false(macos_is_card("lo0"));
    assert_false(macos_is_card("utun3"));
    assert_false(macos_is_card("bridge0"));
    assert_false(macos_is_card("enc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_and_variables_are_behind_the_path), cmocka_unit_test(what_is_cut_short_is_refused),
        cmocka_unit_test(time_is_in_the_units_of_the_processor),       cmocka_unit_test(only_what_the_system_tells_is_a_wait),
        cmocka_unit_test(cards_are_counted_and_nothing_above_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
