/* SPDX-License-Identifier: Apache-2.0
 * A child that the kernel kills along with its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/os/process.h"

/* Runs in the child: only async-signal-safe calls between fork and exec. */
__attribute__((noreturn)) static void become_companion(const char *const *argv, int diag, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* even if we are killed */
    if (getppid() != parent)
        _exit(127);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(diag, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    dprintf(STDERR_FILENO, "cannot run %s: %s", argv[0], strerror(errno));
    _exit(127);
}

int launch_companion(const char *const *argv, int diag, pid_t *ret)
{
    pid_t parent = getpid();
    *ret = fork();
    if (*ret == 0)
        become_companion(argv, diag, parent);
    return *ret < 0 ? -errno : 0;
}
