/* SPDX-License-Identifier: Apache-2.0
 * GNU's functions that macOS lacks.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <malloc/malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct turned_order {
    gnu_compare compare;
    void *user;
};

static int compare_turned(void *order, const void *a, const void *b)
{
    const struct turned_order *s = order;
    return s->compare(a, b, s->user);
}

#undef qsort_r
void gnu_qsort_r(void *rows, size_t count, size_t size, gnu_compare compare, void *user)
{
    qsort_r(rows, count, size, &(struct turned_order){compare, user}, compare_turned);
}

ssize_t getrandom(void *to, size_t len, unsigned flags)
{
    (void)flags;
    arc4random_buf(to, len);
    return (ssize_t)len;
}

/* Without accept4() and the like, flags are set after the descriptor exists. */
static void set_flags(int fd, bool closed_on_exec, bool never_waits)
{
    if (closed_on_exec)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (never_waits)
        fcntl(fd, F_SETFL, O_NONBLOCK);
}

int malloc_trim(size_t pad)
{
    (void)pad;
    return malloc_zone_pressure_relief(NULL, 0) > 0;
}

int pipe2(int ends[2], int flags)
{
    if (pipe(ends) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        set_flags(ends[i], flags & O_CLOEXEC, flags & O_NONBLOCK);
    return 0;
}

static int prepared_socket(int fd, int flags)
{
    if (fd < 0)
        return -1;
    set_flags(fd, flags & SOCK_CLOEXEC, flags & SOCK_NONBLOCK);
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
    return fd;
}

#undef socket
int gnu_socket(int family, int type, int protocol)
{
    return prepared_socket(socket(family, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), protocol), type);
}

int accept4(int listener, struct sockaddr *from, socklen_t *len, int flags)
{
    return prepared_socket(accept(listener, from, len), flags);
}

/* ---- timed waits by polling, because macOS lacks them ---- */

enum { PIECE_NS = 2000000, NS_IN_S = 1000000000 };

static void wait_a_piece(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PIECE_NS}, NULL);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
    int64_t left = time->tv_sec * (int64_t)NS_IN_S + time->tv_nsec;
    (void)info;
    for (;; left -= PIECE_NS) {
        sigset_t pending;
        sigpending(&pending);
        for (int number = 1; number < NSIG; number++)
            if (sigismember(set, number) == 1 && sigismember(&pending, number) == 1 && sigwait(set, &number) == 0)
                return number;
        if (left <= 0)
            break;
        wait_a_piece();
    }
    errno = EAGAIN;
    return -1;
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    int number = 0;
    (void)info;
    int error = sigwait(set, &number);
    if (error == 0)
        return number;
    errno = error;
    return -1;
}

/* pthread_kill fails once the thread has ended. */
int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
    while (pthread_kill(thread, 0) == 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec))
            return ETIMEDOUT;
        wait_a_piece();
    }
    return pthread_join(thread, result);
}
