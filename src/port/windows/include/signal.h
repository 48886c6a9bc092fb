/* SPDX-License-Identifier: Apache-2.0
 * Signals: those of a console work; the rest is declared only so that shared code compiles.
 */
#pragma once

#include_next <signal.h>
#include <sys/types.h>

#define SIGHUP 1
#define SIGQUIT 3
#define SIGKILL 9
#define SIGUSR1 10
#define SIGUSR2 12
#define SIGPIPE 13
#define SIGALRM 14
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGTSTP 20
#define SIGWINCH 28

typedef unsigned posix_sigset;
#define sigset_t posix_sigset
struct sigaction {
    void (*sa_handler)(int);
    sigset_t sa_mask;
    int sa_flags;
};
enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };
enum { SA_RESTART = 1, SA_RESETHAND = 2, SA_NOCLDSTOP = 4, SA_NOCLDWAIT = 8 };

int sigaction(int number, const struct sigaction *now, struct sigaction *before);
int sigemptyset(sigset_t *set);
int sigfillset(sigset_t *set);
int sigaddset(sigset_t *set, int number);
int sigdelset(sigset_t *set, int number);
int sigismember(const sigset_t *set, int number);
int posix_sigmask(int how, const sigset_t *now, sigset_t *before);
#undef pthread_sigmask /* winpthreads' does nothing */
#define pthread_sigmask posix_sigmask
#define sigprocmask posix_sigmask
/* Signal 0 checks for existence; SIGTERM and SIGKILL end the process. */
int kill(pid_t pid, int number);
struct timespec;
int sigtimedwait(const sigset_t *set, void *info, const struct timespec *timeout);
int sigwaitinfo(const sigset_t *set, void *info);
