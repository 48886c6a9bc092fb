/* SPDX-License-Identifier: Apache-2.0
 * A process that has given up the right to gain privileges, and programs that it runs outside.
 */
#include "base/launch/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "test.h"

static const char *const says[] = {"sh", "-c", "cat; echo noise >&2; exit 3", NULL};
static const char *const where[] = {"sh", "-c", "grep NoNewPrivs /proc/self/status; ls /proc/self/fd | wc -l", NULL};
static const char *const forever[] = {"sh", "-c", "echo $$; sleep 60 & sleep 60", NULL};
static const char *const missing[] = {"/no/such/program", NULL};
static const char *const *const commands[] = {says, where, forever, missing};
static const char *const foreign[] = {"sh", "-c", "grep NoNewPrivs /proc/self/status", NULL};

static struct outside helper;
static struct env env;

static int confined(void **state)
{
    (void)state;
    env_init_system(&env);
    int left = open("/dev/null", O_RDONLY); /* not for programs */
    int rc = outside_start(&helper, commands, ARRAY_LEN(commands));
    close(left);
    env.outside = &helper;
    return rc < 0 ? rc : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int stop(void **state)
{
    (void)state;
    pid_t pid = helper.helper;
    outside_stop(&helper);
    return kill(pid, 0) < 0 && errno == ESRCH ? 0 : -1;
}

static int run(const char *const *argv, const char *in, int64_t timeout_ms, struct buf *out, struct error *err)
{
    return launch_program(&env, &(struct launch){.argv = argv, .timeout_ms = timeout_ms, .out = out, .in = str_from(in)}, err);
}

static void a_program_runs_outside_and_is_spoken_to_from_here(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(1000), seen = BUF(1000);
    struct error err = {0};
    assert_int_equal(run(says, "an alert\n", 60000, &out, &err), 3);
    assert_string_equal(out.at, "an alert\n");
    assert_int_equal(run(where, "", 60000, &seen, &err), 0);
    assert_string_equal(seen.at, "NoNewPrivs:\t0\n4\n"); /* the fourth is the folder that ls reads */
}

static void what_the_helper_was_not_made_with_runs_here(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(1000);
    struct error err = {0};
    assert_int_equal(outside_find(&helper, foreign), -1);
    assert_int_equal(outside_find(&helper, (const char *const[]){"sh", "-c", NULL}), -1);
    assert_int_equal(outside_find(&helper, (const char *const[]){"sh", NULL}), -1);
    assert_int_equal(outside_find(&helper, missing), 3);
    assert_int_equal(run(foreign, "", 60000, &out, &err), 0);
    assert_string_equal(out.at, "NoNewPrivs:\t1\n");
}

static void a_number_that_is_no_command_is_refused(void **state)
{
    (void)state;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(outside_run(&helper, ARRAY_LEN(commands), -1, null, null), -EPERM);
    assert_int_equal(outside_run(&helper, -1, -1, null, null), -EPERM);
    close(null);
}

static void a_program_that_is_missing_is_named(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(run(missing, "", 60000, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/program"));
}

static void one_that_takes_too_long_is_killed_with_its_children(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(100);
    struct error err = {0};
    assert_int_equal(run(forever, "", 300, &out, &err), -ETIMEDOUT);
    long group = strtol(out.at, NULL, 10);
    assert_true(group > 0 && EVENTUALLY(kill((pid_t)-group, 0) < 0 && errno == ESRCH));
}

static void one_that_is_not_waited_for_is_killed_or_spared(void **state)
{
    (void)state;
    static const _Atomic bool cancel = true;
    struct error err = {0};
    struct launch launch = {.argv = forever, .timeout_ms = 60000, .cancel = &cancel};
    assert_int_equal(launch_program(&env, &launch, &err), -ECANCELED);
    launch.spared = true;
    launch.argv = says;
    assert_int_equal(launch_program(&env, &launch, &err), -ECANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_program_runs_outside_and_is_spoken_to_from_here),
        TEST(what_the_helper_was_not_made_with_runs_here),
        TEST(a_number_that_is_no_command_is_refused),
        TEST(a_program_that_is_missing_is_named),
        TEST(one_that_takes_too_long_is_killed_with_its_children),
        TEST(one_that_is_not_waited_for_is_killed_or_spared),
    };
    return cmocka_run_group_tests(tests, confined, stop);
}
