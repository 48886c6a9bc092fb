/* SPDX-License-Identifier: Apache-2.0
 * Schedules of test_lease_state.c on the real program: a process is killed before each write to the journal and to the GPU, or that
 * write fails; another program may set the value then; the next process cleans up. The GPU keeps what it has in memory that
 * processes share.
 */
#include "lease/lease_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "test.h"

enum { LEAST = 300, MOST = 2100, POINTS_MOST = 100 };
static const struct control_value before = {.low = 600, .high = 1950}, asked = {.low = 1200, .high = 1500},
                                  theirs = {.low = 900, .high = 1700};

/* ---- the points at which something happens ---- */

static int points, kill_at, fail_at; /* of this process */

static bool fails_here(void)
{
    points++;
    if (points == kill_at)
        raise(SIGKILL);
    return points == fail_at;
}

static int call(long number, long a, long b, long c, long d)
{
    if (!fails_here())
        return (int)syscall(number, a, b, c, d);
    errno = ENOSPC;
    return -1;
}

/* In place of the library's. */
int fsync(int fd)
{
    return call(SYS_fsync, fd, 0, 0, 0);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    if (!fails_here())
        return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
    errno = ENOSPC;
    return -1;
}

/* ---- a GPU whose clocks are set one after the other ---- */

static struct control_value *clocks;

static int look(struct source *s, size_t gpu, enum control_kind kind, struct control_state *ret, struct error *err)
{
    (void)s, (void)gpu, (void)kind, (void)err;
    *ret = (struct control_state){.now = *clocks, .now_known = true, .exact_stock = true, .least = LEAST, .most = MOST};
    ret->stock_value = (struct control_value){.low = LEAST, .high = MOST};
    return 0;
}

static int set(struct source *s, size_t gpu, enum control_kind kind, struct control_value v, struct error *err)
{
    (void)s, (void)gpu, (void)kind;
    for (int i = 0; i < 2; i++) {
        if (fails_here())
            return error_set(err, -EIO, "the driver refuses");
        *(i ? &clocks->high : &clocks->low) = i ? v.high : v.low;
    }
    return 0;
}

static const struct control_ops ops = {.look = look, .set = set};
static const struct source_ops source_ops = {.name = "test", .control = &ops};
static struct source source = {.ops = &source_ops};
static struct control_set gpus = {.gpu_count = 1, .gpus = {{.source = &source, .id = {.uuid = "GPU-0"}}}};

/* ---- the processes ---- */

