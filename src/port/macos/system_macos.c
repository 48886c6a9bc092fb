/* SPDX-License-Identifier: Apache-2.0
 * macOS behind the small headers of base/os: places and privileges, descriptors, waits, wakeups, peers of sockets.
 */
#include "base/os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/net.h"
#include "base/os/thread.h"

bool place_is_trusted(void)
{
    return !issetugid();
}

const char *env_gained(void)
{
    return getuid() != geteuid() ? "setuid" : getgid() != getegid() ? "setgid" : NULL;
}

int env_handed_over(const char *name)
{
    (void)name;
    return -1;
}

void place_fill(struct env *env)
{
    static char self[PATH_MAX];
    uint32_t size = sizeof self;
    if (_NSGetExecutablePath(self, &size) != 0)
        self[0] = '\0';
    env->nvml_library = "libnvidia-ml.dylib"; /* no Mac has it; tests provide their own */
    env->cuda_library = "libcuda.dylib";
    env->self_program = self;
}

/* ---- descriptor limits ---- */

size_t descriptors_raise(size_t wanted)
{
    enum { MOST = 10240 }; /* OPEN_MAX; macOS refuses more */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    rlim_t room = MIN_OF((rlim_t)wanted, MIN_OF(limit.rlim_max, (rlim_t)MOST));
    if (limit.rlim_cur < room) {
        limit.rlim_cur = room;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return (size_t)limit.rlim_cur;
}

void descriptors_close_from(int first)
{
    for (int fd = first, end = getdtablesize(); fd < end; fd++)
        close(fd);
}

/* ---- condition waits with a relative timeout, so that only the monotonic clock matters ---- */

void condition_init(pthread_cond_t *condition)
{
    pthread_cond_init(condition, NULL);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, struct mono until)
{
    int64_t left = MAX_OF(until.ns - clock_mono(&clock_system).ns, (int64_t)0);
    const struct timespec time = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
    return pthread_cond_timedwait_relative_np(condition, lock, &time) == 0;
}

/* ---- waking a loop: a pipe ---- */

int wake_open(struct wake *w)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    *w = (struct wake){.in = ends[0], .out = ends[1]};
    return 0;
}

void wake_close(struct wake *w)
{
    close(w->in);
    close(w->out);
}

/* A full pipe is readable already. */
void wake_set(struct wake *w)
{
    (void)!write(w->out, "", 1);
}

void wake_clear(struct wake *w)
{
    char ignored[64];
    while (read(w->in, ignored, sizeof ignored) > 0)
        ;
}

int wake_fd(struct wake *w)
{
    return w->in;
}

/* ---- who is at the other end of a local socket ---- */

bool net_peer_user(int fd, uid_t *user)
{
    gid_t group;
    return getpeereid(fd, user, &group) == 0;
}

int32_t net_peer_pid(int fd)
{
    (void)fd;
    return 0;
}
