/* SPDX-License-Identifier: Apache-2.0 */
#include "lease/lease_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

static const struct wall now = {1800000000000};

static void open_here(struct lease_dir *d)
{
    char path[64];
    struct error err = {0};
    make_folder_here(path);
    assert_int_equal(lease_dir_open(d, path, &err), 0);
}

static void close_here(struct lease_dir *d)
{
    remove_all(d->path);
    lease_dir_close(d);
}

static struct lease lease_for(enum lease_kind kind, int32_t pid)
{
    struct lease l;
    lease_init(&l, kind, pid, now);
    assert_int_equal(lease_new_id(l.id), 0);
    l.gpus_wanted = 1;
    l.gpu_count = 1;
    snprintf(l.gpus[0].uuid, sizeof l.gpus[0].uuid, "GPU-0");
    return l;
}

static size_t count(const struct lease_dir *d, enum lease_state state, struct wall at)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct error err = {0};
    size_t found = 0;
    assert_int_equal(lease_dir_list(d, at, &list, &err), 0);
    for (size_t i = 0; i < list.count; i++)
        found += list.at[i].state == state;
    return found;
}

static void write_file(const struct lease_dir *d, const char *name, const char *text)
{
    AUTO_CLOSE int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void what_is_put_is_listed_until_it_is_removed(void **state)
{
    (void)state;
    struct lease_dir d;
    struct error err = {0};
    open_here(&d);
    struct lease l = lease_for(LEASE_RESERVE, 0), m = lease_for(LEASE_RESERVE, 0);
    l.until.ms = now.ms + HOUR_MS;
    l.ticket = 5;
    m.ticket = 3;
    assert_int_equal(lease_dir_lock(&d, 1000, &err), 0);
    assert_int_equal(lease_dir_put(&d, &l, &err), 0);
    assert_int_equal(lease_dir_put(&d, &m, &err), 0);
    lease_dir_unlock(&d);
    AUTO_LEASE_LIST struct lease_list list = {0};
    assert_int_equal(lease_dir_list(&d, now, &list, &err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.at[0].id, m.id);
    assert_int_equal(list.next_ticket, 6);
    assert_int_equal(list.problem_count, 0);
    assert_int_equal(count(&d, LEASE_ENDED, (struct wall){now.ms + HOUR_MS}), 1);
    assert_int_equal(lease_dir_remove(&d, l.id, &err), 0);
    assert_int_equal(lease_dir_remove(&d, l.id, &err), -ENOENT);
    assert_int_equal(count(&d, LEASE_ACTIVE, now), 1);
    close_here(&d);
}

/* A process that shares the open file, and ends when it is told to. */
static pid_t start_holder(int *end)
{
    int tube[2];
    assert_int_equal(pipe(tube), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(tube[1]);
        (void)!read(tube[0], &byte, 1);
        _exit(0);
    }
    close(tube[0]);
    *end = tube[1];
    return pid;
}

static void a_lease_lives_as_long_as_its_file_is_open_somewhere(void **state)
{
    (void)state;
    struct lease_dir d;
    struct error err = {0};
    int fd, end;
    open_here(&d);
    struct lease l = lease_for(LEASE_RUN, getpid());
    l.start_key++; /* the process that it names is gone: its children may go on */
    assert_int_equal(lease_dir_begin(&d, l.id, &fd, &err), 0);
    pid_t child = start_holder(&end);
    assert_int_equal(lease_dir_commit(&d, &l, fd, &err), 0);
    close(fd);
    assert_int_equal(count(&d, LEASE_ACTIVE, now), 1);
    close(end);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(count(&d, LEASE_ENDED, now), 1);
    AUTO_LEASE_LIST struct lease_list list = {0};
    assert_int_equal(lease_dir_list(&d, now, &list, &err), 0);
    assert_string_equal(list.at[0].ended_why, "its program has ended");
    lease_dir_sweep(&d, &list);
    assert_int_equal(count(&d, LEASE_ENDED, now), 0);
    close_here(&d);
}

static void a_lease_whose_process_closed_the_file_lives_with_the_process(void **state)
{
    (void)state;
    struct lease_dir d;
    struct error err = {0};
    open_here(&d);
    struct lease l = lease_for(LEASE_RUN, getpid());
    assert_int_equal(lease_dir_put(&d, &l, &err), 0);
    assert_int_equal(count(&d, LEASE_ACTIVE, now), 1);
    close_here(&d);
}

static void foreign_and_broken_files_are_named_and_passed_over(void **state)
{
    (void)state;
    struct lease_dir d;
    struct error err = {0};
    open_here(&d);
    struct lease good = lease_for(LEASE_RESERVE, 0), other = lease_for(LEASE_RESERVE, 0);
    assert_int_equal(lease_dir_put(&d, &good, &err), 0);
    other.uid = geteuid() + 1;
    assert_int_equal(lease_dir_put(&d, &other, &err), 0);
    write_file(&d, "notes.txt", "milk");
    write_file(&d, "abcdefgh.json", "{\"id\": \"abcd");
    write_file(&d, "..json", "");
    write_file(&d, ".hjkmnpqr.new", "{");
    assert_int_equal(symlinkat("/etc/passwd", d.fd, "bcdefghj.json"), 0);
    assert_int_equal(mkfifoat(d.fd, "cdefghjk.json", 0644), 0);
    assert_int_equal(mkdirat(d.fd, "defghjkm.json", 0755), 0);
    char copy[32];
    snprintf(copy, sizeof copy, "efghjkmn.json");
    char from[32];
    snprintf(from, sizeof from, "%s.json", good.id);
    assert_int_equal(linkat(d.fd, from, d.fd, copy, 0), 0); /* one lease under two names */
    AUTO_LEASE_LIST struct lease_list list = {0};
    assert_int_equal(lease_dir_list(&d, now, &list, &err), 0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.at[0].id, good.id);
    assert_int_equal(list.problem_count, 7);
    bool said = false;
    for (size_t i = 0; i < list.problem_count; i++)
        said |= strcmp(list.problems[i], "abcdefgh.json: it is broken, or not whole") == 0;
    assert_true(said);
    lease_dir_sweep(&d, &list);
    assert_int_equal(faccessat(d.fd, "notes.txt", F_OK, 0), 0);
    assert_int_equal(faccessat(d.fd, ".hjkmnpqr.new", F_OK, 0), -1);
    close_here(&d);
}

static void the_lock_names_who_has_it(void **state)
{
    (void)state;
    struct lease_dir d, other;
    struct error err = {0};
    char words[64];
    open_here(&d);
    assert_int_equal(lease_dir_open(&other, d.path, &err), 0);
    assert_int_equal(lease_dir_lock(&d, 1000, &err), 0);
    assert_int_equal(lease_dir_lock(&other, 30, &err), -EBUSY);
    snprintf(words, sizeof words, "process %d has locked the leases", (int)getpid());
    assert_non_null(strstr(err.text, words));
    lease_dir_unlock(&d);
    assert_int_equal(lease_dir_lock(&other, 1000, &err), 0);
    /* Its owner took the file away: the next one makes another, and both do not have it at once. */
    assert_int_equal(unlinkat(d.fd, "lock", 0), 0);
    assert_int_equal(lease_dir_lock(&d, 1000, &err), 0);
    lease_dir_close(&other);
    close_here(&d);
}

static void a_directory_that_cannot_be_written_is_said(void **state)
{
    (void)state;
    struct lease_dir d;
    struct error err = {0};
    if (geteuid() == 0)
        SKIP("root writes everywhere");
    open_here(&d);
    struct lease l = lease_for(LEASE_RESERVE, 0);
    assert_int_equal(fchmod(d.fd, 0555), 0);
    assert_int_equal(lease_dir_put(&d, &l, &err), -EACCES);
    assert_non_null(strstr(err.text, d.path));
    assert_int_equal(fchmod(d.fd, 0755), 0);
    close_here(&d);
}

static void a_disk_that_is_full_leaves_nothing_behind(void **state)
{
    (void)state;
    struct lease_dir d;
    struct error err = {0};
    int fd;
    open_here(&d);
    struct lease l = lease_for(LEASE_RUN, getpid());
    assert_int_equal(lease_dir_begin(&d, l.id, &fd, &err), 0);
    AUTO_CLOSE int full = open("/dev/full", O_WRONLY);
    assert_int_equal(lease_dir_commit(&d, &l, full, &err), -ENOSPC);
    lease_dir_cancel(&d, l.id, fd);
    assert_int_equal(count(&d, LEASE_ACTIVE, now) + count(&d, LEASE_ENDED, now), 0);
    close_here(&d);
}

static void who_waits_wakes_when_the_other_is_gone(void **state)
{
    (void)state;
    struct lease_dir d;
    struct error err = {0};
    int fd, again;
    open_here(&d);
    struct lease l = lease_for(LEASE_RUN, getpid());
    l.state = LEASE_WAITING;
    assert_int_equal(lease_dir_begin(&d, l.id, &fd, &err), 0);
    assert_int_equal(lease_dir_commit(&d, &l, fd, &err), 0);
    AUTO_LEASE_LIST struct lease_list list = {0};
    assert_int_equal(lease_dir_list(&d, now, &list, &err), 0);
    pid_t child = fork();
    if (child == 0) {
        close(fd);
        _exit(lease_dir_await(&d, &list.at[0]) == 0 ? 7 : 1);
    }
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    int watch = lease_dir_watch(&d);
    assert_true(watch >= 0);
    l.state = LEASE_ACTIVE; /* it was served: written anew, and the old file goes */
    assert_int_equal(lease_dir_begin(&d, l.id, &again, &err), 0);
    assert_int_equal(lease_dir_commit(&d, &l, again, &err), 0);
    close(fd);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    struct pollfd poll_watch = {.fd = watch, .events = POLLIN};
    assert_int_equal(poll(&poll_watch, 1, 10000), 1);
    /* Written anew before it was looked at: there is nothing to wait for. */
    assert_int_equal(lease_dir_await(&d, &list.at[0]), 0);
    close(watch);
    close(again);
    close_here(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_put_is_listed_until_it_is_removed),
        TEST(a_lease_lives_as_long_as_its_file_is_open_somewhere),
        TEST(a_lease_whose_process_closed_the_file_lives_with_the_process),
        TEST(foreign_and_broken_files_are_named_and_passed_over),
        TEST(the_lock_names_who_has_it),
        TEST(a_directory_that_cannot_be_written_is_said),
        TEST(a_disk_that_is_full_leaves_nothing_behind),
        TEST(who_waits_wakes_when_the_other_is_gone),
    };
    return RUN_TESTS(tests);
}
