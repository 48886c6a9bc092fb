/* SPDX-License-Identifier: Apache-2.0
 * The threads of a process: which is busiest, what they wait for, and whose code they run. The kernel counts each thread's time in
 * nanoseconds, so two looks give it exactly.
 */
#include "host/linux/evidence/texts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/linux/evidence/internal.h"
#include "host/linux/process_files.h"

/* ---- What a thread waits for, by the kernel function it sleeps in. Names change between kernels: "futex_wait_queue_me"
 * until 5.15, "futex_wait_queue" since 5.16 and "futex_do_wait" in 6.18, where "pipe_read" is "anon_pipe_read"; compilers append
 * ".constprop.0". So names are compared by prefix. */

static const struct {
    const char *begin;
    enum wait_kind kind;
} wait_names[] = {
    /* Locks, and waits for other threads */
    {"futex_", WAIT_LOCK},
    {"do_futex", WAIT_LOCK},
    /* Sleeps on purpose */
    {"hrtimer_nanosleep", WAIT_SLEEP},
    {"do_nanosleep", WAIT_SLEEP},
    {"common_nsleep", WAIT_SLEEP},
    {"__x64_sys_clock_nanosleep", WAIT_SLEEP},
    /* Any of several files, sockets or devices */
    {"poll_schedule_timeout", WAIT_POLL},
    {"do_sys_poll", WAIT_POLL},
    {"do_poll", WAIT_POLL},
    {"do_select", WAIT_POLL},
    {"core_sys_select", WAIT_POLL},
    {"ep_poll", WAIT_POLL},
    {"do_epoll_wait", WAIT_POLL},
    /* Children */
    {"do_wait", WAIT_CHILD},
    {"kernel_wait", WAIT_CHILD},
    {"kernel_clone", WAIT_CHILD}, /* vfork: until the child executes its program */
    {"wait_for_vfork_done", WAIT_CHILD},
    /* Pipes, and sockets between processes of this host */
    {"pipe_", WAIT_PIPE},
    {"anon_pipe_", WAIT_PIPE},
    {"fifo_", WAIT_PIPE},
    {"wait_for_partner", WAIT_PIPE}, /* a FIFO not yet opened on the other side */
    {"unix_", WAIT_PIPE},
    {"eventfd_read", WAIT_PIPE},
    {"do_mq_timed", WAIT_PIPE},
    {"do_msgrcv", WAIT_PIPE},
    {"n_tty_read", WAIT_PIPE},
    {"wait_woken", WAIT_SOCKET}, /* TCP, but also terminals */
    {"sk_wait_data", WAIT_SOCKET},
    {"sk_stream_wait", WAIT_SOCKET},
    {"inet_", WAIT_SOCKET},
    {"tcp_", WAIT_SOCKET},
    {"udp_", WAIT_SOCKET},
    {"__skb_wait_for_more_packets", WAIT_SOCKET},
    {"skb_wait_for_more_packets", WAIT_SOCKET},
    {"skb_recv_datagram", WAIT_SOCKET},
    {"vsock_", WAIT_SOCKET},
    {"ib_uverbs_", WAIT_SOCKET},
    /* Network file systems */
    {"rpc_", WAIT_NETWORK_FS},
    {"__rpc_", WAIT_NETWORK_FS},
    {"nfs", WAIT_NETWORK_FS},
    {"wait_on_commit", WAIT_NETWORK_FS}, /* NFS */
    {"netfs_", WAIT_NETWORK_FS},
    {"cifs_", WAIT_NETWORK_FS},
    {"smb2_", WAIT_NETWORK_FS},
    {"compound_send_recv", WAIT_NETWORK_FS}, /* SMB */
    {"wait_for_response", WAIT_NETWORK_FS},  /* SMB */
    {"ceph_", WAIT_NETWORK_FS},
    {"ptlrpc_", WAIT_NETWORK_FS}, /* Lustre */
    {"cl_sync_io_wait", WAIT_NETWORK_FS},
    {"osc_", WAIT_NETWORK_FS},
    {"ldlm_", WAIT_NETWORK_FS},
    {"ll_", WAIT_NETWORK_FS},
    {"cxiWaitEventWait", WAIT_NETWORK_FS}, /* GPFS */
    {"p9_client_rpc", WAIT_NETWORK_FS},
    {"afs_", WAIT_NETWORK_FS},
    /* FUSE */
    {"request_wait_answer", WAIT_FUSE},
    {"fuse_", WAIT_FUSE},
    {"__fuse_", WAIT_FUSE},
    /* Disks: pages, buffers, journals, swap */
    {"folio_", WAIT_DISK},
    {"__folio_", WAIT_DISK},
    {"wait_on_page", WAIT_DISK},
    {"__lock_page", WAIT_DISK},
    {"io_schedule", WAIT_DISK},
    {"blk_", WAIT_DISK},
    {"__blk_", WAIT_DISK},
    {"submit_bio_wait", WAIT_DISK},
    {"bio_", WAIT_DISK},
    {"rq_qos_wait", WAIT_DISK},
    {"wbt_wait", WAIT_DISK},
    {"do_blockdev_direct_IO", WAIT_DISK},
    {"__blockdev_direct_IO", WAIT_DISK},
    {"dio_", WAIT_DISK},
    {"iomap_", WAIT_DISK},
    {"__iomap_", WAIT_DISK},
    {"bit_wait_io", WAIT_DISK},
    {"__wait_on_buffer", WAIT_DISK},
    {"wait_on_buffer", WAIT_DISK},
    {"balance_dirty_pages", WAIT_DISK},
    {"jbd2_", WAIT_DISK},
    {"ext4_", WAIT_DISK},
    {"xfs_", WAIT_DISK},
    {"btrfs_", WAIT_DISK},
    {"f2fs_", WAIT_DISK},
    {"cv_wait_common", WAIT_DISK}, /* ZFS */
    {"zio_wait", WAIT_DISK},
    {"read_events", WAIT_DISK}, /* asynchronous I/O, both kinds */
    {"io_cqring_wait", WAIT_DISK},
    {"md_", WAIT_DISK},
    {"nvme_", WAIT_DISK},
    {"swap_", WAIT_DISK},
    {"__swap_", WAIT_DISK},
    {"wait_on_bit", WAIT_DISK},
    /* A frozen control group */
    {"do_freezer_trap", WAIT_STOPPED},
    {"__refrigerator", WAIT_STOPPED},
    {"do_signal_stop", WAIT_STOPPED},
    {"ptrace_stop", WAIT_STOPPED},
};

