/* SPDX-License-Identifier: Apache-2.0
 * Looks at a program and its children again and again: opens those that run Python, reads where their threads are and what they
 * do. Memory is read with process_vm_readv(2), which neither stops nor attaches to a process.
 */
#include "host/frames/looks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/evidence/address_samples.h"
#include "host/frames/python.h"
#include "host/identity.h"
#include "host/linux/evidence/texts.h"
#include "host/linux/process_files.h"
#include "host/procfs.h"

/* ---- What a thread does at this moment, by the system call that it is in; where that is hidden, by the kernel
 * function it sleeps in. */

struct state_reader {
    const struct env *env;
    int32_t pid;
    const struct target_memory *target;
    const struct python *python;
};

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

/* `syscall_fd`: its open file /proc/PID/task/TID/syscall, or -1 where that may not be read. */
static enum doing thread_doing(const struct state_reader *r, int32_t tid, int syscall_fd)
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

enum {
    SCAN_MS = 250, /* loaders come and go with every epoch */
    MAPS_MAX = 16 << 20,
    TRIES = 3,        /* for a stack that changes while it is read */
    FAILED_LOOKS = 5, /* in a row: the process has ended, or executes another program */
    OPENINGS = 20,    /* of a process that is not Python; then rarely */
    DRIVER_FREQUENCY = 199,
};

struct known_thread {
    int32_t inside, tid; /* its ID there, and here */
    int number;          /* in the looks */
    int syscall_fd, sched_fd;
    int stack; /* last seen; -1 none */
    enum doing doing;
    struct proc_schedstat began, last;
    struct address_sampler *sampler; /* NULL: none; tells a wait for the GPU from computing */
};

struct looked_process {
    int32_t pid, inside;
    int64_t start;
    size_t number;
    bool present, stopped;
    int openings, failed, rc; /* of the last opening */
    bool on_gpu;              /* it has a GPU's library loaded */
    struct python *python;
    struct target_memory target;
    struct known_thread *threads;
    size_t thread_count, thread_capacity;
};

struct line_looker {
    const struct env *env;
    const struct lines_request *request;
    struct looks *looks;
    struct python_memory *memory;
    struct looked_process processes[LOOKED_PROCESSES_MAX];
    size_t count;
    struct error why; /* of the process that was asked for */
    int why_code;
    uint32_t random;
};

