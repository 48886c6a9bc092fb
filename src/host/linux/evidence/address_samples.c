/* SPDX-License-Identifier: Apache-2.0
 * The sampler. Each thread has a counter of its own with a page for its samples, which has room for a second; the busiest threads
 * are chosen, because the kernel lets a user lock half a megabyte for it.
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
    int64_t run_ns; /* when sampling began */
    int fd;
    void *ring; /* a page of its own and one of samples; NULL none */
};

static int64_t run_ns_of(const struct env *env, int32_t pid, int32_t tid)
{
    char path[64], text[128];
    struct proc_schedstat sched;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    ssize_t n = file_read_head(env, path, text, sizeof text);
    return n > 0 && proc_schedstat_parse((struct str){text, (size_t)n}, &sched) ? sched.run_ns : -1;
}

static int by_run(const void *a, const void *b)
{
    int64_t x = ((const struct sampled_thread *)a)->run_ns, y = ((const struct sampled_thread *)b)->run_ns;
    return x > y ? -1 : x < y;
}

/* The busiest so far first. */
static size_t list_threads(const struct env *env, int32_t pid, struct sampled_thread *list)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    AUTO_DIR DIR *dir = dir_open(env, path);
    const struct dirent *e;
    while (dir && count < LISTED_MAX && (e = readdir(dir))) {
        int64_t tid;
        if (e->d_name[0] == '.' || !str_to_i64(str_from(e->d_name), &tid) || tid <= 0 || tid > INT32_MAX)
            continue;
        list[count] = (struct sampled_thread){.tid = (int32_t)tid, .run_ns = run_ns_of(env, pid, (int32_t)tid), .fd = -1};
        count += list[count].run_ns >= 0;
    }
    qsort(list, count, sizeof list[0], by_run);
    return MIN_OF(count, (size_t)SAMPLED_THREADS_MAX);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* 0, or -errno. */
static int thread_open(struct sampled_thread *t)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_freq = FREQUENCY,
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
    t->ring = NULL;
    t->fd = -1;
}

/* ---- by object file ---- */

struct object_count {
    struct str path;
    enum address_group group;
    int64_t samples;
};

struct address_counts {
    struct buf maps;
    char program[PATH_SIZE]; /* its own file; "" unknown */
    struct address_map *list;
    size_t map_count, map_capacity;
    struct object_count objects[OBJECTS_MAX];
    size_t object_count;
    int64_t samples;
};

static void counts_free(struct address_counts *c)
{
    if (!c)
        return;
    buf_done(&c->maps);
    free(c->list);
    free(c);
}

static void read_maps(const struct env *env, int32_t pid, struct address_counts *c)
{
    char path[64];
    struct str rest, line;
    struct address_map map;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (file_read_link(env, path, c->program, sizeof c->program) <= 0)
        c->program[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    c->maps = BUF(MAPS_MAX);
    file_read_all(env, path, &c->maps);
    rest = buf_view(&c->maps);
    while (str_cut(&rest, '\n', &line))
        if (address_map_parse(line, &map) && ROOM_FOR_ONE(c->list, c->map_count, c->map_capacity, 256))
            c->list[c->map_count++] = map;
}

static struct str path_at(const struct address_counts *c, uint64_t address)
{
    size_t low = 0, high = c->map_count; /* the kernel lists them by address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address >= c->list[middle].to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->map_count && address >= c->list[low].from ? c->list[low].path : (struct str){"", 0};
}

static void count_address(struct address_counts *c, uint64_t address)
{
    struct str path = path_at(c, address);
    c->samples++;
    for (size_t i = 0; i < c->object_count; i++)
        if (str_equal(c->objects[i].path, path)) {
            c->objects[i].samples++;
            return;
        }
    if (c->object_count < OBJECTS_MAX)
        c->objects[c->object_count++] =
            (struct object_count){path, address_group_of(path, c->program[0] && str_is(path, c->program)), 1};
}

/* What lies in the page, from its beginning: it was never full, or the newest are lost. */
static void count_ring(struct address_counts *c, const struct sampled_thread *t)
{
    struct sample {
        struct perf_event_header header;
        uint64_t address;
    };
    const struct perf_event_mmap_page *head = t->ring;
    const char *data = (const char *)t->ring + page_size();
    uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
    for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= end && at + sizeof(struct sample) <= page_size();) {
        struct sample s;
        memcpy(&s, data + at, sizeof s);
        if (s.header.type == PERF_RECORD_SAMPLE && s.header.size == sizeof s)
            count_address(c, s.address);
        if (s.header.size < sizeof s.header)
            return;
        at += s.header.size;
    }
}

/* ---- what is told ---- */

static int by_samples(const void *a, const void *b)
{
    int64_t x = ((const struct object_count *)a)->samples, y = ((const struct object_count *)b)->samples;
    return x > y ? -1 : x < y;
}

/* Time in the kernel has no samples: it is what is missing of the time that the threads ran. */
static void tell(struct address_counts *c, int64_t run_ns, struct address_samples *ret)
{
    int64_t expected = run_ns * FREQUENCY / NS_PER_S, all = MAX_OF(expected, c->samples);
    ret->samples = c->samples;
    ret->cpu_permille = ret->over_ms > 0 ? run_ns / NS_PER_MS * 1000 / ret->over_ms : 0;
    qsort(c->objects, c->object_count, sizeof c->objects[0], by_samples);
    for (size_t i = 0; i < c->object_count && all; i++) {
        ret->permille[c->objects[i].group] += c->objects[i].samples * 1000 / all;
        if (i >= ADDRESS_OBJECTS)
            continue;
        str_copy_clean(ret->objects[i].name, sizeof ret->objects[i].name, address_file_name(c->objects[i].path));
        ret->objects[i].permille = c->objects[i].samples * 1000 / all;
    }
    if (all)
        ret->permille[ADDRESS_KERNEL] += (all - c->samples) * 1000 / all;
}

static bool address_samples_fail(struct address_samples *ret, int rc, const struct env *env)
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
    return false;
}