static enum wait_kind kind_of_name(struct str wchan)
{
    for (size_t i = 0; i < ARRAY_LEN(wait_names); i++)
        if (str_starts(wchan, wait_names[i].begin))
            return wait_names[i].kind;
    return WAIT_OTHER;
}

enum wait_kind wait_kind(char state, struct str wchan)
{
    wchan = str_trim(wchan);
    bool named = wchan.len && !str_is(wchan, "0");
    switch (state) {
    case 'R': return WAIT_RUNNING;
    case 'T':
    case 't': return WAIT_STOPPED;
    case 'D': return named ? kind_of_name(wchan) : WAIT_DISK; /* uninterruptible almost always means a file */
    default: return named ? kind_of_name(wchan) : WAIT_UNKNOWN;
    }
}

/* ---- Which is busiest ---- */

static int by_tid(const void *a, const void *b)
{
    int32_t x = ((const struct thread_count *)a)->tid, y = ((const struct thread_count *)b)->tid;
    return x < y ? -1 : x > y;
}

static const struct thread_count *thread_find(const struct thread_memory *m, int32_t tid)
{
    const struct thread_count wanted = {.tid = tid};
    return m->count ? bsearch(&wanted, m->list, m->count, sizeof m->list[0], by_tid) : NULL;
}

static bool read_thread(struct evidence_reader *r, int tasks, struct thread_count *t)
{
    char name[32], text[128];
    struct proc_schedstat sched;
    snprintf(name, sizeof name, "%d/schedstat", (int)t->tid);
    ssize_t n = budget_read(r, tasks, name, text, sizeof text);
    if (n <= 0 || !proc_schedstat_parse((struct str){text, (size_t)n}, &sched))
        return false;
    t->run_ns = t->used_ns = sched.run_ns;
    return true;
}

