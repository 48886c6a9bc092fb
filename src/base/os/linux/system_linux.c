/* SPDX-License-Identifier: Apache-2.0
 * Linux behind the small headers of base/os: places and privileges, descriptors, locks, waits, wakeups, peers of sockets, and
 * programs that are no children of ours.
 */
#include "base/os/place.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/net.h"
#include "base/os/program.h"
#include "base/os/shared.h"
#include "base/os/thread.h"

/* ---- privileges: AT_SECURE, capabilities, descriptors of a service manager, device files ---- */

bool place_is_trusted(void)
{
    return getauxval(AT_SECURE) == 0;
}

/* Permitted capabilities outside the ambient set came from the file. */
static bool has_file_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data))
        return true;
    for (unsigned cap = 0; cap < 32 * _LINUX_CAPABILITY_U32S_3; cap++)
        if ((data[cap / 32].permitted & (1U << cap % 32)) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) != 1)
            return true;
    return false;
}

const char *env_gained(void)
{
    if (getuid() != geteuid())
        return "setuid";
    if (getgid() != getegid())
        return "setgid";
    /* A domain change by a security module also sets AT_SECURE, but grants nothing. */
    return !place_is_trusted() && getuid() != 0 && has_file_capabilities() ? "file capabilities" : NULL;
}

static bool read_variable(const char *name, int64_t *ret)
{
    const char *value = env_variable(name);
    return value && str_to_i64(str_from(value), ret);
}

int env_handed_over(const char *name)
{
    enum { FIRST = 3 };
    const char *names = getenv("LISTEN_FDNAMES");
    int64_t pid, count;
    if (!names || !read_variable("LISTEN_PID", &pid) || pid != getpid() || !read_variable("LISTEN_FDS", &count))
        return -1;
    struct str rest = str_from(names), one;
    for (int fd = FIRST; fd < FIRST + count && str_cut(&rest, ':', &one); fd++)
        if (str_is(one, name))
            return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
    return -1;
}

/* A recorded host has files, but no devices. */
static int device_open(const struct env *env, const char *path)
{
    if (env_is_recorded(env))
        return -ENODEV;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd >= 0 ? fd : -errno;
}

static int device_ask(const struct env *env, int fd, unsigned long request, void *argument)
{
    (void)env;
    return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

void place_fill(struct env *env)
{
    env->nvml_library = "libnvidia-ml.so.1";
    env->cuda_library = "libcuda.so.1";
    env->self_program = "/proc/self/exe";
    env->device_open = device_open;
    env->device_ask = device_ask;
}

/* ---- descriptor limits, and system calls that not every glibc wraps ---- */

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static struct rlimit limit_given; /* rlim_max 0: not raised */

size_t descriptors_raise(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (limit.rlim_cur < wanted) {
        if (!limit_given.rlim_max)
            limit_given = limit;
        limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : MIN_OF((rlim_t)wanted, limit.rlim_max);
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}

void descriptors_lower_of(int32_t pid)
{
    if (limit_given.rlim_max)
        prlimit(pid, RLIMIT_NOFILE, &limit_given, NULL);
}

void descriptors_close_from(int first)
{
    enum { FEW = 256 };
    for (int fd = first; fd < FEW && syscall(SYS_close_range, fd, ~0U, 0) < 0; fd++)
        close(fd);
}

ssize_t dir_entries(int dir, void *buffer, size_t size)
{
    return syscall(SYS_getdents64, dir, buffer, size);
}

/* ---- files in use: unlike flock(), an open file description lock needs a file opened for writing, so that readers can't block it
 * ---- */

int file_hold(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    /* Also take the flock() that earlier versions check. */
    return flock(fd, LOCK_EX | LOCK_NB) < 0 || fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
}

bool file_is_held(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_WRLCK;
}

int file_hold_reading(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -errno : 0;
}

bool file_is_held_at_all(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

/* "12: FLOCK  ADVISORY  WRITE 4711 00:2d:1234 0 EOF"; waiters follow as "12: -> FLOCK ...". */
int32_t file_locker(int fd)
{
    struct stat file;
    char line[256];
    AUTO_FCLOSE FILE *locks = fstat(fd, &file) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && fgets(line, sizeof line, locks)) {
        int pid;
        unsigned major_number, minor_number;
        unsigned long long inode;
        if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major_number, &minor_number, &inode) == 4 && pid > 0 &&
            inode == file.st_ino && makedev(major_number, minor_number) == file.st_dev)
            return pid;
    }
    return 0;
}

/* ---- condition waits that go by CLOCK_MONOTONIC ---- */

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until)
{
    const struct timespec at = {.tv_sec = until.ns / NS_PER_S, .tv_nsec = until.ns % NS_PER_S};
    return pthread_cond_timedwait(condition, lock, &at) == 0;
}

/* ---- waking a loop: an eventfd ---- */

int wake_open(struct wake *w)
{
    *w = (struct wake){.in = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .out = -1};
    return w->in < 0 ? -errno : 0;
}

void wake_close(struct wake *w)
{
    close(w->in);
}

void wake_set(struct wake *w)
{
    eventfd_write(w->in, 1);
}

void wake_clear(struct wake *w)
{
    eventfd_t ignored;
    eventfd_read(w->in, &ignored);
}

int wake_fd(struct wake *w)
{
    return w->in;
}

/* ---- who is at the other end of a local socket ---- */

static_assert(NET_LOCAL_SIZE == sizeof((struct sockaddr_un){0}.sun_path), "a path that fits is one that is kept");

static bool peer_of(int fd, struct ucred *ret)
{
    socklen_t len = sizeof *ret;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &len) == 0;
}

bool net_peer_user(int fd, uid_t *user)
{
    struct ucred who;
    bool known = peer_of(fd, &who);
    *user = known ? who.uid : *user;
    return known;
}

int32_t net_peer_pid(int fd)
{
    struct ucred who;
    return peer_of(fd, &who) ? who.pid : 0;
}

/* ---- the end of a program, by pidfd; since Linux 6.15 with its exit status, once its parent has reaped it ---- */

enum { REAPED_WITHIN_MS = 1000 };

/* linux/pidfd.h, which older systems lack. */
struct pidfd_info {
    uint64_t mask, cgroupid;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xff, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT (1u << 3)

int end_open(int32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -errno : fd;
}

bool end_wait(int handle, int64_t ms, int *ret_status)
{
    struct pollfd end = {.fd = handle, .events = POLLIN};
    *ret_status = END_STATUS_UNKNOWN;
    if (poll(&end, 1, (int)ms) <= 0)
        return false;
    end.events = 0; /* POLLHUP: reaped */
    (void)poll(&end, 1, REAPED_WITHIN_MS);
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};
    if (ioctl(handle, PIDFD_GET_INFO, &info) == 0 && (info.mask & PIDFD_INFO_EXIT))
        *ret_status = WIFSIGNALED(info.exit_code) ? 128 + WTERMSIG(info.exit_code) : WEXITSTATUS(info.exit_code);
    return true;
}
