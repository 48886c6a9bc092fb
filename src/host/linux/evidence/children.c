/* SPDX-License-Identifier: Apache-2.0
 * Children and grandchildren of a process: its data loaders and compilers. The kernel lists the children of each thread, so /proc
 * is never scanned. A child that uses a GPU counts as a program of its own.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "host/linux/evidence/internal.h"

enum {
    PARENTS_AT_FIRST = 32,
    PARENTS_PER_LOOK = 8, /* later: programs start their loaders early, and mostly from the main thread */
    TICKS_LEAST_MS = 300, /* ticks are 10 ms: a shorter span gives noise */
    THREAD_LEAST_MS = 4,
};

bool is_compiler(const char *name)
{
    static const char *const names[] = {"ptxas", "nvcc",  "cicc",  "cudafe++", "fatbinary", "nvlink",  "cc1",        "cc1plus",
                                        "gcc",   "g++",   "clang", "clang++",  "collect2",  "ld",      "ld.lld",     "as",
                                        "lld",   "hipcc", "ocloc", "amdclang", "ninja",     "llvm-mc", "triton-opt", "amdclang++"};
    struct str s = str_from(name);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);
        /* "gcc-12", "clang-17" */
        if (str_starts(s, names[i]) && (s.len == len || (s.at[len] == '-' && s.len > len + 1 && s.at[len + 1] <= '9')))
            return true;
    }
    return str_ends(s, "-gcc") || str_ends(s, "-g++");
}

static const struct child_process *child_find(const struct child_process *list, size_t count, int32_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

static bool read_child_stat(struct evidence_reader *r, struct child_process *c, bool by_thread, char *state)
{
    char name[40], text[1024];
    struct proc_stat stat;
    struct proc_schedstat sched;
    snprintf(name, sizeof name, "%d/stat", (int)c->pid);
    ssize_t n = budget_read(r, r->proc, name, text, sizeof text);
    if (n <= 0 || !proc_stat_parse((struct str){text, (size_t)n}, &stat) || stat.state == 'Z' || stat.state == 'X')
        return false;
    c->parent = (int32_t)stat.parent;
    c->start_ticks = stat.start_ticks;
    c->cpu_ns = stat.cpu_ticks * (NS_PER_S / r->ticks_per_s);
    str_copy_clean(c->name, sizeof c->name, stat.comm);
    *state = stat.state;
    if (!by_thread)
        return true;
    snprintf(name, sizeof name, "%d/schedstat", (int)c->pid);
    n = budget_read(r, r->proc, name, text, sizeof text);
    if (n > 0 && proc_schedstat_parse((struct str){text, (size_t)n}, &sched))
        c->cpu_ns = sched.run_ns;
    return true;
}

static void read_child_wait(struct evidence_reader *r, struct child_process *c, char state)
{
    char name[40], text[128];
    snprintf(name, sizeof name, "%d/wchan", (int)c->pid);
    ssize_t n = state == 'S' || state == 'D' ? budget_read(r, r->proc, name, text, sizeof text) : 0;
    c->kind = wait_kind(state, (struct str){text, n > 0 ? (size_t)n : 0});
}

static void read_child_io(struct evidence_reader *r, struct child_process *c)
{
    char name[40], text[512];
    snprintf(name, sizeof name, "%d/io", (int)c->pid);
    ssize_t n = budget_read(r, r->proc, name, text, sizeof text);
    c->io_known = n > 0;
    proc_io_parse((struct str){text, n > 0 ? (size_t)n : 0}, &c->read_bytes, &c->write_bytes);
}

/* Children to read; entries without a name are known by PID only. */
struct child_list {
    struct child_process *list;
    size_t count;
};

static void add_pids(const struct evidence_reader *r, struct child_list *to, struct str text)
{
    struct str word;
    int64_t pid;
    while (to->count < CHILDREN_MAX && str_word(&text, &word))
        if (str_to_i64(word, &pid) && pid > 0 && pid <= INT32_MAX && !child_find(to->list, to->count, (int32_t)pid) &&
            !is_gpu_process(r, (int32_t)pid))
            to->list[to->count++] = (struct child_process){.pid = (int32_t)pid};
}

/* 0, or -errno. */
static int add_children_of(struct evidence_reader *r, struct child_list *to, int32_t pid, int32_t tid)
{
    char name[64], text[4096];
    snprintf(name, sizeof name, "%d/task/%d/children", (int)pid, (int)tid);
    ssize_t n = budget_read(r, r->proc, name, text, sizeof text);
    if (n < 0)
        return (int)n;
    add_pids(r, to, (struct str){text, (size_t)n});
    return 0;
}

/* Other threads' children are listed less often: keep the known ones meanwhile. */
static void add_remembered(struct child_list *to, const struct child_memory *m, int32_t parent)
{
    for (size_t i = 0; i < m->count && to->count < CHILDREN_MAX; i++)
        if (m->list[i].parent == parent && !child_find(to->list, to->count, m->list[i].pid))
            to->list[to->count++] =
                (struct child_process){.pid = m->list[i].pid, .parent = parent, .start_ticks = m->list[i].start_ticks};
}

/* Drops children that are gone, and appends the children of each. */
static void visit_all(struct evidence_reader *r, struct child_list *l, bool by_thread, bool full)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct child_process c = l->list[i];
        int64_t expected = c.start_ticks;
        int32_t parent = c.parent;
        char state;
        if (!read_child_stat(r, &c, by_thread, &state) || (expected && (c.start_ticks != expected || c.parent != parent)))
            continue;
        read_child_wait(r, &c, state);
        if (full)
            read_child_io(r, &c);
        add_children_of(r, l, c.pid, c.pid);
        l->list[kept++] = c;
    }
    l->count = kept;
}

