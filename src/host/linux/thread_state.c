/* SPDX-License-Identifier: Apache-2.0
 * What a thread does at this moment, by the system call that it is in; where that is hidden, by the kernel function it sleeps in.
 */
#include "host/linux/internal.h"

#include <stdio.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "host/linux/evidence/texts.h"
#include "host/procfs.h"

enum { ARGUMENTS = 6 };

/* What an open file of the process is. */
static enum doing doing_by_file(const struct state_reader *r, uint64_t fd, enum doing other)
{
    char path[64], target[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/fd/%llu", (int)r->pid, (unsigned long long)(fd & UINT32_MAX));
    ssize_t len = file_read_link(r->env, path, target, sizeof target);
    struct str to = {target, len > 0 ? (size_t)len : 0};
    if (str_starts(to, "socket:"))
        return DOING_SOCKET;
    if (str_starts(to, "pipe:") || str_starts(to, "/dev/pts/") || str_starts(to, "/dev/tty"))
        return DOING_PIPE;
    if (str_starts(to, "/dev/nvidia") || str_starts(to, "/dev/kfd") || str_starts(to, "/dev/dri/"))
        return DOING_GPU;
    return str_starts(to, "/") ? DOING_FILE : other;
}

/* poll() on one file says more than "events". */
static enum doing doing_by_poll(const struct state_reader *r, const uint64_t args[ARGUMENTS])
{
    uint32_t fd;
    if (args[1] == 0)
        return DOING_SLEEP;
    if (args[1] != 1 || !r->target->read(r->target->user, args[0], &fd, sizeof fd))
        return DOING_EVENTS;
    enum doing file = doing_by_file(r, fd, DOING_EVENTS);
    return file == DOING_FILE ? DOING_EVENTS : file;
}

static enum doing doing_by_call(const struct state_reader *r, int64_t call, const uint64_t args[ARGUMENTS])
{
    switch (call) {
    case SYS_futex: return python_owns(r->python, args[0]) ? DOING_GIL : DOING_LOCK;
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_flock:
    case SYS_fcntl: return DOING_LOCK;
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_sendfile:
    case SYS_ioctl: return doing_by_file(r, args[0], DOING_OTHER);
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_connect:
    case SYS_accept:
    case SYS_accept4: return DOING_SOCKET;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll: return doing_by_poll(r, args);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6: return args[0] ? DOING_EVENTS : DOING_SLEEP;
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: return DOING_EVENTS;
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return DOING_SLEEP;
    case SYS_wait4:
    case SYS_waitid: return DOING_CHILD;
    case SYS_openat:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_getdents64:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_io_getevents: return DOING_FILE;
    case SYS_sched_yield: return DOING_COMPUTES;
    default: return DOING_OTHER;
    }
}

static enum doing doing_by_wait(const struct state_reader *r, int32_t tid)
{
    static const enum doing doings[WAIT_KINDS] = {
        [WAIT_UNKNOWN] = DOING_OTHER, [WAIT_RUNNING] = DOING_COMPUTES, [WAIT_DISK] = DOING_FILE,     [WAIT_NETWORK_FS] = DOING_FILE,
        [WAIT_FUSE] = DOING_FILE,     [WAIT_PIPE] = DOING_PIPE,        [WAIT_SOCKET] = DOING_SOCKET, [WAIT_LOCK] = DOING_LOCK,
        [WAIT_SLEEP] = DOING_SLEEP,   [WAIT_POLL] = DOING_EVENTS,      [WAIT_CHILD] = DOING_CHILD,   [WAIT_STOPPED] = DOING_STOPPED,
        [WAIT_OTHER] = DOING_OTHER,
    };
    char path[64], text[1024], wchan[64];
    struct proc_stat stat;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)r->pid, (int)tid);
    ssize_t len = file_read_head(r->env, path, text, sizeof text);
    if (len <= 0 || !proc_stat_parse((struct str){text, (size_t)len}, &stat))
        return DOING_OTHER;
    snprintf(path, sizeof path, "/proc/%d/task/%d/wchan", (int)r->pid, (int)tid);
    len = file_read_head(r->env, path, wchan, sizeof wchan);
    return doings[wait_kind(stat.state, (struct str){wchan, len > 0 ? (size_t)len : 0})];
}

enum doing thread_doing(const struct state_reader *r, int32_t tid, int syscall_fd)
{
    char text[256];
    struct str rest, word;
    int64_t call;
    uint64_t args[ARGUMENTS] = {0};
    ssize_t len = syscall_fd >= 0 ? file_read_again(syscall_fd, text, sizeof text) : -1;
    rest = (struct str){text, len > 0 ? (size_t)len : 0};
    if (str_starts(rest, "running"))
        return DOING_COMPUTES;
    if (!str_word(&rest, &word) || !str_to_i64(word, &call) || call < 0) /* hidden, stopped or in a page fault */
        return doing_by_wait(r, tid);
    for (size_t i = 0; i < ARGUMENTS; i++)
        if (!str_word(&rest, &word) || !str_to_u64(word, &args[i]))
            break;
    return doing_by_call(r, call, args);
}
