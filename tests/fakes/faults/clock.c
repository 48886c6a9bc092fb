/* SPDX-License-Identifier: Apache-2.0
 * Preloaded: time that runs faster, and a disk that is full, for tools/soak. What is to happen stands in the file that
 * WHIRR_FAKE_CLOCK names, which is mapped: a program that changes it changes the world of the running process. All waits end sooner
 * by the same factor.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL

/* As tools/soak writes it: numbers of 64 bits. */
struct world {
    int64_t speed;
    int64_t real_ns;  /* CLOCK_MONOTONIC of the moment at which both of the following held */
    int64_t mono_ns;  /* the fake monotonic clock */
    int64_t wall_ns;  /* the fake wall clock */
    int64_t shift_ns; /* by which the wall clock was set since */
    int64_t slept_ns; /* for which the host was suspended since: the wall clock and that of the boot went on */
    int64_t disk;     /* 1: full; 2: read-only */
    int64_t changes;  /* odd while speed and the moment that it counts from are being changed; no writer of 7 numbers does that */
};

static const struct world *world;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_nanosleep)(const struct timespec *, struct timespec *);
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static int (*real_sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
static int (*real_timedjoin)(pthread_t, void **, const struct timespec *);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);

/* dlsym gives void *, which ISO C does not turn into a function. */
static void find(void *function, const char *name)
{
    *(void **)function = dlsym(RTLD_NEXT, name);
    if (!*(void **)function)
        abort();
}

static void begin(void)
{
    if (real_clock_gettime)
        return;
    find(&real_cond_timedwait, "pthread_cond_timedwait");
    find(&real_nanosleep, "nanosleep");
    find(&real_ppoll, "ppoll");
    find(&real_sigtimedwait, "sigtimedwait");
    find(&real_timedjoin, "pthread_timedjoin_np");
    find(&real_write, "write");
    find(&real_pwrite, "pwrite64");
    find(&real_open, "open64");
    find(&real_openat, "openat64");
    const char *path = getenv("WHIRR_FAKE_CLOCK");
    int fd = path ? real_open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof *world, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        world = at;
    find(&real_clock_gettime, "clock_gettime");
}

__attribute__((constructor)) static void start(void)
{
    begin();
}

static int64_t real_now(clockid_t id)
{
    struct timespec t;
    real_clock_gettime(id, &t);
    return t.tv_sec * NS + t.tv_nsec;
}

static struct timespec as_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS, .tv_nsec = ns % NS};
}

/* The world, and how much of its time has passed: both of one moment, or a clock would run back when its speed changes. */
static struct world world_now(int64_t *passed)
{
    struct world now;
    int64_t changes;
    do {
        changes = __atomic_load_n(&world->changes, __ATOMIC_ACQUIRE);
        now = *(const volatile struct world *)world;
        *passed = (real_now(CLOCK_MONOTONIC) - now.real_ns) * now.speed;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (changes % 2 || changes != __atomic_load_n(&world->changes, __ATOMIC_RELAXED));
    return now;
}

static int64_t fake_now(clockid_t id)
{
    int64_t passed;
    const struct world w = world_now(&passed);
    switch (id) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW: return w.mono_ns + passed;
    case CLOCK_BOOTTIME: return w.mono_ns + passed + w.slept_ns;
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return w.wall_ns + passed + w.shift_ns + w.slept_ns;
    default: return real_now(id);
    }
}

/* How long that is really, at least a microsecond: a wait of no time would spin. */
static struct timespec shorter(int64_t ns)
{
    int64_t real = world ? ns / world->speed : ns;
    return as_timespec(real > 1000 ? real : ns > 0 ? 1000 : 0);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    begin();
    if (!world)
        return real_clock_gettime(id, t);
    *t = as_timespec(fake_now(id));
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

/* The clock of a deadline is known by its size: nothing has been up for thirty years. */
static struct timespec real_deadline(const struct timespec *until)
{
    clockid_t id = until->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    int64_t left = until->tv_sec * NS + until->tv_nsec - fake_now(id);
    return as_timespec(real_now(id) + (left > 0 ? left / world->speed + 1000 : 0));
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock, const struct timespec *restrict until)
{
    begin();
    if (!world)
        return real_cond_timedwait(cond, lock, until);
    struct timespec real = real_deadline(until);
    return real_cond_timedwait(cond, lock, &real);
}

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
    begin();
    if (!world)
        return real_timedjoin(thread, result, until);
    struct timespec real = real_deadline(until);
    return real_timedjoin(thread, result, &real);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    begin();
    struct timespec real = shorter(wanted->tv_sec * NS + wanted->tv_nsec);
    int rc = real_nanosleep(&real, left);
    if (rc < 0 && left && world)
        *left = as_timespec((left->tv_sec * NS + left->tv_nsec) * world->speed);
    return rc;
}

int usleep(useconds_t wanted)
{
    struct timespec t = as_timespec((int64_t)wanted * 1000);
    return nanosleep(&t, NULL);
}

int poll(struct pollfd *list, nfds_t count, int ms)
{
    begin();
    struct timespec t = shorter(ms * 1000000LL);
    return real_ppoll(list, count, ms < 0 ? NULL : &t, NULL);
}

/* As a build with libc's checks calls it. */
int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t size);
int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t size)
{
    (void)size;
    return poll(list, count, ms);
}

int epoll_wait(int fd, struct epoll_event *events, int count, int ms)
{
    begin();
    struct timespec t = shorter(ms * 1000000LL);
    return epoll_pwait2(fd, events, count, ms < 0 ? NULL : &t, NULL);
}

int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad, struct timeval *restrict timeout)
{
    begin();
    struct timespec t = timeout ? shorter(timeout->tv_sec * NS + timeout->tv_usec * 1000LL) : (struct timespec){0};
    return pselect(count, in, out, bad, timeout ? &t : NULL, NULL);
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout)
{
    begin();
    struct timespec t = timeout ? shorter(timeout->tv_sec * NS + timeout->tv_nsec) : (struct timespec){0};
    return real_sigtimedwait(set, info, timeout ? &t : NULL);
}

/* ---- the disk: what is no file (a socket, a pipe, the log) goes on ---- */

static bool refused(int fd)
{
    struct stat s;
    if (!world || world->disk == 0 || fstat(fd, &s) < 0 || !S_ISREG(s.st_mode))
        return false;
    errno = world->disk == 1 ? ENOSPC : EROFS;
    return true;
}

ssize_t write(int fd, const void *data, size_t size)
{
    begin();
    return refused(fd) ? -1 : real_write(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at)
{
    begin();
    return refused(fd) ? -1 : real_pwrite(fd, data, size, at);
}

static bool not_to_be_opened(int flags)
{
    if (!world || world->disk != 2 || ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT)))
        return false;
    errno = EROFS;
    return true;
}

int open64(const char *path, int flags, ...)
{
    begin();
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return not_to_be_opened(flags) ? -1 : real_open(path, flags, mode);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

int openat64(int folder, const char *path, int flags, ...)
{
    begin();
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return not_to_be_opened(flags) ? -1 : real_openat(folder, path, flags, mode);
}

int __openat64_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags)
{
    return openat64(folder, path, flags);
}
