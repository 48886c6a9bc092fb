/* SPDX-License-Identifier: Apache-2.0
 * Maintains the list of processes and their graphics descriptors with few system calls.
 */
#include "source/drm/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

enum { DRM_MAJOR = 226, ACCEL_MAJOR = 261 };

void procs_init(struct procs *p, const struct env *env)
{
    *p = (struct procs){.env = env, .dir = -1};
}

void procs_done(struct procs *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->list[i].fds);
    free(p->list);
    if (p->dir >= 0)
        close(p->dir);
    procs_init(p, p->env);
}

static bool to_number(const char *text, int32_t *ret)
{
    int64_t value = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > INT32_MAX / 10)
            return false;
        value = value * 10 + (*text - '0');
    }
    *ret = (int32_t)value;
    return value > 0 || text[-1] == '0';
}

/* Recorded trees have symlinks in place of device nodes. */
static bool recorded_minor(int dir, const char *name, int32_t *minor)
{
    char target[64];
    ssize_t len = readlinkat(dir, name, target, sizeof target - 1);
    if (len <= 0)
        return false;
    target[len] = '\0';
    if (strncmp(target, "/dev/dri/renderD", 16) == 0)
        return to_number(target + 16, minor);
    if (strncmp(target, "/dev/accel/accel", 16) == 0 && to_number(target + 16, minor) && *minor < ACCEL_MINORS) {
        *minor += ACCEL_MINORS;
        return true;
    }
    return strncmp(target, "/dev/dri/card", 13) == 0 && to_number(target + 13, minor);
}

/* Never touches a file system that may hang: what the kernel knows itself suffices. */
static bool real_minor(int dir, const char *name, int32_t *ret)
{
    struct statx st;
    if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
        return false;
    bool accel = st.stx_rdev_major == ACCEL_MAJOR;
    if (!S_ISCHR(st.stx_mode) || (st.stx_rdev_major != DRM_MAJOR && !accel) || st.stx_rdev_minor >= ACCEL_MINORS)
        return false;
    *ret = (int32_t)st.stx_rdev_minor + (accel ? ACCEL_MINORS : 0);
    return true;
}

static int32_t known_client(const struct proc *before, int32_t fd, int32_t minor)
{
    for (size_t i = 0; i < before->fd_count; i++)
        if (before->fds[i].fd == fd && before->fds[i].minor == minor && before->fds[i].client >= 0)
            return before->fds[i].client;
    return FD_UNREAD;
}

static bool add_fd(struct held_fd **fds, size_t *count, struct held_fd new)
{
    if (*count == PROC_FDS_MAX)
        return false;
    /* Grows at 0, 4, 8, 16, ... */
    if (*count == 0 || (*count >= 4 && (*count & (*count - 1)) == 0)) {
        struct held_fd *more = realloc(*fds, (*count ? *count * 2 : 4) * sizeof *more);
        if (!more)
            return false;
        *fds = more;
    }
    (*fds)[(*count)++] = new;
    return true;
}

