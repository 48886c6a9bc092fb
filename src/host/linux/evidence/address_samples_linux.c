/* SPDX-License-Identifier: Apache-2.0
 * The sampler. Each thread has its own counter and a page that holds a second of samples; a one-time sample takes only the busiest
 * threads, because a user may lock just half a megabyte for it.
 */
#include "host/evidence/address_samples.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/procfs.h"

enum { FREQUENCY = 199, SAMPLED_THREADS_MAX = 60, LISTED_MAX = 2048, MAPS_MAX = 16 << 20, SAMPLE_MS_MAX = 1000, OBJECTS_MAX = 256 };

/* ---- threads ---- */

struct sampled_thread {
    int32_t tid;
    int64_t run_ns; /* at the start */
    int fd;
    void *ring; /* a header page and one of samples; NULL none */
};

struct object_count {
    struct str path;
    enum address_group group;
    int64_t samples;
};

struct address_sampler {
    const struct env *env;
    int32_t pid;
    int frequency;
    struct mono since; /* start */
    struct sampled_thread *threads;
    size_t count;

    struct buf maps;
    struct mono maps_at;     /* ns 0: not read */
    char program[PATH_SIZE]; /* its executable; "" unknown */
    struct address_map *list;
    size_t map_count, map_capacity;
    struct object_count objects[OBJECTS_MAX];
    size_t object_count;
    int64_t samples;
};

static int64_t run_ns_of(const struct env *env, int32_t pid, int32_t tid)
{
    char path[64], text[128];
    struct proc_schedstat sched;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    ssize_t n = file_read_head(env, path, text, sizeof text);
    return n > 0 && proc_schedstat_parse((struct str){text, (size_t)n}, &sched) ? sched.run_ns : -1;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* 0, or -errno. */
static int thread_open(struct sampled_thread *t, int frequency)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_freq = (uint64_t)frequency,
                                   .freq = 1,
                                   .sample_type = PERF_SAMPLE_IP,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    t->fd = (int)syscall(SYS_perf_event_open, &attr, t->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (t->fd < 0)
        return -errno;
    t->ring = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (t->ring != MAP_FAILED)
        return 0;
    t->ring = NULL;
    return -errno;
}

static void thread_close(struct sampled_thread *t)
{
    if (t->ring)
        munmap(t->ring, 2 * page_size());
    if (t->fd >= 0)
        close(t->fd);
}

/* ---- by object file ---- */

static void read_maps(struct address_sampler *s)
{
    char path[64];
    struct str rest, line;
    struct address_map map;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)s->pid);
    if (file_read_link(s->env, path, s->program, sizeof s->program) <= 0)
        s->program[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/maps", (int)s->pid);
    buf_done(&s->maps);
    s->maps = BUF(MAPS_MAX);
    s->map_count = 0;
    file_read_all(s->env, path, &s->maps);
    rest = buf_view(&s->maps);
    while (str_cut(&rest, '\n', &line))
        if (address_map_parse(line, &map) && ROOM_FOR_ONE(s->list, s->map_count, s->map_capacity, 256))
            s->list[s->map_count++] = map;
    s->maps_at = clock_mono(s->env->clock);
}

static struct str path_at(const struct address_sampler *s, uint64_t address)
{
    size_t low = 0, high = s->map_count; /* the kernel lists them by address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address >= s->list[middle].to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->map_count && address >= s->list[low].from ? s->list[low].path : (struct str){"", 0};
}

static void count_address(struct address_sampler *s, uint64_t address)
{
    struct str path = path_at(s, address);
    s->samples++;
    for (size_t i = 0; i < s->object_count; i++)
        if (str_equal(s->objects[i].path, path)) {
            s->objects[i].samples++;
            return;
        }
    if (s->object_count < OBJECTS_MAX)
        s->objects[s->object_count++] =
            (struct object_count){path, address_group_of(path, s->program[0] && str_is(path, s->program)), 1};
}

/* Counts new samples; while the page is full, the newest are lost. */
static void count_ring(struct address_sampler *s, const struct sampled_thread *t)
{
    struct sample {
        struct perf_event_header header;
        uint64_t address;
    };
    struct perf_event_mmap_page *head = t->ring;
    const char *data = (const char *)t->ring + page_size();
    uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE), at = head->data_tail;
    while (at + sizeof(struct perf_event_header) <= end) {
        struct sample one = {0};
        size_t place = at % page_size(), first = MIN_OF(sizeof one, page_size() - place);
        memcpy(&one, data + place, first);
        memcpy((char *)&one + first, data, sizeof one - first);
        if (one.header.type == PERF_RECORD_SAMPLE && one.header.size == sizeof one)
            count_address(s, one.address);
        if (one.header.size < sizeof one.header)
            break;
        at += one.header.size;
    }
    __atomic_store_n(&head->data_tail, end, __ATOMIC_RELEASE);
}

