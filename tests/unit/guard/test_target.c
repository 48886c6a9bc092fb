/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/guard_target.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sysroot.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "guard/method.h"

static void add(struct sysroot *s, int pid, int tgid, char state, int64_t start)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (a) b) %c 1 1 1 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 1 0 %lld 0 10 0\n", pid, state,
             (long long)start);
    sysroot_write(s, path, text);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    snprintf(text, sizeof text, "Name:\ta) b\nState:\t%c (x)\nTgid:\t%d\nPid:\t%d\n", state, tgid, pid);
    sysroot_write(s, path, text);
}

static void only_the_very_process_passes(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    add(&s, 10, 10, 'S', 500);
    add(&s, 11, 10, 'S', 501);
    add(&s, 12, 12, 'T', 500);
    add(&s, 13, 13, 'Z', 500);
    add(&s, 14, 14, 't', 500);
    const struct {
        struct claim_identity who;
        int expected;
        const char *words;
        enum worker_presence there;
    } cases[] = {
        {{10, 500}, 0, "", WORKER_ALIVE},
        {{10, 0}, 0, "", WORKER_ALIVE}, /* its start was never known */
        {{10, 499}, -ESRCH, "belongs to another one now", WORKER_GONE},
        {{11, 501}, -EINVAL, "a thread of process 10", WORKER_GONE},
        {{12, 500}, -EBUSY, "is stopped", WORKER_ALIVE},
        {{14, 500}, -EBUSY, "is stopped", WORKER_ALIVE}, /* by a debugger */
        {{13, 500}, -ESRCH, "has ended", WORKER_GONE},
        {{99, 1}, -ESRCH, "is gone", WORKER_GONE},
        {{0, 0}, -ESRCH, "is gone", WORKER_GONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        assert_int_equal(target_check(&s.env, cases[i].who, &err), cases[i].expected);
        assert_non_null(strstr(err.text, cases[i].words));
        assert_int_equal(target_presence(&s.env, cases[i].who), cases[i].there);
    }
}

static void a_signal_reaches_that_process_and_no_other(void **state)
{
    (void)state;
    struct env env;
    env_init_system(&env);
    struct error err = {0};
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    struct claim_identity who = {.pid = child};
    assert_int_equal(target_started(&env, child, &who.start_key), 0);
    struct claim_identity before = {child, who.start_key - 1}; /* had the number before */
    assert_int_equal(target_signal(&env, before, SIGTERM, &err), -ESRCH);
    assert_int_equal(target_presence(&env, who), WORKER_ALIVE);
    int status;
    assert_int_equal(target_signal(&env, who, SIGTERM, &err), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(target_signal(&env, who, SIGTERM, &err), -ESRCH);
    assert_non_null(strstr(err.text, "is gone"));
}

static void a_child_of_an_earlier_guard_that_is_gone_is_not_ended(void **state)
{
    (void)state;
    struct env env;
    env_init_system(&env);
    int ask[2], answer[2], status;
    char word = 'x';
    assert_true(pipe(ask) == 0 && pipe(answer) == 0);
    pid_t other = fork();
    if (other == 0) {
        close(ask[1]);
        close(answer[0]);
        while (read(ask[0], &word, 1) == 1 && write(answer[1], &word, 1) == 1)
            ;
        _exit(0);
    }
    close(ask[0]);
    close(answer[1]);
    setpgid(other, other);
    struct claim_identity who = {.pid = other};
    assert_int_equal(target_started(&env, other, &who.start_key), 0);
    struct child gone = {.pid = other, .start_key = who.start_key - 1, .adopted = true, .stop_timeout_ms = 100};
    assert_int_equal(child_stop(&env, &gone, NULL), 0);
    assert_int_equal(gone.pid, 0);
    assert_int_equal(write(ask[1], &word, 1), 1);
    assert_int_equal(read(answer[0], &word, 1), 1); /* a signal would have come first */
    struct child adopted = {.pid = other, .start_key = who.start_key, .adopted = true, .stop_timeout_ms = 100};
    assert_int_equal(child_stop(&env, &adopted, NULL), 0);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFSIGNALED(status));
    close(ask[1]);
    close(answer[0]);
}

static void the_machine_must_have_room_for_what_moves_there(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct error err = {0};
    sysroot_init(&s);
    assert_int_equal(target_host_room(&s.env, 10, GIB_BYTES, &err), -EIO); /* not known */
    sysroot_write(&s, "/proc/meminfo", "MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n");
    assert_int_equal(target_host_room(&s.env, 10, 3 * GIB_BYTES, &err), 0);
    assert_int_equal(target_host_room(&s.env, 10, 4 * GIB_BYTES, &err), -ENOMEM); /* 512 MiB are left for the others */
    assert_non_null(strstr(err.text, "the host has room for 3.5 GiB more, but 4.0 GiB"));
}

static void every_control_group_above_it_must_have_room_too(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct error err = {0};
    sysroot_init(&s);
    sysroot_write(&s, "/proc/meminfo", "MemAvailable:    104857600 kB\n");
    sysroot_write(&s, "/proc/10/cgroup", "0::/ai.slice/llm.service\n");
    sysroot_write(&s, "/sys/fs/cgroup/ai.slice/llm.service/memory.max", "max\n");
    sysroot_write(&s, "/sys/fs/cgroup/ai.slice/llm.service/memory.current", "1073741824\n");
    assert_int_equal(target_host_room(&s.env, 10, 10 * GIB_BYTES, &err), 0);
    sysroot_write(&s, "/sys/fs/cgroup/ai.slice/memory.max", "8589934592\n");
    sysroot_write(&s, "/sys/fs/cgroup/ai.slice/memory.current", "2147483648\n");
    assert_int_equal(target_host_room(&s.env, 10, 6 * GIB_BYTES, &err), 0);
    assert_int_equal(target_host_room(&s.env, 10, 6 * GIB_BYTES + 1, &err), -ENOMEM);
    assert_non_null(strstr(err.text, "control group"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_the_very_process_passes),
        TEST(a_signal_reaches_that_process_and_no_other),
        TEST(a_child_of_an_earlier_guard_that_is_gone_is_not_ended),
        TEST(the_machine_must_have_room_for_what_moves_there),
        TEST(every_control_group_above_it_must_have_room_too),
    };
    return RUN_TESTS(tests);
}
