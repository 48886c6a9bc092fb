/* SPDX-License-Identifier: Apache-2.0 */
#include "host/windows/facts_windows.h"

#include "test.h"

/* The arguments with a bar behind each. */
static const char *split(const char *line, char out[256])
{
    char text[128];
    size_t len = windows_arguments(str_from(line), text, sizeof text);
    for (size_t i = 0; i < len; i++)
        out[i] = text[i] ? text[i] : '|';
    out[len] = '\0';
    return out;
}

static void a_command_line_is_split_as_the_runtime_splits_it(void **state)
{
    (void)state;
    static const struct {
        const char *line, *arguments;
    } cases[] = {
        {"", ""},
        {"python train.py", "python|train.py|"},
        {"  \"C:\\Program Files\\Python\\python.exe\"   -m  torch ", "C:\\Program Files\\Python\\python.exe|-m|torch|"},
        {"x \"a b\" c", "x|a b|c|"},
        {"x a\\\\\\\\b", "x|a\\\\\\\\b|"}, /* backslashes in front of a letter are letters */
        {"x \"a\\\\\" b", "x|a\\|b|"},     /* two in front of a quote are one */
        {"x a\\\"b \"c d", "x|a\"b|c d|"}, /* one makes it a letter; the last quote need not end */
        {"x \"he said \"\"no\"\"\"", "x|he said \"no\"|"},
        {"x \"\" y", "x||y|"},
        {"x\ty", "x|y|"},
        {"C:\\a\\\"b c\" d", "C:\\a\\b c|d|"}, /* in the program's name a backslash is always a letter */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[256];
        assert_string_equal(split(cases[i].line, out), cases[i].arguments);
    }
}

static void what_does_not_fit_is_left_out_as_a_whole(void **state)
{
    (void)state;
    char text[8];
    memset(text, 'x', sizeof text);
    assert_int_equal(windows_arguments(STR("abc de fgh"), text, sizeof text), 7);
    assert_memory_equal(text, "abc\0de\0", 7);
    assert_int_equal(windows_arguments(STR("abcdefghijk"), text, sizeof text), 0);
    assert_int_equal(windows_arguments(STR("abcdefg"), text, sizeof text), 8);
    assert_int_equal(windows_arguments(STR("a"), text, 1), 0);
}

static void times_count_from_1970_and_no_start_is_zero(void **state)
{
    (void)state;
    assert_int_equal(windows_wall(133485408000000000).ms, 1704067200000); /* 2024-01-01 */
    assert_int_equal(windows_wall(0).ms, 0);
    assert_int_equal(windows_start_key(133485408000000000), 1704067200000);
    assert_int_equal(windows_start_key(0), 1);
}

static void waits_are_told_apart_as_far_as_the_kernel_does(void **state)
{
    (void)state;
    assert_int_equal(windows_wait(2, 0), CALLS_WAIT_RUNNING);
    assert_int_equal(windows_wait(1, 37), CALLS_WAIT_RUNNING); /* ready: the reason is of the wait before */
    assert_int_equal(windows_wait(5, 37), CALLS_WAIT_LOCK);
    assert_int_equal(windows_wait(5, 4), CALLS_WAIT_SLEEP);
    assert_int_equal(windows_wait(5, 5), CALLS_WAIT_STOPPED);
    assert_int_equal(windows_wait(5, 9), CALLS_WAIT_DISK);
    assert_int_equal(windows_wait(5, 6), CALLS_WAIT_OTHER); /* "an object" */
    assert_int_equal(windows_wait(4, 4), CALLS_WAIT_OTHER); /* it has ended */
}

static void a_parent_was_there_before(void **state)
{
    (void)state;
    struct calls_process list[] = {
        {.pid = 4, .parent = 0, .start_key = 1},      {.pid = 100, .parent = 4, .start_key = 50},
        {.pid = 200, .parent = 300, .start_key = 60}, /* the number 300 was given again */
        {.pid = 300, .parent = 100, .start_key = 70}, {.pid = 400, .parent = 999, .start_key = 80}, /* it has ended */
        {.pid = 500, .parent = 500, .start_key = 90}};
    windows_drop_false_parents(list, 6);
    assert_int_equal(list[1].parent, 4);
    assert_int_equal(list[2].parent, 0);
    assert_int_equal(list[3].parent, 100);
    assert_int_equal(list[4].parent, 0);
    assert_int_equal(list[5].parent, 0);
}

static void only_loopback_reaches_a_listener(void **state)
{
    (void)state;
    static const uint8_t any[16] = {0}, home[4] = {127, 0, 0, 2}, lan[4] = {192, 168, 0, 1}, one[16] = {[15] = 1}, six[16] = {0xfe};
    char address[LISTEN_ADDRESS_SIZE];
    windows_loopback(any, 4, address);
    assert_string_equal(address, "127.0.0.1");
    windows_loopback(home, 4, address);
    assert_string_equal(address, "127.0.0.2");
    windows_loopback(lan, 4, address);
    assert_string_equal(address, "");
    windows_loopback(any, 16, address);
    assert_string_equal(address, "[::1]");
    windows_loopback(one, 16, address);
    assert_string_equal(address, "[::1]");
    windows_loopback(six, 16, address);
    assert_string_equal(address, "");
}

static void a_program_is_called_as_on_other_systems(void **state)
{
    (void)state;
    assert_true(str_is(windows_program_name(STR("C:\\Program Files/x\\python.exe")), "python"));
    assert_true(str_is(windows_program_name(STR("C:/x/Whirr.EXE")), "Whirr"));
    assert_true(str_is(windows_program_name(STR("System")), "System"));
    assert_true(str_is(windows_program_name(STR(".exe")), ".exe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_line_is_split_as_the_runtime_splits_it),
        cmocka_unit_test(what_does_not_fit_is_left_out_as_a_whole),
        cmocka_unit_test(times_count_from_1970_and_no_start_is_zero),
        cmocka_unit_test(waits_are_told_apart_as_far_as_the_kernel_does),
        cmocka_unit_test(a_parent_was_there_before),
        cmocka_unit_test(only_loopback_reaches_a_listener),
        cmocka_unit_test(a_program_is_called_as_on_other_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