static void compare_cpu(struct child_memory *m, const struct child_list *l, int64_t elapsed_ns)
{
    int64_t sum_ns = 0, most_ns = -1;
    for (size_t i = 0; i < l->count; i++) {
        const struct child_process *c = &l->list[i], *before = child_find(m->list, m->count, c->pid);
        bool same = before && before->start_ticks == c->start_ticks && before->cpu_ns <= c->cpu_ns;
        if (!before && !m->is_whole)
            continue;
        int64_t used_ns = MIN_OF(c->cpu_ns - (same ? before->cpu_ns : 0), 1024 * elapsed_ns);
        sum_ns += used_ns;
        if (used_ns > most_ns) {
            most_ns = used_ns;
            m->busiest_pid = c->pid;
            str_copy(m->busiest_name, sizeof m->busiest_name, str_from(c->name));
        }
    }
    m->cpu = reading_ok(core_permille(sum_ns, elapsed_ns));
    m->busiest = reading_ok(core_permille(MAX_OF(most_ns, (int64_t)0), elapsed_ns));
}

static void compare_io(struct child_memory *m, const struct child_list *l, int64_t elapsed_ns)
{
    int64_t gained_read = 0, gained_written = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct child_process *c = &l->list[i], *before = child_find(m->list, m->count, c->pid);
        if (!c->io_known || !before || !before->io_known || before->start_ticks != c->start_ticks)
            continue;
        gained_read += MAX_OF(c->read_bytes - before->read_bytes, (int64_t)0);
        gained_written += MAX_OF(c->write_bytes - before->write_bytes, (int64_t)0);
    }
    double seconds = (double)elapsed_ns / NS_PER_S;
    m->read_bytes = reading_ok((int64_t)((double)gained_read / seconds));
    m->write_bytes = reading_ok((int64_t)((double)gained_written / seconds));
}

/* Keeps the values that only a full look reads. */
static void keep_io(const struct child_memory *m, struct child_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct child_process *before = child_find(m->list, m->count, l->list[i].pid);
        if (!before || before->start_ticks != l->list[i].start_ticks)
            continue;
        l->list[i].io_known = before->io_known;
        l->list[i].read_bytes = before->read_bytes;
        l->list[i].write_bytes = before->write_bytes;
    }
}

/* Known children, and children of threads that may have started others. */
static int list_children(struct evidence_reader *r, struct evidence_memory *w, bool full, struct child_list *l)
{
    int32_t pid = w->watched.target.pid, tids[PARENTS_AT_FIRST];
    char text[4096];
    ssize_t rc = kept_read(r, w, KEPT_CHILDREN, text, sizeof text);
    if (rc < 0)
        return (int)rc;
    add_pids(r, l, (struct str){text, (size_t)rc});
    size_t parents = full ? threads_parents(&w->threads, tids, w->fulls < 2 ? PARENTS_AT_FIRST : PARENTS_PER_LOOK) : 0;
    for (size_t i = 0; i < parents; i++)
        if (tids[i] != pid)
            add_children_of(r, l, pid, tids[i]);
    add_remembered(l, &w->children, pid);
    return 0;
}