/* ---- writing the result ---- */

static int by_samples(const void *a, const void *b)
{
    int64_t x = ((const struct object_count *)a)->samples, y = ((const struct object_count *)b)->samples;
    return x > y ? -1 : x < y;
}

/* Time in the kernel has no samples: it is the difference to the threads' run time. */
static void tell(struct address_sampler *s, int64_t run_ns, struct address_samples *ret)
{
    int64_t expected = (int64_t)((double)run_ns * s->frequency / NS_PER_S), all = MAX_OF(expected, s->samples);
    ret->samples = s->samples;
    ret->threads = (int64_t)s->count;
    ret->cpu_permille = ret->over_ms > 0 ? run_ns / NS_PER_MS * 1000 / ret->over_ms : 0;
    qsort(s->objects, s->object_count, sizeof s->objects[0], by_samples);
    for (size_t i = 0; i < s->object_count && all; i++) {
        ret->permille[s->objects[i].group] += s->objects[i].samples * 1000 / all;
        if (i >= ADDRESS_OBJECTS)
            continue;
        str_copy_clean(ret->objects[i].name, sizeof ret->objects[i].name, address_file_name(s->objects[i].path));
        ret->objects[i].permille = s->objects[i].samples * 1000 / all;
    }
    if (all)
        ret->permille[ADDRESS_KERNEL] += (all - s->samples) * 1000 / all;
}

/* ---- the sampler ---- */

void address_sampler_free(struct address_sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        thread_close(&s->threads[i]);
    buf_done(&s->maps);
    free(s->threads);
    free(s->list);
    free(s);
}

/* Opens as many as permitted, in order. */
static int open_threads(struct address_sampler *s, const int32_t *tids, size_t count)
{
    int rc = count ? 0 : -ESRCH;
    for (size_t i = 0; i < count; i++) {
        struct sampled_thread t = {.tid = tids[i], .fd = -1};
        int one = thread_open(&t, s->frequency);
        t.run_ns = one == 0 ? run_ns_of(s->env, s->pid, t.tid) : -1;
        if (t.run_ns >= 0)
            s->threads[s->count++] = t;
        else
            thread_close(&t);
        if (one == -EPERM && s->count > 0)
            break; /* memory lock limit reached */
        rc = rc == 0 && one != -ESRCH ? one : rc;
    }
    return s->count > 0 ? 0 : rc < 0 ? rc : -ESRCH;
}

int address_sampler_new(struct address_sampler **ret, const struct env *env, int32_t pid, const int32_t *tids, size_t count,
                        int frequency)
{
    struct address_sampler *s = calloc(1, sizeof *s);
    if (s)
        s->threads = calloc(count + 1, sizeof *s->threads);
    if (!s || !s->threads) {
        free(s);
        return -ENOMEM;
    }
    s->env = env;
    s->pid = pid;
    s->frequency = frequency;
    s->maps = BUF(MAPS_MAX);
    s->since = clock_mono(env->clock);
    int rc = env_is_recorded(env) ? -ENOENT : open_threads(s, tids, count);
    if (rc < 0)
        address_sampler_free(s);
    else
        *ret = s;
    return rc;
}

/* Rereads the maps for newly loaded libraries, but rarely: code outside any file stays unknown. */
static bool maps_are_due(const struct address_sampler *s)
{
    enum { AGAIN_MS = 30 * 1000 };
    int64_t unknown = 0;
    for (size_t i = 0; i < s->object_count; i++)
        unknown += s->objects[i].path.len ? 0 : s->objects[i].samples;
    return unknown * 4 > s->samples && mono_since_ms(clock_mono(s->env->clock), s->maps_at) >= AGAIN_MS;
}

void address_sampler_restart(struct address_sampler *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct perf_event_mmap_page *head = s->threads[i].ring;
        __atomic_store_n(&head->data_tail, __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
        s->threads[i].run_ns = run_ns_of(s->env, s->pid, s->threads[i].tid);
    }
    if (maps_are_due(s))
        s->maps_at.ns = 0;
    s->since = clock_mono(s->env->clock);
    s->object_count = 0;
    s->samples = 0;
}

