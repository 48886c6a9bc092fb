/* SPDX-License-Identifier: Apache-2.0
 * Preloaded: time that runs faster, and a disk that is full, for tools/soak. What is to happen stands in the file that
 * WHIRR_FAKE_CLOCK names, which is mapped: a program that changes it changes the world of the running process. All waits end sooner
 * by the same factor. Where the file has a list of waiters, time may also be skipped: each wait looks at the clock every few
 * milliseconds and ends once its time has come; the list shows who has not noticed yet, and a count whether anything was done.
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

/* A thread that waits until a moment of the fake monotonic clock. */
struct waiter {
    int64_t thread; /* 0: free */
    int64_t until_ns;
};

enum { WAITERS = 1024, LOOK_EVERY_NS = 4000000 };

struct waiters {
    int64_t ended; /* waits that brought something, or were over */
    struct waiter list[WAITERS];
};

static const struct world *world;
static struct waiters *waiters; /* NULL: no time is skipped */
static int (*real_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
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
    find(&real_cond_wait, "pthread_cond_wait");
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
    int fd = path ? real_open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat file = {0};
    if (fd < 0 && path)
        fd = real_open(path, O_RDONLY | O_CLOEXEC);
    bool listed = fd >= 0 && fstat(fd, &file) == 0 && (size_t)file.st_size >= sizeof *world + sizeof *waiters;
    void *at = fd < 0 ? MAP_FAILED
                      : mmap(NULL, listed ? (size_t)file.st_size : sizeof *world, PROT_READ | (listed ? PROT_WRITE : 0), MAP_SHARED,
                             fd, 0);
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED) {
        world = at;
        waiters = listed ? (struct waiters *)(void *)((char *)at + sizeof *world) : NULL;
    }
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

/* ---- waits: in parts where time may be skipped ---- */

struct wait {
    int64_t until_ns; /* -1: for ever */
    struct waiter *listed;
};