/* torch.compile's workers are plain Python programs: only their command line identifies them. Read it once per process. */
static bool is_compile_worker(struct evidence_reader *r, struct child_memory *m)
{
    char name[40], text[1024];
    if (m->busiest_pid == m->asked_pid)
        return m->asked_compiles;
    snprintf(name, sizeof name, "%d/cmdline", (int)m->busiest_pid);
    ssize_t n = budget_read(r, r->proc, name, text, sizeof text);
    m->asked_pid = m->busiest_pid;
    for (ssize_t i = 0; i < n; i++)
        text[i] = text[i] ? text[i] : ' ';
    m->asked_compiles = n > 0 && str_contains((struct str){text, (size_t)n}, "compile_worker");
    return m->asked_compiles;
}

static void find_compiler(struct evidence_reader *r, struct child_memory *m)
{
    enum { BUSY = 100 };
    m->compiler[0] = '\0';
    for (size_t i = 0; i < m->count && !m->compiler[0]; i++)
        if (is_compiler(m->list[i].name))
            str_copy(m->compiler, sizeof m->compiler, str_from(m->list[i].name));
    if (!m->compiler[0] && m->count && reading_or(m->busiest, 0) >= BUSY && str_starts(str_from(m->busiest_name), "python") &&
        is_compile_worker(r, m))
        str_copy(m->compiler, sizeof m->compiler, STR("inductor"));
}

void children_look(struct evidence_reader *r, struct evidence_memory *w, bool full)
{
    struct child_memory *m = &w->children;
    AUTO_FREE struct child_process *list = calloc(CHILDREN_MAX, sizeof *list);
    struct child_list l = {.list = list};
    int rc = list ? list_children(r, w, full, &l) : -ENOMEM;
    if (rc < 0) {
        m->is_known = m->is_known && rc == -EAGAIN;
        return;
    }
    visit_all(r, &l, r->quick, full);
    int64_t elapsed_ns = r->now.ns - m->at.ns, io_ns = r->now.ns - m->io_at.ns;
    bool long_enough = elapsed_ns >= (r->quick ? THREAD_LEAST_MS : TICKS_LEAST_MS) * (int64_t)NS_PER_MS;
    bool comparable = m->is_known && m->by_thread == r->quick && long_enough;
    if (comparable)
        compare_cpu(m, &l, elapsed_ns);
    else if (!m->is_known)
        m->cpu = m->busiest = reading_absent(READING_PENDING);
    if (full && m->io_at.ns && io_ns > 0)
        compare_io(m, &l, io_ns);
    if (!full)
        keep_io(m, &l);
    if (full)
        m->io_at = r->now;
    memcpy(m->list, l.list, l.count * sizeof l.list[0]);
    m->count = l.count;
    m->is_whole = r->share_left > 0 && l.count < CHILDREN_MAX;
    m->by_thread = r->quick;
    m->at = r->now;
    m->is_known = true;
    find_compiler(r, m);
}

static int64_t count_waiting(const struct child_memory *m, enum wait_kind a, enum wait_kind b)
{
    int64_t count = 0;
    for (size_t i = 0; i < m->count; i++)
        count += m->list[i].kind == a || m->list[i].kind == b;
    return count;
}

void children_write(const struct child_memory *m, struct host_evidence *ret)
{
    if (!m->is_known)
        return;
    ret->child_count = reading_ok((int64_t)m->count);
    ret->child_cpu_permille = m->cpu;
    ret->child_busiest_permille = m->busiest;
    ret->child_disk_count = reading_ok(count_waiting(m, WAIT_DISK, WAIT_FUSE));
    ret->child_network_count = reading_ok(count_waiting(m, WAIT_SOCKET, WAIT_NETWORK_FS));
    ret->child_sleep_count = reading_ok(count_waiting(m, WAIT_SLEEP, WAIT_SLEEP));
    if (m->count)
        str_copy(ret->busiest_child, sizeof ret->busiest_child, str_from(m->busiest_name));
    str_copy(ret->compiler, sizeof ret->compiler, str_from(m->compiler));
}
