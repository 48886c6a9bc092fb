/* SPDX-License-Identifier: Apache-2.0
 * The child that queries one host is a copy of this process, and ends with it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/hosts/each_host.h"

static void __attribute__((noreturn)) run_child(struct cli *cli, const char *host, int out, int problem, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILED);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    dup2(out, STDOUT_FILENO);
    dup2(problem, STDERR_FILENO);
    options_drop(cli->options, "watch"); /* the parent repeats the command */
    cli->host = host;
    cli->among_hosts = true;
    cli->terminal = false;
    cli->page.now = clock_wall(cli->env.clock);
    int status = cli->command->run(cli);
    fflush(NULL);
    _exit(status);
}

int host_child_start(struct cli *cli, const char *host, int out, int problem, pid_t *ret)
{
    pid_t parent = getpid();
    *ret = fork();
    if (*ret == 0)
        run_child(cli, host, out, problem, parent);
    return *ret < 0 ? -errno : 0;
}

bool host_child_is_one(void)
{
    return false; /* the child never gets back to this question */
}
