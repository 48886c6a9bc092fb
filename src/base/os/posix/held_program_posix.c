/* SPDX-License-Identifier: Apache-2.0
 * A child that waits for one byte before it executes the program.
 */
#include "base/os/held_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_FROM = 100 };

/* Runs in the child. Moves the kept descriptor away from the low numbers that programs use. */
static void __attribute__((noreturn)) become(const char *const *argv, int go, int failed, int kept_fd)
{
    char byte;
    ssize_t got;
    while ((got = read(go, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (got != 1)
        _exit(EXIT_FAILURE); /* dropped */
    signal(SIGPIPE, SIG_DFL);
    if (kept_fd >= 0 && fcntl(kept_fd, F_DUPFD, KEPT_FROM) < 0)
        fcntl(kept_fd, F_SETFD, 0);
    execvp(argv[0], (char *const *)argv);
    int code = errno;
    (void)!write(failed, &code, sizeof code);
    _exit(code == ENOENT ? 127 : 126);
}

int held_program_make(struct held_program *p, const char *const *argv, int kept_fd)
{
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
        return -errno;
    p->pid = fork();
    if (p->pid < 0)
        return -errno;
    if (p->pid == 0) {
        close(go[1]);
        become(argv, go[0], failed[1], kept_fd);
    }
    close(go[0]);
    close(failed[1]);
    p->go = go[1];
    p->failed = failed[0];
    return 0;
}

int held_program_begin(struct held_program *p)
{
    int code = 0;
    ssize_t len = write((int)p->go, "", 1);
    int failed = len == 1 ? 0 : -errno;
    close((int)p->go);
    while ((len = read((int)p->failed, &code, sizeof code)) < 0 && errno == EINTR)
        continue;
    close((int)p->failed);
    return failed ? failed : len == (ssize_t)sizeof code ? -code : 0;
}

int held_program_wait(struct held_program *p)
{
    int status = 0;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void held_program_drop(struct held_program *p)
{
    close((int)p->go);
    close((int)p->failed);
    held_program_wait(p);
    p->pid = -1;
}
