/* SPDX-License-Identifier: Apache-2.0
 * The sampler. Each thread has its own counter and a page that holds a second of samples; a one-time sample takes only the busiest
 * threads, because a user may lock just half a megabyte for it.
 */
#include "host/evidence/address_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/frames/elf.h"
#include "host/linux/process_files.h"
#include "host/procfs.h"

enum {
    FREQUENCY = 199,
    SAMPLED_THREADS_MAX = 60,
    LISTED_MAX = 2048,
    MAPS_MAX = 16 << 20,
    DRAIN_MS = 1000,
    OBJECTS_MAX = 256,
    ADDRESSES_MAX = 64 * 1024
};

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
    bool names_functions; /* keeps the addresses, to name their functions in the end */
    uint64_t *addresses;
    size_t address_count, address_capacity;
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
    struct str rest, line;
    struct address_map map;
    if (proc_link(s->env, s->pid, "exe", s->program, sizeof s->program) <= 0)
        s->program[0] = '\0';
    buf_done(&s->maps);
    s->maps = BUF(MAPS_MAX);
    s->map_count = 0;
    proc_read_all(s->env, s->pid, "maps", &s->maps);
    rest = buf_view(&s->maps);
    while (str_cut(&rest, '\n', &line))
        if (address_map_parse(line, &map) && ROOM_FOR_ONE(s->list, s->map_count, s->map_capacity, 256))
            s->list[s->map_count++] = map;
    s->maps_at = clock_mono(s->env->clock);
}

/* NULL: in no file. */
static const struct address_map *map_at(const struct address_sampler *s, uint64_t address)
{
    size_t low = 0, high = s->map_count; /* the kernel lists them by address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address >= s->list[middle].to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->map_count && address >= s->list[low].from ? &s->list[low] : NULL;
}

static void count_address(struct address_sampler *s, uint64_t address)
{
    const struct address_map *map = map_at(s, address);
    struct str path = map ? map->path : (struct str){"", 0};
    s->samples++;
    if (s->names_functions && map && s->address_count < ADDRESSES_MAX &&
        ROOM_FOR_ONE(s->addresses, s->address_count, s->address_capacity, 1024))
        s->addresses[s->address_count++] = address;
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

/* ---- functions ---- */

static bool read_file_at(void *user, uint64_t at, void *to, size_t size)
{
    return at <= INT64_MAX && pread(*(const int *)user, to, size, (off_t)at) == (ssize_t)size;
}

static int compare_addresses(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The functions of one file, and how often each was seen. */
struct function_tally {
    struct address_function list[OBJECTS_MAX]; /* permille holds samples */
    size_t count;
};

static void tally(struct function_tally *t, const char *name, struct str object, int64_t samples)
{
    size_t i = 0;
    while (i < t->count && (strcmp(t->list[i].name, name) != 0 || !str_is(object, t->list[i].object)))
        i++;
    if (i == OBJECTS_MAX)
        return;
    if (i == t->count) {
        str_copy(t->list[i].name, sizeof t->list[i].name, str_from(name));
        str_copy_clean(t->list[i].object, sizeof t->list[i].object, object);
        t->count++;
    }
    t->list[i].permille += samples;
}

/* `sorted` addresses of one mapping. The file is opened as the program sees it: its root may be a container's. */
static void tally_mapping(struct function_tally *t, const struct address_sampler *s, const struct address_map *map,
                          const uint64_t *sorted, size_t count)
{
    enum { DISTINCT_MAX = 1024 };
    char path[PATH_SIZE];
    AUTO_FREE struct function_at *at = calloc(DISTINCT_MAX, sizeof *at);
    AUTO_FREE int64_t *samples = calloc(DISTINCT_MAX, sizeof *samples);
    size_t distinct = 0;
    if (!at || !samples ||
        (size_t)snprintf(path, sizeof path, "/proc/%d/root" STR_FMT, (int)s->pid, STR_ARG(map->path)) >= sizeof path)
        return;
    for (size_t i = 0; i < count && distinct < DISTINCT_MAX; i++) {
        at[distinct].offset = sorted[i] - map->from + map->offset;
        samples[distinct]++;
        if (i + 1 == count || sorted[i + 1] != sorted[i])
            distinct++;
    }
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || elf_functions(&(struct target_memory){read_file_at, &fd}, at, distinct) < 0)
        return;
    for (size_t i = 0; i < distinct; i++)
        if (at[i].name[0])
            tally(t, at[i].name, address_file_name(map->path), samples[i]);
}

static int by_most(const void *a, const void *b)
{
    int64_t x = ((const struct address_function *)a)->permille, y = ((const struct address_function *)b)->permille;
    return x > y ? -1 : x < y;
}

static void name_functions(struct address_sampler *s, int64_t all, struct address_samples *ret)
{
    AUTO_FREE struct function_tally *t = calloc(1, sizeof *t);
    ret->functions_named = t != NULL;
    if (!t || !s->address_count)
        return;
    qsort(s->addresses, s->address_count, sizeof s->addresses[0], compare_addresses);
    for (size_t from = 0, to; from < s->address_count; from = to) {
        const struct address_map *map = map_at(s, s->addresses[from]);
        for (to = from + 1; to < s->address_count && map && s->addresses[to] < map->to; to++)
            ;
        enum address_group group =
            map ? address_group_of(map->path, s->program[0] && str_is(map->path, s->program)) : ADDRESS_KERNEL;
        if (group == ADDRESS_PROGRAM || group == ADDRESS_LIBRARIES)
            tally_mapping(t, s, map, s->addresses + from, to - from);
    }
    qsort(t->list, t->count, sizeof t->list[0], by_most);
    for (size_t i = 0; i < MIN_OF(t->count, (size_t)ADDRESS_OBJECTS); i++) {
        ret->functions[i] = t->list[i];
        ret->functions[i].permille = t->list[i].permille * 1000 / all;
    }
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
    if (s->names_functions && all)
        name_functions(s, all, ret);
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
    free(s->addresses);
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

/* A page holds little more than a second of samples. */
static void count_new(struct address_sampler *s)
{
    if (!s->maps_at.ns)
        read_maps(s);
    for (size_t i = 0; i < s->count; i++)
        count_ring(s, &s->threads[i]);
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
    if (s->maps_at.ns || run_ns * s->frequency >= NS_PER_S)
        count_new(s);
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
    size_t count = 0;
    AUTO_FREE struct listed_thread *list = calloc(LISTED_MAX, sizeof *list);
    AUTO_DIR DIR *dir = proc_dir(env, pid, "task");
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

void address_samples_take(const struct env *env, int32_t pid, int64_t ms, bool functions, struct address_samples *ret)
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
    for (s->names_functions = functions; ms > DRAIN_MS; ms -= DRAIN_MS) {
        sleep_ms(DRAIN_MS);
        count_new(s);
    }
    sleep_ms(ms);
    address_sampler_read(s, ret);
    address_sampler_free(s);
}
