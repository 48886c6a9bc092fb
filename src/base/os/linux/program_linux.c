/* SPDX-License-Identifier: Apache-2.0
 * Uses posix_spawn and pidfds.
 */
#include "base/os/program.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* SIGTERM and SIGHUP of a closing session go to the program, not only to us. */
static volatile sig_atomic_t program, early; /* early: a signal that arrived before the program started */

static void pass_on(int number)
{
    if (program > 0)
        kill(program, number);
    else
        early = number;
}

/* Install before the program starts and for all threads: ^C may arrive with its first line. `defaults` lists signals whose
 * handling the program must not inherit from us. */
static void take_signals(sigset_t *defaults)
{
    const struct sigaction passing = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigemptyset(defaults);
    sigaddset(defaults, SIGPIPE);
    if (signal(SIGINT, SIG_IGN) != SIG_IGN)
        sigaddset(defaults, SIGINT);
    if (signal(SIGQUIT, SIG_IGN) != SIG_IGN)
        sigaddset(defaults, SIGQUIT);
    sigaction(SIGTERM, &passing, NULL);
    sigaction(SIGHUP, &passing, NULL);
}

/* The program keeps the terminal, its files and the process group. */
int program_start(struct program *p, const char *const *argv)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    pid_t pid = -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* count the CPU time of orphaned children, too */
    take_signals(&defaults);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawnp(&pid, argv[0], NULL, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (rc != 0)
        return -rc;
    program = pid;
    if (early)
        kill(pid, early);
    *p = (struct program){.pid = pid, .handle = syscall(SYS_pidfd_open, pid, 0)};
    return 0;
}

/* Orphaned children are reparented to us; reap them. */
bool program_has_ended(struct program *p)
{
    int other;
    if (waitpid(p->pid, &p->status, WNOHANG) == p->pid)
        return true;
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid && info.si_pid != p->pid) {
        waitpid(info.si_pid, &other, 0);
        info = (siginfo_t){0};
    }
    return false;
}

void program_wait(const struct program *p, int64_t ms)
{
    struct pollfd end = {.fd = (int)p->handle, .events = POLLIN};
    poll(&end, 1, (int)(p->handle < 0 ? MIN_OF(ms, 50) : ms)); /* negative handle: no pidfd in this kernel, so poll */
}

double program_cpu_seconds(const struct program *p)
{
    struct rusage spent;
    (void)p;
    if (getrusage(RUSAGE_CHILDREN, &spent) != 0)
        return -1;
    return (double)(spent.ru_utime.tv_sec + spent.ru_stime.tv_sec) +
           (double)(spent.ru_utime.tv_usec + spent.ru_stime.tv_usec) / 1e6;
}

void program_close(struct program *p)
{
    if (p->handle >= 0)
        close((int)p->handle);
    p->handle = -1;
}

int program_end_like(const struct program *p)
{
    if (!WIFSIGNALED(p->status))
        return WEXITSTATUS(p->status);
    int number = WTERMSIG(p->status);
    const struct rlimit none = {0};
    fflush(NULL);
    setrlimit(RLIMIT_CORE, &none); /* the program wrote its own core file; don't overwrite it */
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number;
}