/* False: the directory can't be opened. */
static bool list_threads(struct evidence_reader *r, int tasks, struct thread_count *list, size_t *count)
{
    int copy = budget_take(r) ? dir_fd_open_at(tasks, ".") : -1;
    AUTO_DIR DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    *count = 0;
    if (!dir) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    for (const struct dirent *e; *count < THREADS_MAX && (e = readdir(dir));) {
        int64_t tid;
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || !str_to_i64(str_from(e->d_name), &tid) || tid > INT32_MAX)
            continue;
        list[*count].tid = (int32_t)tid;
        *count += read_thread(r, tasks, &list[*count]);
    }
    qsort(list, *count, sizeof list[0], by_tid);
    return true;
}

static void compare(struct thread_memory *m, struct thread_count *list, size_t count, int64_t elapsed_ns, int32_t *busiest)
{
    int64_t most_ns = 0, sum_ns = 0, busy = 0;
    *busiest = 0;
    for (size_t i = 0; i < count; i++) {
        /* A thread that started since the last look spent all its time in between. */
        const struct thread_count *before = thread_find(m, list[i].tid);
        list[i].used_ns = 0;
        if (!before && !m->is_whole)
            continue;
        int64_t used_ns = list[i].run_ns - (before && before->run_ns <= list[i].run_ns ? before->run_ns : 0);
        used_ns = MIN_OF(used_ns, elapsed_ns);
        list[i].used_ns = used_ns;
        sum_ns += used_ns;
        busy += used_ns * 2 >= elapsed_ns;
        if (used_ns > most_ns) {
            most_ns = used_ns;
            *busiest = list[i].tid;
        }
    }
    m->busiest = reading_ok(core_permille(most_ns, elapsed_ns));
    m->all = reading_ok(core_permille(sum_ns, elapsed_ns));
    m->busy = reading_ok(busy);
}

static void name_busiest(struct evidence_reader *r, struct thread_memory *m, int tasks, int32_t tid)
{
    char name[32], text[64];
    m->busiest_name[0] = '\0';
    if (!tid)
        return;
    snprintf(name, sizeof name, "%d/comm", (int)tid);
    ssize_t n = budget_read(r, tasks, name, text, sizeof text);
    if (n > 0)
        str_copy_clean(m->busiest_name, sizeof m->busiest_name, str_trim((struct str){text, (size_t)n}));
}

void threads_look(struct evidence_reader *r, struct thread_memory *m, int process)
{
    struct thread_count list[THREADS_MAX];
    size_t count;
    int32_t busiest;
    AUTO_CLOSE int tasks = dir_fd_open_at(process, "task");
    if (tasks < 0 || !list_threads(r, tasks, list, &count) || count == 0) {
        m->busiest = m->all = m->busy = reading_absent(tasks == -EACCES ? READING_DENIED : READING_UNSUPPORTED);
        return;
    }
    if (m->count) {
        compare(m, list, count, r->now.ns - m->at.ns, &busiest);
        name_busiest(r, m, tasks, busiest);
    } else {
        m->busiest = m->all = m->busy = reading_absent(READING_PENDING);
    }
    memcpy(m->list, list, count * sizeof list[0]);
    m->count = count;
    m->is_whole = r->share_left > 0 && count < THREADS_MAX;
    m->at = r->now;
}

void threads_by_main(struct thread_memory *m, const char *name, int64_t main_permille, int64_t all_permille)
{
    m->busiest = reading_ok(main_permille);
    m->all = reading_ok(all_permille);
    m->busy = reading_ok(main_permille >= 500);
    str_copy(m->busiest_name, sizeof m->busiest_name, str_from(name));
}

/* The main thread, then the busiest ones. */
static size_t threads_hottest(const struct thread_memory *m, int32_t pid, int32_t *tids, size_t max)
{
    size_t count = 0;
    tids[count++] = pid;
    while (count < max) {
        const struct thread_count *best = NULL;
        for (size_t i = 0; i < m->count; i++) {
            bool taken = false;
            for (size_t k = 0; k < count; k++)
                taken |= tids[k] == m->list[i].tid;
            if (!taken && m->list[i].used_ns > 0 && (!best || m->list[i].used_ns > best->used_ns))
                best = &m->list[i];
        }
        if (!best)
            break;
        tids[count++] = best->tid;
    }
    return count;
}