static bool read_memory_of(void *user, uint64_t at, void *to, size_t size)
{
    const struct looked_process *p = user;
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)at, size};
    return process_vm_readv(p->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* ---- rights ---- */

static int64_t capability_mask(const struct env *env)
{
    char text[4096];
    struct str rest, line, word;
    int64_t mask = 0;
    ssize_t len = file_read_head(env, "/proc/self/status", text, sizeof text);
    rest = (struct str){text, len > 0 ? (size_t)len : 0};
    while (str_cut(&rest, '\n', &line))
        if (str_word(&line, &word) && str_is(word, "CapEff:"))
            str_to_cursor(str_trim(line), &mask);
    return mask;
}

/* Why its memory may not be read, and what to do. */
static int say_denied(const struct env *env, const struct lines_request *request, int32_t pid, struct error *err)
{
    enum { CAP_SYS_PTRACE_BIT = 19 };
    static const char out[] = "start it with `whirr watch -- COMMAND`, or use sudo";
    char text[4096];
    struct proc_status status = {.uid = -1};
    int64_t yama = 0;
    ssize_t len = proc_read(env, pid, "status", text, sizeof text);
    if (len <= 0)
        return error_set(err, -ESRCH, "it has ended");
    proc_status_parse((struct str){text, (size_t)len}, &status);
    file_read_i64(env, "/proc/sys/kernel/yama/ptrace_scope", &yama);
    bool may_trace = capability_mask(env) >> CAP_SYS_PTRACE_BIT & 1;
    if (request->for_others)
        return error_set(
            err, -EPERM,
            may_trace ? "the daemon confines itself (server.confine_writes), which forbids it; on the host: sudo whirr why %d"
                      : "the daemon lacks CAP_SYS_PTRACE; on the host: sudo whirr why %d",
            (int)pid);
    if (geteuid() == 0 && !may_trace)
        return error_set(err, -EPERM, "root lacks CAP_SYS_PTRACE here, as in most containers; ask on the host");
    if (status.uid != (int64_t)geteuid())
        return error_set(err, -EPERM, "it is another user's program; use sudo");
    if (yama == 1)
        return error_set(err, -EPERM, "kernel.yama.ptrace_scope is 1 here, which lets only its parent look; %s", out);
    if (yama > 1)
        return error_set(err, -EPERM,
                         yama == 2 ? "kernel.yama.ptrace_scope is 2 here; use sudo"
                                   : "kernel.yama.ptrace_scope is 3 here, which lets nobody look");
    return error_set(err, -EPERM,
                     "the program forbids it, as those with rights of their own do, or a filter of this container does; use sudo");
}

static bool may_look(const struct env *env, const struct lines_request *request, int32_t pid)
{
    char text[4096];
    struct proc_status status;
    proc_status_parse(proc_text(env, pid, "status", text, sizeof text), &status);
    return request->for_others || geteuid() == 0 || status.uid == (int64_t)geteuid();
}

/* ---- processes ---- */

/* The last number of the line NSpid: its ID in the innermost PID namespace. */
static int32_t id_inside(const struct env *env, const char *path, int32_t otherwise)
{
    char text[4096];
    struct str rest, line, word;
    int64_t id = otherwise;
    ssize_t len = file_read_head(env, path, text, sizeof text);
    rest = (struct str){text, len > 0 ? (size_t)len : 0};
    while (str_cut(&rest, '\n', &line))
        if (str_starts(line, "NSpid:"))
            while (str_word(&line, &word))
                str_to_i64(word, &id);
    return (int32_t)id;
}

static void forget_threads(struct line_looker *l, struct looked_process *p)
{
    for (size_t i = 0; i < p->thread_count; i++) {
        struct known_thread *t = &p->threads[i];
        struct looked_thread *seen = &l->looks->threads[t->number];
        seen->ran_ns = t->last.run_ns - t->began.run_ns;
        seen->queued_ns = t->last.queued_ns - t->began.queued_ns;
        address_sampler_free(t->sampler);
        if (t->syscall_fd >= 0)
            close(t->syscall_fd);
        if (t->sched_fd >= 0)
            close(t->sched_fd);
    }
    p->thread_count = 0;
}

static void close_process(struct line_looker *l, struct looked_process *p)
{
    forget_threads(l, p);
    python_close(p->python);
    p->python = NULL;
    p->failed = 0;
}

static void open_process(struct line_looker *l, struct looked_process *p)
{
    char path[64];
    struct error err = {0};
    AUTO_BUF struct buf maps = BUF(MAPS_MAX);
    p->openings++;
    p->rc = may_look(l->env, l->request, p->pid) ? proc_read_all(l->env, p->pid, "maps", &maps) : -EPERM;
    snprintf(path, sizeof path, "/proc/%d/status", (int)p->pid);
    p->inside = id_inside(l->env, path, p->pid);
    p->target = (struct target_memory){read_memory_of, p};
    if (p->rc >= 0 && maps.len)
        p->rc = python_open(&(struct python_source){p->target, buf_view(&maps), p->inside, &l->looks->names, l->memory}, &p->python,
                            &err);
    else if (p->rc >= 0)
        p->rc = error_set(&err, -ESRCH, "it has ended");
    if (p->rc == -EACCES || p->rc == -EPERM || p->rc == -EFAULT || p->rc == -ESRCH)
        p->rc = say_denied(l->env, l->request, p->pid, &err);
    p->on_gpu = str_contains(buf_view(&maps), "/libcuda.so") || str_contains(buf_view(&maps), "/libhsa-runtime64.so") ||
                str_contains(buf_view(&maps), "/libze_intel_gpu.so");
    /* A reason of the program itself counts, unless it is a shell or launcher above the one that is meant. */
    if (p->rc < 0 && (p->number == 0 || l->why_code == -ENOEXEC || !l->why_code)) {
        l->why = err;
        l->why_code = p->rc;
    }
}

/* The process, known or new; NULL: no room, or it has ended. */
static struct looked_process *process_of(struct line_looker *l, int32_t pid)
{
    struct looked_process *p = NULL;
    for (size_t i = 0; i < l->count; i++)
        if (l->processes[i].pid == pid)
            p = &l->processes[i];
    int64_t start = process_start(l->env, pid);
    if (!start || (!p && l->count == LOOKED_PROCESSES_MAX))
        return NULL;
    if (!p)
        *(p = &l->processes[l->count]) = (struct looked_process){.pid = pid, .start = start, .number = l->count}, l->count++;
    if (p->start != start) { /* another process with its PID */
        close_process(l, p);
        p->start = start;
        p->openings = 0;
    }
    p->present = true;
    return p;
}

/* Children are the children of all threads. */
static size_t children_of_process(const struct env *env, int32_t pid, int32_t *list, size_t max)
{
    enum { THREADS_MAX = 256, TEXT_SIZE = 4096 };
    char name[64], text[TEXT_SIZE];
    size_t count = 0;
    int threads = 0;
    AUTO_DIR DIR *dir = proc_dir(env, pid, "task");
    for (const struct dirent *e; dir && threads < THREADS_MAX && (e = readdir(dir));) {
        struct str rest, word;
        int64_t child;
        if (e->d_name[0] == '.')
            continue;
        threads++;
        snprintf(name, sizeof name, "%.20s/children", e->d_name);
        ssize_t len = file_read_at(dirfd(dir), name, text, sizeof text);
        rest = (struct str){text, len > 0 ? (size_t)len : 0};
        while (count < max && str_word(&rest, &word))
            if (str_to_i64(word, &child) && child > 0 && child <= INT32_MAX)
                list[count++] = (int32_t)child;
    }
    return count;
}

static bool is_stopped(const struct env *env, int32_t pid)
{
    char text[1024];
    struct proc_stat stat;
    return proc_stat_parse(proc_text(env, pid, "stat", text, sizeof text), &stat) && (stat.state == 'T' || stat.state == 't');
}

/* Finds the program and its descendants, and opens those that are new. Returns how many there are. */
static size_t scan(struct line_looker *l)
{
    int32_t queue[LOOKED_PROCESSES_MAX] = {l->request->pid};
    size_t queued = 1, living = 0;
    for (size_t i = 0; i < l->count; i++)
        l->processes[i].present = false;
    for (size_t next = 0; next < queued; next++) {
        struct looked_process *p = process_of(l, queue[next]);
        if (!p)
            continue;
        living++;
        p->stopped = is_stopped(l->env, p->pid);
        if (!p->python && (p->openings < OPENINGS || l->looks->taken % 256 == 0))
            open_process(l, p);
        queued += children_of_process(l->env, p->pid, queue + queued, LOOKED_PROCESSES_MAX - queued);
    }
    for (size_t i = 0; i < l->count; i++)
        if (!l->processes[i].present && l->processes[i].python)
            close_process(l, &l->processes[i]);
    return living;
}

/* ---- threads ---- */

/* Its ID here. */
static int32_t id_here(const struct line_looker *l, const struct looked_process *p, int32_t inside)
{
    char path[64];
    if (p->inside == p->pid || !inside)
        return inside;
    AUTO_DIR DIR *dir = proc_dir(l->env, p->pid, "task");
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        int64_t tid;
        if (e->d_name[0] == '.' || !str_to_i64(str_from(e->d_name), &tid))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)p->pid, (int)tid);
        if (id_inside(l->env, path, 0) == inside)
            return (int32_t)tid;
    }
    return 0;
}