static bool open_all(struct sampled_thread *list, size_t count, struct address_samples *ret, const struct env *env)
{
    int rc = count ? 0 : -ESRCH;
    for (size_t i = 0; i < count; i++) {
        int one = thread_open(&list[i]);
        ret->threads += one == 0;
        if (one == -EPERM && ret->threads > 0)
            break; /* no more memory may be locked: the busiest are open */
        rc = rc == 0 && one != -ESRCH ? one : rc;
    }
    return ret->threads > 0 || address_samples_fail(ret, rc < 0 ? rc : -ESRCH, env);
}

static void sleep_ms(int64_t ms)
{
    struct timespec left = {ms / MS_PER_S, ms % MS_PER_S * NS_PER_MS};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void sample_threads(const struct env *env, int32_t pid, int64_t ms, struct sampled_thread *list, size_t count,
                           struct address_counts *c, struct address_samples *ret)
{
    struct mono start = clock_mono(env->clock);
    int64_t run_ns = 0;
    for (size_t i = 0; i < count; i++)
        list[i].run_ns = run_ns_of(env, pid, list[i].tid);
    sleep_ms(ms);
    for (size_t i = 0; i < count; i++) {
        int64_t now_ns = list[i].ring ? run_ns_of(env, pid, list[i].tid) : -1;
        if (list[i].ring)
            ioctl(list[i].fd, PERF_EVENT_IOC_DISABLE, 0);
        run_ns += now_ns > 0 && list[i].run_ns >= 0 ? now_ns - list[i].run_ns : 0;
    }
    ret->over_ms = MAX_OF(mono_since_ms(clock_mono(env->clock), start), (int64_t)1);
    read_maps(env, pid, c);
    for (size_t i = 0; i < count; i++)
        if (list[i].ring)
            count_ring(c, &list[i]);
    tell(c, run_ns, ret);
}

void address_samples_take(const struct env *env, int32_t pid, int64_t ms, struct address_samples *ret)
{
    *ret = (struct address_samples){.state = READING_OK};
    struct sampled_thread *list = calloc(LISTED_MAX, sizeof *list);
    struct address_counts *c = calloc(1, sizeof *c);
    size_t count = 0;
    if (!list || !c)
        address_samples_fail(ret, -ENOMEM, env);
    else if (env_is_recorded(env))
        address_samples_fail(ret, -ENOENT, env);
    else if (count = list_threads(env, pid, list), open_all(list, count, ret, env))
        sample_threads(env, pid, MIN_OF(ms, (int64_t)SAMPLE_MS_MAX), list, count, c, ret);
    for (size_t i = 0; i < count; i++)
        thread_close(&list[i]);
    free(list);
    counts_free(c);
}
