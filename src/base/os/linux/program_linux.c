/* SPDX-License-Identifier: Apache-2.0
 * Programs that take over the terminal, that wait to begin, and that the kernel ends along with us: posix_spawn(), fork() and
 * pidfds.
 */
#include "base/os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* ---- a program in the foreground ---- */

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

/* ---- a program begun later: a child that waits for one byte before it executes it ---- */

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

/* ---- a child that the kernel kills along with its parent ---- */

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