static int open_of_thread(const struct looked_process *p, int32_t tid, const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)p->pid, (int)tid, name);
    return file_open_at(-1, path);
}

static void read_schedule(struct known_thread *t)
{
    char text[128];
    ssize_t len = t->sched_fd >= 0 ? file_read_again(t->sched_fd, text, sizeof text) : -1;
    if (len > 0)
        proc_schedstat_parse((struct str){text, (size_t)len}, &t->last);
}

static struct known_thread *thread_of(struct line_looker *l, struct looked_process *p, int32_t inside)
{
    for (size_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].inside == inside)
            return &p->threads[i];
    struct known_thread t = {.inside = inside, .tid = id_here(l, p, inside), .stack = -1};
    struct looked_thread seen = {.pid = p->pid, .tid = t.tid, .process = p->number, .is_main = t.tid == p->pid};
    char path[80], name[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)p->pid, (int)t.tid);
    ssize_t len = t.tid ? file_read_head(l->env, path, name, sizeof name) : 0;
    str_copy_clean(seen.name, sizeof seen.name, str_trim((struct str){name, len > 0 ? (size_t)len : 0}));
    if (!ROOM_FOR_ONE(p->threads, p->thread_count, p->thread_capacity, 8) || (t.number = looks_thread(l->looks, &seen)) < 0)
        return NULL;
    t.syscall_fd = t.tid ? open_of_thread(p, t.tid, "syscall") : -1;
    t.sched_fd = t.tid ? open_of_thread(p, t.tid, "schedstat") : -1;
    read_schedule(&t);
    t.began = t.last;
    if (seen.is_main && p->on_gpu && address_sampler_new(&t.sampler, l->env, p->pid, &t.tid, 1, DRIVER_FREQUENCY) < 0)
        t.sampler = NULL;
    p->threads[p->thread_count] = t;
    return &p->threads[p->thread_count++];
}

/* Most of what the thread executed since the last look was the driver's library: it spins until the GPU is done. */
static bool is_in_driver(struct known_thread *t)
{
    struct address_samples found;
    int64_t permille = 0;
    if (!t->sampler)
        return false;
    address_sampler_read(t->sampler, &found);
    address_sampler_restart(t->sampler);
    for (size_t i = 0; i < ADDRESS_OBJECTS; i++)
        if (address_group_of(str_from(found.objects[i].name), false) == ADDRESS_DRIVER && found.objects[i].name[0] != '[')
            permille += found.objects[i].permille;
    return found.state == READING_OK && permille > 500;
}