static struct wait wait_begin(int64_t ns)
{
    struct wait w = {.until_ns = ns < 0 ? -1 : world ? fake_now(CLOCK_MONOTONIC) + ns : 0};
    int64_t thread = gettid();
    for (size_t i = 0; waiters && ns > 0 && i < WAITERS && !w.listed; i++) {
        struct waiter *at = &waiters->list[(size_t)(thread + (int64_t)i) % WAITERS];
        int64_t nobody = 0;
        if (__atomic_compare_exchange_n(&at->thread, &nobody, -thread, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            at->until_ns = w.until_ns;
            __atomic_store_n(&at->thread, thread, __ATOMIC_RELEASE); /* below 0: it has no moment yet */
            w.listed = at;
        }
    }
    return w;
}

/* In vain: only to look at the clock. Counted before it leaves the list: it is seen in one of the two. */
static void wait_end(struct wait *w, bool in_vain)
{
    if (waiters && !in_vain)
        __atomic_add_fetch(&waiters->ended, 1, __ATOMIC_ACQ_REL);
    if (w->listed)
        __atomic_store_n(&w->listed->thread, 0, __ATOMIC_RELEASE);
}

/* What to wait for really, and whether that is all of it. */
static bool wait_part(const struct wait *w, int64_t ns, struct timespec *part)
{
    if (!w->listed) {
        *part = shorter(ns);
        return true;
    }
    int64_t left = w->until_ns - fake_now(CLOCK_MONOTONIC);
    *part = shorter(left < 0 ? 0 : left < LOOK_EVERY_NS ? left : LOOK_EVERY_NS);
    return left <= 0;
}

static int64_t ns_of(const struct timespec *t)
{
    return t->tv_sec * NS + t->tv_nsec;
}

/* The clock of a deadline is known by its size: nothing has been up for thirty years. */
static clockid_t clock_of(const struct timespec *until)
{
    return until->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

/* A part that ends in vain looks to the caller like a wakeup without a reason, after which every caller looks at its condition. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock, const struct timespec *restrict until)
{
    begin();
    if (!world)
        return real_cond_timedwait(cond, lock, until);
    clockid_t id = clock_of(until);
    int64_t left = ns_of(until) - fake_now(id);
    struct wait w = wait_begin(left > 0 ? left : 0);
    struct timespec part;
    bool whole = wait_part(&w, left > 0 ? left : 0, &part);
    struct timespec real = as_timespec(real_now(id) + ns_of(&part) + 1000);
    int rc = real_cond_timedwait(cond, lock, &real);
    bool in_vain = rc == ETIMEDOUT && !whole && w.until_ns > fake_now(CLOCK_MONOTONIC);
    wait_end(&w, in_vain);
    return in_vain ? 0 : rc;
}

int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock)
{
    begin();
    int rc = real_cond_wait(cond, lock);
    wait_end(&(struct wait){0}, false);
    return rc;
}

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
    begin();
    if (!world)
        return real_timedjoin(thread, result, until);
    clockid_t id = clock_of(until);
    int64_t left = ns_of(until) - fake_now(id);
    struct wait w = wait_begin(left > 0 ? left : 0);
    struct timespec part;
    bool whole;
    int rc;
    do {
        whole = wait_part(&w, left > 0 ? left : 0, &part);
        struct timespec real = as_timespec(real_now(id) + ns_of(&part) + 1000);
        rc = real_timedjoin(thread, result, &real);
    } while (rc == ETIMEDOUT && !whole);
    wait_end(&w, false);
    return rc;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    begin();
    struct wait w = wait_begin(ns_of(wanted));
    struct timespec part;
    bool whole;
    int rc;
    do {
        whole = wait_part(&w, ns_of(wanted), &part);
        rc = real_nanosleep(&part, left);
    } while (rc == 0 && !whole);
    wait_end(&w, false);
    if (rc < 0 && left && w.listed)
        *left = as_timespec(w.until_ns - fake_now(CLOCK_MONOTONIC));
    else if (rc < 0 && left && world)
        *left = as_timespec(ns_of(left) * world->speed);
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
    struct wait w = wait_begin(ms * 1000000LL);
    struct timespec part;
    bool whole;
    int rc;
    do {
        whole = wait_part(&w, ms * 1000000LL, &part);
        rc = real_ppoll(list, count, ms < 0 ? NULL : &part, NULL);
    } while (rc == 0 && !whole);
    wait_end(&w, false);
    return rc;
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
    struct wait w = wait_begin(ms * 1000000LL);
    struct timespec part;
    bool whole;
    int rc;
    do {
        whole = wait_part(&w, ms * 1000000LL, &part);
        rc = epoll_pwait2(fd, events, count, ms < 0 ? NULL : &part, NULL);
    } while (rc == 0 && !whole);
    wait_end(&w, false);
    return rc;
}

int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad, struct timeval *restrict timeout)
{
    begin();
    int64_t ns = timeout ? timeout->tv_sec * NS + timeout->tv_usec * 1000LL : -1;
    fd_set *const sets[] = {in, out, bad};
    fd_set asked[3];
    for (size_t i = 0; i < 3; i++)
        if (sets[i])
            asked[i] = *sets[i];
    struct wait w = wait_begin(ns);
    struct timespec part;
    bool whole;
    int rc;
    do {
        for (size_t i = 0; i < 3; i++)
            if (sets[i])
                *sets[i] = asked[i];
        whole = wait_part(&w, ns, &part);
        rc = pselect(count, in, out, bad, timeout ? &part : NULL, NULL);
    } while (rc == 0 && !whole);
    wait_end(&w, false);
    return rc;
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout)
{
    begin();
    int64_t ns = timeout ? ns_of(timeout) : -1;
    struct wait w = wait_begin(ns);
    struct timespec part;
    bool whole;
    int rc;
    do {
        whole = wait_part(&w, ns, &part);
        rc = real_sigtimedwait(set, info, timeout ? &part : NULL);
    } while (rc < 0 && errno == EAGAIN && timeout && !whole);
    wait_end(&w, false);
    return rc;
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