void address_sampler_read(struct address_sampler *s, struct address_samples *ret)
{
    int64_t run_ns = 0;
    *ret = (struct address_samples){.state = READING_OK};
    for (size_t i = 0; i < s->count; i++) {
        int64_t now_ns = run_ns_of(s->env, s->pid, s->threads[i].tid);
        run_ns += s->threads[i].run_ns >= 0 && now_ns > s->threads[i].run_ns ? now_ns - s->threads[i].run_ns : 0;
    }
    ret->over_ms = MAX_OF(mono_since_ms(clock_mono(s->env->clock), s->since), (int64_t)1);
    if (!s->maps_at.ns && run_ns * s->frequency >= NS_PER_S)
        read_maps(s);
    for (size_t i = 0; i < s->count && s->maps_at.ns; i++)
        count_ring(s, &s->threads[i]);
    tell(s, run_ns, ret);
}

/* ---- a one-time sample for a person who asks ---- */

static void address_samples_fail(struct address_samples *ret, int rc, const struct env *env)
{
    int64_t paranoid = -1;
    file_read_i64(env, "/proc/sys/kernel/perf_event_paranoid", &paranoid);
    ret->state = reading_state_from_errno(rc);
    if (rc == -ESRCH || rc == -ENOENT)
        snprintf(ret->why, sizeof ret->why, "the process has ended");
    else if ((rc == -EACCES || rc == -EPERM) && paranoid > 2)
        snprintf(ret->why, sizeof ret->why,
                 "where it spends its CPU time can't be sampled: kernel.perf_event_paranoid is %d here. Root may, the daemon may "
                 "(CAP_PERFMON), and so may you with kernel.perf_event_paranoid=2",
                 (int)paranoid);
    else if (rc == -EACCES || rc == -EPERM)
        snprintf(ret->why, sizeof ret->why,
                 "where it spends its CPU time can't be sampled: it is another user's process, or a container's filter forbids it. "
                 "Root may, and the daemon may (CAP_PERFMON)");
    else
        snprintf(ret->why, sizeof ret->why, "where it spends its CPU time can't be sampled: %s", strerror(-rc));
}

struct listed_thread {
    int32_t tid;
    int64_t run_ns;
};

static int by_run(const void *a, const void *b)
{
    int64_t x = ((const struct listed_thread *)a)->run_ns, y = ((const struct listed_thread *)b)->run_ns;
    return x > y ? -1 : x < y;
}

/* Busiest first. */
static size_t list_threads(const struct env *env, int32_t pid, int32_t tids[SAMPLED_THREADS_MAX])
{
    char path[64];
    size_t count = 0;
    AUTO_FREE struct listed_thread *list = calloc(LISTED_MAX, sizeof *list);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    AUTO_DIR DIR *dir = dir_open(env, path);
    const struct dirent *e;
    while (list && dir && count < LISTED_MAX && (e = readdir(dir))) {
        int64_t tid;
        if (e->d_name[0] == '.' || !str_to_i64(str_from(e->d_name), &tid) || tid <= 0 || tid > INT32_MAX)
            continue;
        list[count] = (struct listed_thread){(int32_t)tid, run_ns_of(env, pid, (int32_t)tid)};
        count += list[count].run_ns >= 0;
    }
    if (count)
        qsort(list, count, sizeof list[0], by_run);
    count = MIN_OF(count, (size_t)SAMPLED_THREADS_MAX);
    for (size_t i = 0; i < count; i++)
        tids[i] = list[i].tid;
    return count;
}

static void sleep_ms(int64_t ms)
{
    struct timespec left = {ms / MS_PER_S, ms % MS_PER_S * NS_PER_MS};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

void address_samples_take(const struct env *env, int32_t pid, int64_t ms, struct address_samples *ret)
{
    *ret = (struct address_samples){.state = READING_OK};
    int32_t tids[SAMPLED_THREADS_MAX];
    struct address_sampler *s = NULL;
    size_t count = env_is_recorded(env) ? 0 : list_threads(env, pid, tids);
    int rc = address_sampler_new(&s, env, pid, tids, count, FREQUENCY);
    if (rc < 0) {
        address_samples_fail(ret, rc, env);
        return;
    }
    sleep_ms(MIN_OF(ms, (int64_t)SAMPLE_MS_MAX));
    address_sampler_read(s, ret);
    address_sampler_free(s);
}
