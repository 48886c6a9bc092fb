/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char folder[64], path[128];

static void one_at_a_time(void **state)
{
    (void)state;
    int first = -1, second = -1;
    pid_t holder = -1;
    struct error err = {0};
    assert_false(lock_held(path, &holder));
    assert_int_equal(lock_take(path, &first, &holder, &err), 0);
    assert_int_equal(lock_take(path, &second, &holder, &err), -EBUSY);
    assert_int_equal(holder, getpid());
    assert_true(lock_held(path, &holder));
    assert_int_equal(holder, getpid());
    close(first);
    assert_false(lock_held(path, &holder));
    assert_int_equal(lock_take(path, &second, &holder, &err), 0);
    close(second);
}

static void the_lock_of_a_killed_process_is_free(void **state)
{
    (void)state;
    int ready[2], fd = -1;
    pid_t holder = 0;
    struct error err = {0};
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int held = -1;
        _exit(lock_take(path, &held, &holder, &err) || write(ready[1], "x", 1) != 1 || pause() ? 1 : 0);
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(lock_take(path, &fd, &holder, &err), -EBUSY);
    assert_int_equal(holder, child);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(lock_take(path, &fd, &holder, &err), 0); /* the file is still there, with the PID of the dead */
    close(fd);
    close(ready[0]);
}

static void what_cannot_be_made_is_an_error_of_its_own(void **state)
{
    (void)state;
    int fd = -1;
    pid_t holder = -1;
    struct error err = {0};
    assert_int_equal(lock_take("/nope/lock", &fd, &holder, &err), -ENOENT);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.text, "/nope/lock"));
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/whirr-lock-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/lock", folder);
    const struct CMUnitTest tests[] = {
        TEST(one_at_a_time),
        TEST(the_lock_of_a_killed_process_is_free),
        TEST(what_cannot_be_made_is_an_error_of_its_own),
    };
    int failed = RUN_TESTS(tests);
    unlink(path);
    rmdir(folder);
    return failed;
}
