/* SPDX-License-Identifier: Apache-2.0
 * The reader: remembers processes, limits the files of a round, and follows the main thread over the last few looks. The kernel
 * counts how long the thread ran; the looks show what it waited for in the rest of the time.
 *
 *   look      every round: the main thread, its process's counters, few children
 *   full look every few seconds: all threads, all children and their files, control group, NUMA
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/evidence/evidence.h"
#include "host/linux/evidence/internal.h"
#include "host/linux/process_files.h"

/* no-op if open */
static void open_proc(struct evidence_reader *r)
{
    if (r->proc < 0)
        r->proc = dir_fd_open(r->env, "/proc");
}

/* ---- Guesses which processes use a GPU before its driver answers ---- */

enum { PROCESSES_MAX = 4096, CANDIDATES_MAX = 96 };

/* A program that uses a GPU reserves gigabytes of address space. */
#define GPU_VSIZE_LEAST ((uint64_t)1 << 30)

struct large_process {
    struct evidence_target target;
    uint64_t vsize_bytes;
};

static int by_size(const void *a, const void *b)
{
    uint64_t x = ((const struct large_process *)a)->vsize_bytes, y = ((const struct large_process *)b)->vsize_bytes;
    return x > y ? -1 : x < y;
}

size_t evidence_candidates(struct evidence_reader *r, struct evidence_target *ret, size_t max)
{
    AUTO_FREE struct large_process *list = calloc(PROCESSES_MAX, sizeof *list);
    AUTO_DIR DIR *dir = dir_open(r->env, "/proc");
    size_t count = 0;
    const struct dirent *e;
    open_proc(r);
    while (list && dir && r->proc >= 0 && count < PROCESSES_MAX && (e = readdir(dir))) {
        char name[300], text[1024];
        int64_t pid;
        struct proc_stat stat;
        if (!str_to_i64(str_from(e->d_name), &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        snprintf(name, sizeof name, "%s/stat", e->d_name);
        ssize_t n = file_read_at(r->proc, name, text, sizeof text);
        if (n > 0 && proc_stat_parse((struct str){text, (size_t)n}, &stat) && stat.vsize_bytes >= GPU_VSIZE_LEAST)
            list[count++] = (struct large_process){{(int32_t)pid, stat.start_ticks}, stat.vsize_bytes};
    }
    if (count)
        qsort(list, count, sizeof *list, by_size);
    size_t found = 0;
    for (size_t i = 0; i < MIN_OF(count, (size_t)CANDIDATES_MAX) && found < max; i++)
        if (process_holds_gpu(r->env, list[i].target.pid) > 0)
            ret[found++] = list[i].target;
    return found;
}

enum {
    FILES_PER_ROUND = 512,
    FILES_PER_PROCESS = 8, /* minimum: every process gets some, however many there are */
    QUICK_FULL_MS = 40,
    FULL_MS = 6000,
    THREADS_AGAIN_MS = 30 * 1000, /* maximum: new threads may have children */
    KEPT_PROCESSES = 16,          /* only the first ones keep their files open */
    IDLE_PERMILLE = 20,           /* of a core: below that it is idle, whichever thread uses it */
    FEW_CHILDREN = 32,
    MOUNTS_MAX = 1 << 20,
    MOUNTS_AGAIN_MS = 60 * 1000,
    BUSY_PERMILLE = 500,
};

/* ---- remembered processes ---- */

static void close_files(struct evidence_memory *w)
{
    for (int i = 0; i < KEPT_FILES; i++) {
        if (w->kept[i] >= 0)
            close(w->kept[i]);
        w->kept[i] = -1;
    }
    if (w->directory >= 0)
        close(w->directory);
    w->directory = -1;
}

static void memory_done(struct watched_process *watched, void *reader)
{
    struct evidence_memory *w = (struct evidence_memory *)watched;
    struct evidence_reader *r = reader;
    close_files(w);
    code_done(r, &w->code);
    r->keeping -= w->keeps;
}

struct evidence_reader *evidence_new(const struct env *env)
{
    struct evidence_reader *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->env = env;
    r->proc = -1;
    r->ticks_per_s = MAX_OF(sysconf(_SC_CLK_TCK), 1);
    r->mounts = BUF(MOUNTS_MAX);
    r->watched.done = memory_done;
    r->watched.user = r;
    return r;
}

void evidence_free(struct evidence_reader *r)
{
    if (!r)
        return;
    watched_done(&r->watched);
    buf_done(&r->mounts);
    if (r->proc >= 0)
        close(r->proc);
    free(r);
}

static struct evidence_memory *find(struct evidence_reader *r, const struct evidence_target *target)
{
    struct watched_process *known = watched_find(&r->watched, target);
    if (known)
        return (struct evidence_memory *)known;
    struct evidence_memory *w = watched_has_room(&r->watched) ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return NULL;
    w->watched.target = *target;
    w->directory = -1;
    memset(w->kept, -1, sizeof w->kept);
    w->keeps = r->keeping < KEPT_PROCESSES && !env_is_recorded(r->env); /* recordings replace files */
    r->keeping += w->keeps;
    watched_add(&r->watched, &w->watched);
    return w;
}

void evidence_begin(struct evidence_reader *r, const struct evidence_round *round)
{
    r->now = clock_mono(r->env->clock);
    r->quick = round->quick;
    r->files_left = FILES_PER_ROUND;
    r->to_look = MAX_OF(round->looked_at, (size_t)1);
    r->gpu_count = MIN_OF(round->count, (size_t)EVIDENCE_TARGETS_MAX);
    memcpy(r->gpus, round->all, r->gpu_count * sizeof r->gpus[0]);
    open_proc(r);
    if (!r->mounts_at.ns || mono_since_ms(r->now, r->mounts_at) >= MOUNTS_AGAIN_MS) {
        buf_done(&r->mounts);
        r->mounts = BUF(MOUNTS_MAX);
        file_read_all(r->env, "/proc/self/mountinfo", &r->mounts);
        r->mounts_at = r->now;
    }
    watched_forget_old(&r->watched, r->now, round->gap_ms);
}

ssize_t kept_read(struct evidence_reader *r, struct evidence_memory *w, enum kept_file file, char *text, size_t size)
{
    static const char *const names[KEPT_FILES] = {"stat", "schedstat", "wchan", "io"};
    char name[40];
    if (!budget_take(r))
        return -EAGAIN;
    if (w->kept[file] < 0) {
        if (names[file])
            str_copy(name, sizeof name, str_from(names[file]));
        else
            snprintf(name, sizeof name, "task/%d/children", (int)w->watched.target.pid);
        w->kept[file] = file_open_at(w->directory, name);
    }
    return w->kept[file] < 0 ? w->kept[file] : file_read_again(w->kept[file], text, size);
}

/* ---- the main thread ---- */

static void read_wait(struct evidence_reader *r, struct evidence_memory *w, struct main_look *l)
{
    char text[128];
    bool sleeps = l->stat.state == 'S' || l->stat.state == 'D';
    ssize_t n = sleeps ? kept_read(r, w, KEPT_WCHAN, text, sizeof text) : 0;
    l->kind = wait_kind(l->stat.state, (struct str){text, n > 0 ? (size_t)n : 0});
}

static void read_io(struct evidence_reader *r, struct evidence_memory *w, struct main_look *l)
{
    char text[512];
    ssize_t n = kept_read(r, w, KEPT_IO, text, sizeof text);
    l->io_rc = n < 0 ? (int)n : 0;
    proc_io_parse((struct str){text, n > 0 ? (size_t)n : 0}, &l->read_bytes, &l->write_bytes);
}

/* 0 or -errno: reads nothing if the PID was reused. */
static int look_at_main(struct evidence_reader *r, struct evidence_memory *w)
{
    char text[1024];
    struct main_look l = {.at = r->now};
    ssize_t n = kept_read(r, w, KEPT_STAT, text, sizeof text);
    if (n <= 0 || !proc_stat_parse((struct str){text, (size_t)n}, &l.stat))
        return n < 0 ? (int)n : -ESRCH;
    if (w->watched.target.start_key && l.stat.start_ticks != w->watched.target.start_key)
        return -ESRCH;
    str_copy_clean(w->name, sizeof w->name, l.stat.comm);
    l.stat.comm = (struct str){0};
    read_wait(r, w, &l);
    n = kept_read(r, w, KEPT_SCHEDSTAT, text, sizeof text);
    l.sched_known = n > 0 && proc_schedstat_parse((struct str){text, (size_t)n}, &l.sched);
    read_io(r, w, &l);
    if (w->look_count == LOOKS_MAX)
        memmove(w->looks, w->looks + 1, --w->look_count * sizeof w->looks[0]);
    w->looks[w->look_count++] = l;
    w->watched.looked_at = l.at;
    return 0;
}

/* The first look of the window; at least the one before the newest, if it is remembered. */
static size_t window_start(const struct evidence_reader *r, const struct evidence_memory *w)
{
    size_t first = w->look_count >= 2 ? w->look_count - 2 : 0;
    while (first > 0 && mono_since_ms(r->now, w->looks[first - 1].at) <= WINDOW_MS)
        first--;
    return first;
}

/* ---- writing the evidence ---- */

static const struct {
    enum wait_kind kind;
    enum evidence field;
} shares[] = {
    {WAIT_DISK, EVIDENCE_main_disk_permille},   {WAIT_NETWORK_FS, EVIDENCE_main_network_fs_permille},
    {WAIT_FUSE, EVIDENCE_main_fuse_permille},   {WAIT_PIPE, EVIDENCE_main_pipe_permille},
    {WAIT_SOCKET, EVIDENCE_main_pipe_permille}, {WAIT_LOCK, EVIDENCE_main_lock_permille},
    {WAIT_SLEEP, EVIDENCE_main_sleep_permille}, {WAIT_POLL, EVIDENCE_main_poll_permille},
    {WAIT_CHILD, EVIDENCE_main_child_permille}, {WAIT_STOPPED, EVIDENCE_main_other_permille},
    {WAIT_OTHER, EVIDENCE_main_other_permille},
};

static int64_t running_permille(const struct main_look *from, const struct main_look *to, const int *seen, int looks)
{
    int64_t elapsed_ns = to->at.ns - from->at.ns;
    if (!from->sched_known || !to->sched_known || elapsed_ns <= 0)
        return (int64_t)seen[WAIT_RUNNING] * 1000 / looks;
    int64_t ran_ns = to->sched.run_ns - from->sched.run_ns + to->sched.queued_ns - from->sched.queued_ns;
    return MIN_OF(core_permille(ran_ns, elapsed_ns), (int64_t)1000);
}

static void write_main(const struct evidence_memory *w, size_t first, struct host_evidence *ret)
{
    int seen[WAIT_KINDS] = {0}, looks = (int)(w->look_count - first);
    const struct main_look *from = &w->looks[first], *to = &w->looks[w->look_count - 1];
    for (size_t i = first; i < w->look_count; i++)
        seen[w->looks[i].kind]++;
    int64_t running = running_permille(from, to, seen, looks);
    int asleep = looks - seen[WAIT_RUNNING], known = asleep - seen[WAIT_UNKNOWN];
    ret->main_running_permille = reading_ok(running);
    ret->stopped = reading_ok(to->kind == WAIT_STOPPED);
    bool hidden = asleep && !known;
    for (size_t i = 0; i < ARRAY_LEN(shares); i++)
        ret->metric[shares[i].field] =
            hidden ? reading_absent(to->io_rc == -EACCES ? READING_DENIED : READING_UNSUPPORTED) : reading_ok(0);
    for (size_t i = 0; i < ARRAY_LEN(shares) && known; i++)
        ret->metric[shares[i].field].value += (1000 - running) * seen[shares[i].kind] / known;
    if (!asleep) /* it waited between the looks */
        ret->main_other_permille = reading_ok(1000 - running);
}

static struct reading per_second(int64_t gained, int64_t elapsed_ns)
{
    return reading_ok((int64_t)((double)MAX_OF(gained, (int64_t)0) * NS_PER_S / (double)elapsed_ns + 0.5));
}

static void write_io(const struct main_look *from, const struct main_look *to, const struct child_memory *children,
                     int64_t elapsed_ns, struct host_evidence *ret)
{
    if (to->io_rc < 0 || from->io_rc < 0) {
        ret->read_bytes_per_s = ret->write_bytes_per_s = reading_absent(reading_state_from_errno(MIN_OF(to->io_rc, from->io_rc)));
        return;
    }
    ret->read_bytes_per_s = per_second(to->read_bytes - from->read_bytes, elapsed_ns);
    ret->write_bytes_per_s = per_second(to->write_bytes - from->write_bytes, elapsed_ns);
    ret->read_bytes_per_s.value += reading_or(children->read_bytes, 0);
    ret->write_bytes_per_s.value += reading_or(children->write_bytes, 0);
}

/* CPU of all threads: ticks are coarse, so over a short interval the threads' own counters are better. */
static void write_cpu(const struct evidence_reader *r, const struct evidence_memory *w, const struct main_look *from,
                      const struct main_look *to, struct host_evidence *ret)
{
    int64_t elapsed_ns = to->at.ns - from->at.ns, tick_ns = NS_PER_S / r->ticks_per_s;
    if (from->sched_known && to->sched_known) {
        ret->main_cpu_permille = reading_ok(core_permille(to->sched.run_ns - from->sched.run_ns, elapsed_ns));
        ret->runqueue_permille =
            reading_ok(MIN_OF(core_permille(to->sched.queued_ns - from->sched.queued_ns, elapsed_ns), (int64_t)1000));
    }
    if (elapsed_ns < LOOK_LEAST_MS * (int64_t)NS_PER_MS) {
        ret->cpu_permille = w->threads.all;
        ret->system_permille = reading_absent(READING_PENDING);
        return;
    }
    ret->cpu_permille = reading_ok(core_permille((to->stat.cpu_ticks - from->stat.cpu_ticks) * tick_ns, elapsed_ns));
    ret->system_permille = reading_ok(core_permille((to->stat.system_ticks - from->stat.system_ticks) * tick_ns, elapsed_ns));
}

static void write_rates(const struct evidence_reader *r, const struct evidence_memory *w, size_t first, struct host_evidence *ret)
{
    static const enum evidence rates[] = {EVIDENCE_main_cpu_permille,  EVIDENCE_runqueue_permille, EVIDENCE_cpu_permille,
                                          EVIDENCE_system_permille,    EVIDENCE_read_bytes_per_s,  EVIDENCE_write_bytes_per_s,
                                          EVIDENCE_minor_faults_per_s, EVIDENCE_major_faults_per_s};
    const struct main_look *from = &w->looks[first], *to = &w->looks[w->look_count - 1];
    int64_t elapsed_ns = to->at.ns - from->at.ns;
    for (size_t i = 0; i < ARRAY_LEN(rates); i++)
        ret->metric[rates[i]] = reading_absent(elapsed_ns > 0 ? READING_UNSUPPORTED : READING_PENDING);
    if (elapsed_ns <= 0)
        return;
    write_cpu(r, w, from, to, ret);
    write_io(from, to, &w->children, elapsed_ns, ret);
    ret->minor_faults_per_s = per_second(to->stat.minor_faults - from->stat.minor_faults, elapsed_ns);
    ret->major_faults_per_s = per_second(to->stat.major_faults - from->stat.major_faults, elapsed_ns);
}

static void evidence_write(const struct evidence_reader *r, const struct evidence_memory *w, struct host_evidence *ret)
{
    size_t first = window_start(r, w);
    evidence_clear(ret);
    ret->looks = (int64_t)(w->look_count - first);
    ret->over_ms = mono_since_ms(w->looks[w->look_count - 1].at, w->looks[first].at);
    write_main(w, first, ret);
    write_rates(r, w, first, ret);
    threads_write(&w->threads, ret);
    code_write(&w->code, ret);
    children_write(&w->children, ret);
    peer_write(w, ret);
    cgroup_write(&w->cgroup, ret);
    numa_write(&w->numa, ret);
    files_write(&w->files, ret);
    traces_write(&w->traces, ret);
}

/* ---- looks ---- */

static bool waits_for_files(const struct evidence_memory *w)
{
    for (size_t i = 0; i < w->look_count; i++)
        if (w->looks[i].kind == WAIT_DISK || w->looks[i].kind == WAIT_NETWORK_FS || w->looks[i].kind == WAIT_FUSE)
            return true;
    return false;
}

/* The other threads' total is known without reading each: none of them used more than that. */
static bool main_is_busiest(const struct evidence_reader *r, const struct evidence_memory *w, int64_t *main, int64_t *all)
{
    const struct main_look *from = &w->looks[window_start(r, w)], *to = &w->looks[w->look_count - 1];
    int64_t elapsed_ns = to->at.ns - from->at.ns, ticks = to->stat.cpu_ticks - from->stat.cpu_ticks;
    if (elapsed_ns < LOOK_LEAST_MS * (int64_t)NS_PER_MS || !from->sched_known || !to->sched_known)
        return false;
    *main = core_permille(to->sched.run_ns - from->sched.run_ns, elapsed_ns);
    *all = MAX_OF(core_permille(ticks * (NS_PER_S / r->ticks_per_s), elapsed_ns), *main);
    return *all <= 2 * *main || *all <= IDLE_PERMILLE;
}

static void look_at_threads(struct evidence_reader *r, struct evidence_memory *w)
{
    int64_t main, all;
    bool by_main = main_is_busiest(r, w, &main, &all);
    if (!by_main && w->threads.at.ns < w->full_at.ns) {
        w->threads.count = 0; /* outdated: start over, so that the next round has something to compare with */
        w->fulls = 0;
    }
    if (!by_main || mono_since_ms(r->now, w->threads.at) >= THREADS_AGAIN_MS)
        threads_look(r, &w->threads, w->directory);
    if (by_main)
        threads_by_main(&w->threads, w->name, main, all);
}

static void look_at_rest(struct evidence_reader *r, struct evidence_memory *w)
{
    int64_t again_ms = w->fulls < 2 ? r->quick ? QUICK_LEAST_MS : LOOK_LEAST_MS : r->quick ? QUICK_FULL_MS : FULL_MS;
    bool full = !w->full_at.ns || mono_since_ms(r->now, w->full_at) >= again_ms;
    if (full)
        look_at_threads(r, w);
    code_look(r, w, full);
    if (full || w->children.count <= FEW_CHILDREN)
        children_look(r, w, full);
    peer_look(r, w, window_start(r, w));
    if (!full)
        return;
    char text[4096];
    struct proc_status status;
    ssize_t n = budget_read(r, w->directory, "status", text, sizeof text);
    proc_status_parse((struct str){text, n > 0 ? (size_t)n : 0}, &status);
    w->files.swap_bytes = status.vm_swap_bytes >= 0 ? reading_ok(status.vm_swap_bytes) : reading_absent(READING_UNSUPPORTED);
    w->files.rss_bytes = status.rss_file_bytes >= 0 ? reading_ok(status.rss_file_bytes) : reading_absent(READING_UNSUPPORTED);
    cgroup_look(r, &w->cgroup, w->directory);
    numa_look(r, w, &status);
    files_look(r, w, reading_or(w->threads.busiest, 0) >= BUSY_PERMILLE, waits_for_files(w));
    traces_look(r, w);
    w->full_at = r->now;
    w->fulls++;
}

static int look(struct evidence_reader *r, struct evidence_memory *w)
{
    char name[16];
    snprintf(name, sizeof name, "%d", (int)w->watched.target.pid);
    if (w->directory < 0)
        w->directory = r->proc >= 0 ? dir_fd_open_at(r->proc, name) : -ENOENT;
    int rc = w->directory < 0 ? w->directory : look_at_main(r, w);
    if (rc == 0)
        look_at_rest(r, w);
    if (!w->keeps)
        close_files(w);
    return rc;
}

void evidence_look(struct evidence_reader *r, const struct evidence_target *target, struct host_evidence *ret)
{
    *ret = (struct host_evidence){.state = READING_FAILED};
    struct evidence_memory *w = find(r, target);
    if (!w)
        return;
    r->now = clock_mono(r->env->clock);
    int share = MAX_OF(r->files_left / (int)r->to_look, (int)FILES_PER_PROCESS);
    r->share_left = share;
    int rc = watched_is_recent(&w->watched, r->now, r->quick) ? 0 : look(r, w);
    r->files_left = MAX_OF(r->files_left - (share - r->share_left), 0);
    r->to_look = MAX_OF(r->to_look - 1, (size_t)1);
    if (rc < 0) {
        ret->state = reading_state_from_errno(rc);
        watched_forget(&r->watched, &w->watched);
        return;
    }
    evidence_write(r, w, ret);
}
