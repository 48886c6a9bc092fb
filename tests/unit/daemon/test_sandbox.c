/* SPDX-License-Identifier: Apache-2.0
 * A confined process: what whirr never does fails, what it does goes on. Each test is a child, because there is no way back.
 */
#include "daemon/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

/* The number of the line that was wrong, as an exit status that says so; 77: the kernel does not have it. */
enum { NOT_HERE = 77 };
static int wrong_line;
#define CHECK(condition)                 \
    do {                                 \
        if (!(condition) && !wrong_line) \
            wrong_line = __LINE__;       \
    } while (0)

static void in_a_child(void (*body)(const char *folder))
{
    char folder[] = "/tmp/whirr-confine-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/open", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    int pipes[2], line = 0, status;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        body(folder);
        _exit(write(pipes[1], &wrong_line, sizeof wrong_line) == sizeof wrong_line ? 0 : 1);
    }
    close(pipes[1]);
    ssize_t got = read(pipes[0], &line, sizeof line);
    close(pipes[0]);
    waitpid(pid, &status, 0);
    pid_t cleaner = fork();
    if (cleaner == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    waitpid(cleaner, NULL, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
        SKIP("the kernel does not have it");
    assert_int_equal(got, sizeof line);
    if (line)
        fail_msg("wrong in line %d", line);
}

static int try_write(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? errno : 0;
}

static void writes(const char *folder)
{
    char open_place[128], later[160], path[160];
    snprintf(open_place, sizeof open_place, "%s/open", folder);
    snprintf(later, sizeof later, "%s/open/later/deep", folder);
    CHECK(try_write(folder, "before") == 0);
    const char *const places[] = {open_place, later};
    int version = sandbox_writes(places, 2);
    if (version == -ENOSYS || version == -EOPNOTSUPP)
        _exit(NOT_HERE);
    CHECK(version >= 1);
    CHECK(try_write(folder, "new") == EACCES);
    CHECK(try_write(folder, "before") == EACCES);
    CHECK(try_write("/var/tmp", "whirr-confine") == EACCES);
    CHECK(try_write(open_place, "new") == 0);
    snprintf(path, sizeof path, "%s/open/later", folder);
    CHECK(mkdir(path, 0700) == 0);
    CHECK(mkdir(later, 0700) == 0 && try_write(later, "new") == 0);
    snprintf(path, sizeof path, "%s/before", folder);
    CHECK(unlink(path) < 0 && errno == EACCES);
    CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0); /* reading is not what it is about */
    CHECK(open("/dev/null", O_RDWR | O_CLOEXEC) >= 0);     /* devices are asked by writing to them */
}

static void writing_is_allowed_where_whirr_keeps_things_only(void **state)
{
    (void)state;
    in_a_child(writes);
}

static void *nothing(void *user)
{
    return user;
}

static void calls(const char *folder)
{
    (void)folder;
    int rc = sandbox_calls();
    if (rc == -ENOSYS || rc == -EINVAL)
        _exit(NOT_HERE);
    CHECK(rc == 0);
    errno = 0;
    CHECK(mount("none", "/nowhere", "tmpfs", 0, NULL) < 0 && errno == EPERM);
    errno = 0;
    CHECK(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
    errno = 0;
    CHECK(syscall(SYS_bpf, 0, NULL, 0) < 0 && errno == EPERM);
    errno = 0;
    CHECK(syscall(SYS_keyctl, 0, 0, 0, 0, 0) < 0 && errno == EPERM);
    errno = 0;
    CHECK(syscall(SYS_io_uring_setup, 1, NULL) < 0 && errno == EPERM);
    errno = 0;
    CHECK(syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0) < 0 && errno == EPERM);
    errno = 0;
    CHECK(syscall(SYS_vhangup) < 0 && errno == EPERM);
    errno = 0;
    CHECK(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
    errno = 0;
    CHECK(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) < 0 && errno == EPERM);
    errno = 0;
    CHECK(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
    /* What it does all day. */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    pid_t pid;
    int status = 1;
    char name[] = "true", *const argv[] = {name, NULL};
    CHECK(posix_spawnp(&pid, "true", NULL, NULL, argv, NULL) == 0 && waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0 && socket(AF_UNIX, SOCK_DGRAM, 0) >= 0);
}

static void calls_that_whirr_never_makes_are_refused(void **state)
{
    (void)state;
    in_a_child(calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_is_allowed_where_whirr_keeps_things_only),
        cmocka_unit_test(calls_that_whirr_never_makes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
