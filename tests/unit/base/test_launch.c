/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "test.h"

static int run(const char *script, int64_t timeout_ms, struct buf *out, struct error *err)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct launch launch = {.argv = argv, .timeout_ms = timeout_ms, .out = out};
    struct env env;
    env_init_system(&env);
    return env.launch(&env, &launch, err);
}

static void gives_output_and_exit_status(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(100);
    struct error err = {0};
    assert_int_equal(run("echo hello; echo noise >&2; exit 3", 60000, &out, &err), 3);
    assert_string_equal(out.at, "hello\n");
}

static void kills_the_whole_group_at_the_deadline(void **state)
{
    (void)state;
    struct error err = {0};
    struct mono before = clock_mono(&clock_system);
    assert_int_equal(run("sleep 60 & sleep 60", 50, NULL, &err), -ETIMEDOUT);
    assert_true(mono_since_ms(clock_mono(&clock_system), before) < 30000);
    assert_non_null(strstr(err.text, "did not finish"));
}

static void a_flood_of_output_stays_bounded(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(1000);
    struct error err = {0};
    assert_int_equal(run("head -c 300000 /dev/zero", 60000, &out, &err), 0);
    assert_true(out.failed);
}

static void says_which_program_is_missing(void **state)
{
    (void)state;
    const char *argv[] = {"/no/such/program", NULL};
    struct launch launch = {.argv = argv, .timeout_ms = 1000};
    struct env env;
    env_init_system(&env);
    struct error err = {0};
    assert_int_equal(env.launch(&env, &launch, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/program"));
}

static void a_program_gets_its_input_and_its_end(void **state)
{
    (void)state;
    const char *argv[] = {"wc", "-c", NULL};
    AUTO_BUF struct buf input = BUF(1 << 20), out = BUF(100);
    for (int i = 0; i < 30000; i++)
        buf_text(&input, "0123456789"); /* more than a pipe holds */
    struct launch launch = {.argv = argv, .timeout_ms = 60000, .out = &out, .in = buf_view(&input)};
    struct env env;
    env_init_system(&env);
    struct error err = {0};
    assert_int_equal(env.launch(&env, &launch, &err), 0);
    assert_int_equal(strtol(out.at, NULL, 10), 300000);
}

static void a_program_may_leave_its_input_unread(void **state)
{
    (void)state;
    const char *argv[] = {"true", NULL};
    AUTO_BUF struct buf input = BUF(1 << 20);
    for (int i = 0; i < 30000; i++)
        buf_text(&input, "0123456789");
    struct launch launch = {.argv = argv, .timeout_ms = 60000, .in = buf_view(&input)};
    struct env env;
    env_init_system(&env);
    struct error err = {0};
    assert_int_equal(env.launch(&env, &launch, &err), 0); /* and SIGPIPE did not end this test */
}

static void one_that_is_no_longer_wanted_is_killed_soon(void **state)
{
    (void)state;
    static const _Atomic bool cancel = true;
    const char *argv[] = {"sleep", "60", NULL};
    struct launch launch = {.argv = argv, .timeout_ms = 60000, .cancel = &cancel};
    struct env env;
    env_init_system(&env);
    struct error err = {0};
    struct mono before = clock_mono(&clock_system);
    assert_int_equal(env.launch(&env, &launch, &err), -ECANCELED);
    assert_true(mono_since_ms(clock_mono(&clock_system), before) < 30000);
}

static void a_spared_process_lives_on_when_it_is_not_waited_for(void **state)
{
    (void)state;
    static const _Atomic bool cancel = true;
    char folder[64], go_on[80], path[80], script[256];
    make_folder_here(folder);
    snprintf(go_on, sizeof go_on, "%s/go-on", folder);
    snprintf(path, sizeof path, "%s/done", folder);
    snprintf(script, sizeof script, "until [ -e %s ]; do sleep 0.05; done; echo done > %s", go_on, path);
    const char *argv[] = {"sh", "-c", script, NULL};
    struct launch launch = {.argv = argv, .timeout_ms = 60000, .cancel = &cancel, .spared = true};
    struct error err = {0};
    assert_int_equal(launch_program(NULL, &launch, &err), -ECANCELED);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(close(creat(go_on, 0600)), 0);
    assert_true(EVENTUALLY(access(path, F_OK) == 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gives_output_and_exit_status),          TEST(a_program_gets_its_input_and_its_end),
        TEST(a_program_may_leave_its_input_unread),  TEST(one_that_is_no_longer_wanted_is_killed_soon),
        TEST(kills_the_whole_group_at_the_deadline), TEST(a_flood_of_output_stays_bounded),
        TEST(says_which_program_is_missing),         TEST(a_spared_process_lives_on_when_it_is_not_waited_for),
    };
    return RUN_TESTS(tests);
}