size_t threads_parents(struct thread_memory *m, int32_t *tids, size_t max)
{
    size_t count = 0;
    for (; count < max && count < m->count; count++)
        tids[count] = m->list[(m->next_parent + count) % m->count].tid;
    m->next_parent = m->count ? (m->next_parent + count) % m->count : 0;
    return count;
}

void threads_write(const struct thread_memory *m, struct host_evidence *ret)
{
    ret->busiest_thread_permille = m->busiest;
    ret->busy_threads = m->busy;
    str_copy(ret->busiest_thread, sizeof ret->busiest_thread, str_from(m->busiest_name));
}

/* ---- Whose code the busiest threads of a process run: the kernel samples their addresses between two looks, and the file of each
 * address shows whether it is Python, the GPU driver, a compiler or a library. Plus the model files that the process has mapped. */

enum {
    FREQUENCY = 97,
    QUICK_FREQUENCY = 997, /* a person waits: milliseconds must suffice */
    SAMPLES_LEAST = 8,
    PROCESSES_MAX = 4,
    RUNS_PERMILLE = 300,      /* of a core: less needs no explanation */
    MAPS_SOON_MS = 10 * 1000, /* a starting program is about to map its model; then twice as long each time */
    MAPS_LATE_MS = 320 * 1000,
    MAPS_BYTES_MAX = 4 << 20,
    MODEL_FILES_MAX = 64,
};

void code_done(struct evidence_reader *r, struct code_memory *m)
{
    r->sampling -= m->sampler != NULL;
    address_sampler_free(m->sampler);
    m->sampler = NULL;
}

/* ---- samples ---- */

static bool same_threads(const struct code_memory *m, const int32_t *tids, size_t count)
{
    bool known = true;
    for (size_t i = 0; i < count && known; i++) {
        known = false;
        for (size_t k = 0; k < m->count; k++)
            known |= m->tids[k] == tids[i];
    }
    return known;
}

static void start(struct evidence_reader *r, struct evidence_memory *w)
{
    struct code_memory *m = &w->code;
    int32_t tids[CODE_THREADS];
    size_t count = threads_hottest(&w->threads, w->watched.target.pid, tids, CODE_THREADS);
    if (m->sampler && same_threads(m, tids, MIN_OF(count, (size_t)2)))
        return;
    code_done(r, m);
    if (r->sampling >= PROCESSES_MAX)
        return;
    int rc = address_sampler_new(&m->sampler, r->env, w->watched.target.pid, tids, count, r->quick ? QUICK_FREQUENCY : FREQUENCY);
    m->is_refused = rc == -EACCES || rc == -EPERM || rc == -ENOSYS;
    r->sampling += rc == 0;
    m->count = count;
    memcpy(m->tids, tids, sizeof tids);
}

/* The file, other than Python's, with the most samples; without suffixes. */
static void name_object(struct code_memory *m, const struct address_samples *s)
{
    m->object[0] = '\0';
    for (size_t i = 0; i < ADDRESS_OBJECTS && !m->object[0]; i++) {
        struct str name = str_from(s->objects[i].name), stem = name;
        enum address_group group = address_group_of(name, false);
        if (!name.len || group == ADDRESS_PYTHON || group == ADDRESS_KERNEL)
            continue;
        str_cut(&name, '.', &stem);
        str_copy_clean(m->object, sizeof m->object, stem);
    }
}

static void read_samples(struct code_memory *m, bool quick)
{
    struct address_samples s;
    address_sampler_read(m->sampler, &s);
    int64_t due = s.cpu_permille * s.over_ms / 1000 * (quick ? QUICK_FREQUENCY : FREQUENCY) / 1000;
    if (MAX_OF(due, s.samples) < SAMPLES_LEAST)
        return;
    for (int g = 0; g < ADDRESS_GROUPS; g++)
        m->shares[g] = reading_ok(MIN_OF(s.permille[g], (int64_t)1000));
    name_object(m, &s);
    if (!quick)
        address_sampler_restart(m->sampler);
}

/* ---- models ---- */

struct model_file {
    struct str path;
    int64_t bytes;
};