static void look_at_thread(struct line_looker *l, struct looked_process *p, const struct python_thread *thread,
                           struct known_thread *t)
{
    struct python_stack stack;
    struct state_reader reader = {l->env, p->pid, &p->target, p->python};
    int64_t ran = t->last.run_ns;
    enum doing doing = p->stopped ? DOING_STOPPED : t->tid ? thread_doing(&reader, t->tid, t->syscall_fd) : DOING_OTHER;
    read_schedule(t);
    /* A thread that has not run since it was last seen waiting is where it was. */
    bool same = t->stack >= 0 && doing != DOING_COMPUTES && doing == t->doing && t->sched_fd >= 0 && t->last.run_ns == ran;
    t->doing = doing;
    if (t->sampler && is_in_driver(t) && doing == DOING_COMPUTES)
        doing = DOING_GPU;
    if (same) {
        looks_again(l->looks, (size_t)t->number, doing, (size_t)t->stack);
        return;
    }
    int rc = -EAGAIN;
    for (int i = 0; i < TRIES && rc < 0; i++)
        rc = python_stack(p->python, thread, &stack);
    t->stack = -1;
    if (rc < 0)
        l->looks->torn++;
    else if (stack.count)
        t->stack = looks_add(l->looks, (size_t)t->number, doing, &stack);
}

static void look_at_process(struct line_looker *l, struct looked_process *p)
{
    struct python_thread threads[PYTHON_THREADS_MAX];
    int count = -EAGAIN;
    for (int i = 0; i < TRIES && count < 0; i++)
        count = python_threads(p->python, threads);
    if (count <= 0 && ++p->failed >= FAILED_LOOKS) {
        close_process(l, p); /* the next scan opens what it is now */
        return;
    }
    if (count > 0)
        p->failed = 0;
    for (int i = 0; i < count; i++) {
        struct known_thread *t = thread_of(l, p, threads[i].id);
        if (t)
            look_at_thread(l, p, &threads[i], t);
    }
}

/* ---- over time ---- */

/* About this long, never quite: a program with a rhythm would always be seen at the same place. */
static void pause_between(struct line_looker *l, int64_t ns)
{
    l->random = l->random * 1664525u + 1013904223u;
    ns += ns * ((int64_t)(l->random >> 16) - 32768) / 32768 / 5;
    struct timespec wait = {ns / NS_PER_S, ns % NS_PER_S};
    nanosleep(&wait, NULL);
}

static bool is_over(const struct lines_request *r, struct mono began)
{
    return (r->cancel && *r->cancel) || (r->ms && mono_since_ms(clock_mono(&clock_system), began) >= r->ms);
}

static void look_over_time(struct line_looker *l)
{
    struct mono began = clock_mono(&clock_system), scanned = began;
    int64_t gap_ns = NS_PER_S / MAX_OF(MIN_OF(l->request->looks_per_s, LINES_LOOKS_PER_S), 1);
    while (!is_over(l->request, began)) {
        struct mono now = clock_mono(&clock_system);
        if (mono_since_ms(now, scanned) >= SCAN_MS) {
            scanned = now;
            if (!scan(l))
                return;
        }
        for (size_t i = 0; i < l->count; i++)
            if (l->processes[i].python)
                look_at_process(l, &l->processes[i]);
        l->looks->taken++;
        pause_between(l, gap_ns);
    }
}

int lines_take(const struct env *env, const struct lines_request *request, struct looks *ret, struct error *err)
{
    AUTO_FREE struct line_looker *l = calloc(1, sizeof *l);
    AUTO_FREE struct python_memory *memory = calloc(1, sizeof *memory);
    int rc = 0;
    if (env_is_recorded(env))
        return error_set(err, -ENOTSUP, "a recorded host has no program to look into");
    if (!l || !memory || looks_init(ret) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    *l = (struct line_looker){.env = env, .request = request, .looks = ret, .memory = memory, .random = (uint32_t)getpid()};
    if (!scan(l))
        rc = error_set(err, -ESRCH, "it has ended");
    size_t open = 0;
    for (size_t i = 0; i < l->count; i++)
        open += l->processes[i].python != NULL;
    if (rc == 0 && (open || !request->ms))
        look_over_time(l);
    for (size_t i = 0; i < l->count; i++) {
        close_process(l, &l->processes[i]);
        free(l->processes[i].threads);
    }
    if (rc == 0 && !ret->sample_count)
        rc = l->why_code ? error_set(err, l->why_code, "%s", l->why.text)
                         : error_set(err, -ENODATA, "it ended too soon, or its stacks changed too fast");
    if (rc < 0)
        looks_done(ret);
    return rc;
}