static int change_and_end(const char *folder)
{
    AUTO_LEASE_DIR struct lease_dir d = LEASE_DIR_CLOSED;
    struct lease l;
    struct error err = {0};
    lease_init(&l, LEASE_SETTING, getpid(), clock_wall(&clock_system));
    int rc = lease_dir_open_settings(&d, folder, &err);
    rc = rc < 0 ? rc : lease_dir_lock(&d, 1000, &err);
    rc = rc < 0 ? rc : lease_set_plan(&l, &gpus.gpus[0], 0, CONTROL_CLOCKS, asked, &err);
    rc = rc < 0 ? rc : lease_set_begin(&d, &gpus, &l, &err);
    if (rc < 0)
        return EXIT_FAILED;
    if (clocks->low != asked.low || clocks->high != asked.high)
        return EXIT_USAGE;
    return lease_set_end(&d, &gpus, &l, NULL, &err) < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* Its wait status; *ret_points: how many there were. */
static int run_until(const char *folder, int kill_point, int fail_point)
{
    *clocks = before;
    pid_t pid = fork();
    if (pid == 0) {
        points = 0;
        kill_at = kill_point;
        fail_at = fail_point;
        int status = change_and_end(folder);
        _exit(points < MAX_OF(kill_point, fail_point) ? EXIT_FINE + 77 : status);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void clean_up(const char *folder, struct control_value wanted, int point)
{
    AUTO_LEASE_DIR struct lease_dir d = LEASE_DIR_CLOSED;
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct error err = {0};
    assert_int_equal(lease_dir_open_settings(&d, folder, &err), 0);
    assert_int_equal(lease_dir_lock(&d, 1000, &err), 0);
    assert_int_equal(lease_set_recover(&d, &gpus, false, &err), 0);
    assert_int_equal(lease_dir_list(&d, clock_wall(&clock_system), &list, &err), 0);
    if (list.count || clocks->low != wanted.low || clocks->high != wanted.high)
        fail_msg("at point %d: %zu leases, %lld to %lld", point, list.count, (long long)clocks->low, (long long)clocks->high);
}

static void everywhere(bool killed, bool meddled)
{
    char folder[64];
    int point = 1;
    make_folder_here(folder);
    for (;; point++) {
        int status = run_until(folder, killed ? point : 0, killed ? 0 : point);
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FINE + 77)
            break; /* there is no such point */
        assert_true(point < POINTS_MOST);
        assert_int_equal(WIFSIGNALED(status), killed);
        if (meddled)
            *clocks = theirs;
        clean_up(folder, meddled ? theirs : before, point);
    }
    assert_true(point > 12); /* three records of three calls, and the GPU's two parts twice */
    char beside[80];
    snprintf(beside, sizeof beside, "%s-settings", folder);
    remove_all(beside);
    snprintf(beside, sizeof beside, "%s-settings-shown", folder);
    remove_all(beside);
    remove_all(folder);
}

static void killed_anywhere_the_old_value_comes_back(void **state)
{
    (void)state;
    everywhere(true, false);
}

static void killed_anywhere_the_value_of_another_program_stays(void **state)
{
    (void)state;
    everywhere(true, true);
}

static void whichever_write_fails_the_old_value_comes_back(void **state)
{
    (void)state;
    everywhere(false, false);
}

static void what_was_planned_is_read_again(void **state)
{
    (void)state;
    char folder[64];
    struct lease_dir d;
    struct lease l;
    struct error err = {0};
    make_folder_here(folder);
    *clocks = asked; /* of another lease, which ends in between */
    lease_init(&l, LEASE_SETTING, getpid(), clock_wall(&clock_system));
    assert_int_equal(lease_dir_open_settings(&d, folder, &err), 0);
    assert_int_equal(lease_dir_lock(&d, 1000, &err), 0);
    assert_int_equal(lease_set_plan(&l, &gpus.gpus[0], 0, CONTROL_CLOCKS, theirs, &err), 0);
    *clocks = before;
    assert_int_equal(lease_set_begin(&d, &gpus, &l, &err), 0);
    assert_int_equal(lease_set_end(&d, &gpus, &l, NULL, &err), 0);
    assert_int_equal(clocks->low, before.low);
    assert_int_equal(clocks->high, before.high);
    remove_all(d.path);
    remove_all(d.shown_path);
    remove_all(folder);
    lease_dir_close(&d);
}

static void a_gpu_that_is_gone_is_said(void **state)
{
    (void)state;
    char folder[64];
    struct lease_dir d;
    struct lease l;
    struct error err = {0};
    make_folder_here(folder);
    lease_init(&l, LEASE_SETTING, getpid(), clock_wall(&clock_system));
    assert_int_equal(lease_set_plan(&l, control_find(&gpus, "GPU-9"), 9, CONTROL_CLOCKS, asked, &err), -ENODEV);
    assert_non_null(strstr(err.text, "GPU 9 is not there"));
    assert_int_equal(lease_dir_open_settings(&d, folder, &err), 0);
    assert_int_equal(lease_set_stock(&d, &gpus, NULL, CONTROL_CLOCKS, &err), -ENODEV);
    remove_all(d.path);
    remove_all(d.shown_path);
    remove_all(folder);
    lease_dir_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_anywhere_the_old_value_comes_back),
        TEST(killed_anywhere_the_value_of_another_program_stays),
        TEST(whichever_write_fails_the_old_value_comes_back),
        TEST(what_was_planned_is_read_again),
        TEST(a_gpu_that_is_gone_is_said),
    };
    clocks = mmap(NULL, sizeof *clocks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return clocks == MAP_FAILED ? EXIT_FAILED : RUN_TESTS(tests);
}