static bool is_model(struct str path)
{
    return str_ends(path, ".gguf") || str_ends(path, ".safetensors") || str_ends(path, ".ggml") || str_ends(path, ".llamafile") ||
           str_contains(path, "/blobs/sha256-");
}

/* "7f00-7f80 r--s 00100000 fd:01 42 /models/llama.gguf": the mapped part of the file. */
static bool read_mapping(struct str line, struct model_file *ret)
{
    struct str range, word, from;
    int64_t low, high, offset;
    if (!str_word(&line, &range) || !str_word(&line, &word) || !str_word(&line, &word) || !str_to_cursor(word, &offset) ||
        !str_cut(&range, '-', &from) || !str_to_cursor(from, &low) || !str_to_cursor(range, &high) || high < low || offset < 0 ||
        !str_word(&line, &word) || !str_word(&line, &word))
        return false;
    return !__builtin_add_overflow(high - low, offset, &ret->bytes) && (ret->path = str_trim(line), is_model(ret->path));
}

static void find_models(struct evidence_reader *r, struct evidence_memory *w)
{
    AUTO_BUF struct buf maps = BUF(MAPS_BYTES_MAX);
    struct env quiet = unrecorded(r->env); /* keep a process's mappings out of recordings */
    struct model_file files[MODEL_FILES_MAX], one;
    size_t count = 0;
    int64_t sum = 0;
    if (proc_read_all(&quiet, w->watched.target.pid, "maps", &maps) < 0) {
        w->code.model_bytes = reading_absent(READING_UNSUPPORTED);
        return;
    }
    for (struct str rest = buf_view(&maps), line; str_cut(&rest, '\n', &line);) {
        size_t i = 0;
        if (!str_contains(line, "/") || !read_mapping(line, &one))
            continue;
        while (i < count && !str_equal(files[i].path, one.path))
            i++;
        if (i < count)
            files[i].bytes = MAX_OF(files[i].bytes, one.bytes);
        else if (count < MODEL_FILES_MAX)
            files[count++] = one;
    }
    for (size_t i = 0; i < count; i++)
        sum += MIN_OF(files[i].bytes, INT64_MAX / MODEL_FILES_MAX);
    w->code.model_bytes = reading_ok(sum);
}

/* ---- a look ---- */

void code_look(struct evidence_reader *r, struct evidence_memory *w, bool full)
{
    struct code_memory *m = &w->code;
    bool runs = w->looks[w->look_count - 1].kind == WAIT_RUNNING || reading_or(w->threads.busiest, 0) >= RUNS_PERMILLE;
    if (m->sampler)
        read_samples(m, r->quick);
    if (!runs && !r->quick) {
        code_done(r, m);
        for (int g = 0; g < ADDRESS_GROUPS; g++)
            m->shares[g] = reading_absent(READING_PENDING);
        m->object[0] = '\0';
        return;
    }
    if (!m->sampler ? !m->is_refused : full)
        start(r, w);
    if (full && runs && (!m->maps_at.ns || mono_since_ms(r->now, m->maps_at) >= m->maps_again_ms) && budget_take(r)) {
        find_models(r, w);
        m->maps_again_ms = MIN_OF(MAX_OF(2 * m->maps_again_ms, (int64_t)MAPS_SOON_MS), (int64_t)MAPS_LATE_MS);
        m->maps_at = r->now;
    }
}

void code_write(const struct code_memory *m, struct host_evidence *ret)
{
    ret->model_bytes = m->model_bytes;
    ret->code_python_permille = m->shares[ADDRESS_PYTHON];
    ret->code_driver_permille = m->shares[ADDRESS_DRIVER];
    ret->code_compiler_permille = m->shares[ADDRESS_COMPILER];
    ret->code_kernel_permille = m->shares[ADDRESS_KERNEL];
    ret->code_native_permille = m->shares[ADDRESS_LIBRARIES];
    if (ret->code_native_permille.state == READING_OK)
        ret->code_native_permille.value += reading_or(m->shares[ADDRESS_PROGRAM], 0);
    else if (m->is_refused)
        ret->code_python_permille = ret->code_driver_permille = ret->code_compiler_permille = ret->code_kernel_permille =
            ret->code_native_permille = reading_absent(READING_DENIED);
    str_copy(ret->code, sizeof ret->code, str_from(m->object));
}