/* False: incomplete. */
static bool read_fd_names(struct procs *p, int dir, const struct proc *before, struct held_fd **fds, size_t *count)
{
    bool recorded = env_is_recorded(p->env);
    char buffer[8192] __attribute__((aligned(__alignof__(struct dirent64))));
    ssize_t got;
    while ((got = dir_entries(dir, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            struct held_fd held;
            at += entry->d_reclen;
            if (!to_number(entry->d_name, &held.fd))
                continue;
            if (!(recorded ? recorded_minor(dir, entry->d_name, &held.minor) : real_minor(dir, entry->d_name, &held.minor)))
                continue;
            held.client = known_client(before, held.fd, held.minor);
            if (!add_fd(fds, count, held))
                return false;
        }
    }
    return got == 0 || is_gone(-errno);
}

/* Kernel threads hide their descriptors, too, but have none. Flags are field 9 of stat, after the name in parentheses. */
static bool is_kernel_thread(const struct procs *p, int32_t pid)
{
    char name[32], text[512];
    snprintf(name, sizeof name, "%d/stat", pid);
    if (file_read_at(p->dir, name, text, sizeof text) <= 0)
        return false;
    const char *end = strrchr(text, ')');
    struct str rest = str_from(end ? end + 1 : ""), word;
    uint64_t flags = 0;
    for (int field = 3; field <= 9 && str_word(&rest, &word); field++)
        if (field == 9 && !str_to_u64(word, &flags))
            return false;
    return flags & 0x00200000;
}

/* Scans the descriptors of one process. False: failed, which says nothing about the process. */
static bool procs_walk(struct procs *p, struct proc *proc, struct mono now)
{
    char name[32];
    snprintf(name, sizeof name, "%d/fd", proc->pid);
    AUTO_CLOSE int dir = dir_fd_open_at(p->dir, name);
    struct held_fd *fds = NULL;
    size_t count = 0;
    bool hidden = dir == -EACCES || dir == -EPERM;
    p->walks++;
    if (dir < 0 && !hidden && !is_gone(dir))
        return false;
    if (dir >= 0 && !read_fd_names(p, dir, proc, &fds, &count)) {
        free(fds);
        return false;
    }
    if (hidden && !proc->hidden)
        proc->kernel_thread = is_kernel_thread(p, proc->pid);
    proc->hidden = hidden;
    free(proc->fds);
    proc->fds = fds;
    proc->fd_count = count;
    proc->walked = now;
    return true;
}

/* Since Linux 6.2 the size of PID/fd is the number of open descriptors. Recorded trees use the modification time. */
static uint64_t fd_mark(const struct procs *p, int32_t pid)
{
    char name[32];
    struct stat st;
    char *digit = name + sizeof name - 4;
    memcpy(digit, "/fd", 4);
    for (int32_t n = pid; n > 0; n /= 10)
        *--digit = (char)('0' + n % 10);
    if (fstatat(p->dir, digit, &st, 0) < 0)
        return 0;
    if (!env_is_recorded(p->env))
        return (uint64_t)st.st_size;
    return (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec + (uint64_t)st.st_size;
}

static void update_one(struct procs *p, struct proc *proc, struct mono now)
{
    uint64_t mark = fd_mark(p, proc->pid);
    int64_t age = mono_since_ms(now, proc->walked);
    int64_t spread = proc->pid % 10 * 1000; /* spread over scans */
    bool due = age >= (mark ? PROC_WALK_MS + spread : PROC_WALK_BLIND_MS);
    if (proc->hidden && proc->known)
        due = age >= PROC_WALK_MS + spread; /* inaccessible until it changes its user */
    else if (mark != proc->mark)
        due = true;
    if (!proc->known || due)
        proc->known = procs_walk(p, proc, now);
    proc->mark = mark;
}

struct pid_inode {
    int32_t pid;
    uint64_t inode;
};

static int compare_pids(const void *a, const void *b)
{
    const struct pid_inode *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* All PIDs of /proc, sorted. NULL: incomplete, or out of memory (errno). */
static struct pid_inode *list_pids(struct procs *p, size_t *count)
{
    size_t capacity = MAX_OF(p->count + 64, (size_t)256);
    struct pid_inode *pids = malloc(capacity * sizeof *pids);
    char buffer[16384] __attribute__((aligned(__alignof__(struct dirent64))));
    ssize_t got = 0;
    bool sorted = true;
    *count = 0;
    lseek(p->dir, 0, SEEK_SET);
    while (pids && (got = dir_entries(p->dir, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            int32_t pid;
            at += entry->d_reclen;
            if (!to_number(entry->d_name, &pid) || pid <= 0 || *count == PROCS_MAX)
                continue;
            if (*count == capacity) {
                struct pid_inode *more = realloc(pids, (capacity *= 2) * sizeof *pids);
                if (!more) {
                    free(pids);
                    return NULL;
                }
                pids = more;
            }
            sorted = sorted && (*count == 0 || pids[*count - 1].pid < pid);
            pids[(*count)++] = (struct pid_inode){pid, entry->d_ino};
        }
    }
    if (got < 0) {
        free(pids);
        return NULL;
    }
    if (pids && !sorted)
        qsort(pids, *count, sizeof *pids, compare_pids);
    return pids;
}

/* Keeps what is known about processes that still exist. */
static int merge(struct procs *p, const struct pid_inode *pids, size_t count)
{
    struct proc *list = calloc(MAX_OF(count, (size_t)1), sizeof *list);
    if (!list)
        return -ENOMEM;
    size_t old = 0;
    for (size_t i = 0; i < count; i++) {
        for (; old < p->count && p->list[old].pid < pids[i].pid; old++)
            free(p->list[old].fds);
        bool same = old < p->count && p->list[old].pid == pids[i].pid && p->list[old].inode == pids[i].inode;
        list[i] = same ? p->list[old++] : (struct proc){.pid = pids[i].pid, .inode = pids[i].inode, .broker = -1};
    }
    for (; old < p->count; old++)
        free(p->list[old].fds);
    free(p->list);
    p->list = list;
    p->count = count;
    return 0;
}

int procs_update(struct procs *p, struct mono now)
{
    if (p->dir < 0)
        p->dir = dir_fd_open(p->env, "/proc");
    if (p->dir < 0)
        return p->dir;
    size_t count;
    AUTO_FREE struct pid_inode *pids = list_pids(p, &count);
    int rc = pids ? merge(p, pids, count) : errno ? -errno : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < p->count; i++)
        update_one(p, &p->list[i], now);
    return rc;
}

bool proc_is_broker(const struct procs *p, struct proc *proc)
{
    static const char *const brokers[] = {"systemd", "systemd-logind", "elogind", "elogind-daemon", "seatd", "seatd-launch"};
    if (proc->broker >= 0)
        return proc->broker;
    char name[32], text[32];
    snprintf(name, sizeof name, "%d/comm", proc->pid);
    ssize_t len = file_read_at(p->dir, name, text, sizeof text);
    struct str comm = str_trim((struct str){text, len > 0 ? (size_t)len : 0});
    if (len < 0)
        return false;
    proc->broker = 0;
    for (size_t i = 0; i < ARRAY_LEN(brokers); i++)
        if (str_is(comm, brokers[i]))
            proc->broker = 1;
    return proc->broker;
}
