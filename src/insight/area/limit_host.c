/* SPDX-License-Identifier: Apache-2.0
 * What keeps a program from giving its GPU work: its threads, loaders, files, quota. A thread at 100% proves nothing, since a
 * program spins while it waits for its GPU; it counts only where the GPU is not busy.
 */
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/limit.h"

/* Permille of the looks or of a core */
enum {
    WAITS = 250, /* the main thread was found waiting for it in a quarter of the looks */
    WAITS_MOST = 500,
    CORE_BUSY = 600, /* of a thread that is the limit */
    CORE_HALF = 450,
    CORE_SLEEPS = 150, /* at most, of a program that does nothing */
    LOADER_BUSY = 300, /* of the busiest child */
    QUOTA_STOPS = 150,
    PRESSED = 200,
    PRESSED_ALL = 400,   /* of a whole host: half of it may wait without a program on a GPU being among it */
    QUEUED = 400,        /* ready to run, and no CPU was free */
    FAULTS = 100,        /* a second, from a disk */
    GPU_USED = 5,        /* of the GPU: it was given some work */
    SMALL_ENGINE = 50,   /* the engine was in use for long enough to compare it with the multiprocessors */
    CORE_FULL = 850,     /* of a thread that has no time left */
    LOADERS_BUSY = 1500, /* of all loaders together */
    CORES_MANY = 1500,   /* of all threads: Python's lock lets one of them compute at a time, so the others are native code */
    CODE_MOST = 600,     /* of the CPU time */
    CODE_PART = 300,
    CODE_LITTLE = 150,
};
enum { DISK_BYTES = 20000000, DISK_BYTES_MANY = 100000000, FAULTS_MANY = 20000 };

static struct limit_look look(enum limit code, double confidence)
{
    return (struct limit_look){code, confidence};
}

static int64_t of(struct reading r)
{
    return reading_or(r, 0);
}

/* Waits for its own children or other processes, or for a thread of its own that does. */
static int64_t waits_for_others(const struct host_evidence *h)
{
    return of(h->main_pipe_permille) + of(h->main_poll_permille) + of(h->main_lock_permille) + of(h->main_child_permille);
}

static bool is_loader(const char *name)
{
    static const char *const names[] = {"pt_data_worker", "pt_data_pin", "dali", "tf_data", "loader", "ray::"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool gave_work(const struct limit_facts *f)
{
    return of(f->util) >= GPU_USED || of(f->engine) >= GPU_USED;
}

/* A model server, or another. A parent with a port may be the server's front, or a launcher: then only a program that has nothing
 * to do is taken for a part of one. */
static bool is_server(const struct limit_facts *f, const struct host_evidence *h)
{
    enum { ITSELF = 1 };
    const struct process *p = f->process;
    return p->tokens_milli.state == READING_OK || of(h->listens) == ITSELF ||
           (of(h->listens) && (p->model[0] || !gave_work(f)) && of(p->world_size) < 2);
}

/* Kernels so small that launching them takes longer: the engine was in use, the multiprocessors hardly. */
static bool kernels_are_tiny(const struct limit_facts *f)
{
    return f->counted && f->alone && of(f->engine) >= SMALL_ENGINE && of(f->sm) * 2 < of(f->engine) &&
           of(f->dram) * 2 < of(f->engine);
}

/* More of a model is in its mapped file than the GPU has of it, and those pages are in memory. */
static bool is_partly_on_cpu(const struct limit_facts *f, const struct host_evidence *h)
{
    const int64_t least = 512LL << 20;
    int64_t model = of(h->model_bytes), vram;
    return model >= least && reading_get(f->process->mem_bytes, &vram) && vram < model / 100 * 95 &&
           of(h->file_rss_bytes) >= (model - vram) / 2;
}

/* ---- what a program waits for ---- */

static struct limit_look limit_of_files(const struct host_evidence *h)
{
    int64_t network = of(h->main_network_fs_permille) + of(h->main_fuse_permille), disk = of(h->main_disk_permille);
    int64_t moves = of(h->read_bytes_per_s) + of(h->write_bytes_per_s), children = of(h->child_count);
    if (network >= WAITS && network >= disk)
        return look(LIMIT_NETWORK_FS, 0.85);
    if (disk >= WAITS)
        return look(LIMIT_DISK, moves >= DISK_BYTES ? 0.9 : 0.75);
    /* Between its looks at a disk it copies what it has read, or writes what it saves. */
    if (disk > 0 && moves >= DISK_BYTES_MANY)
        return look(LIMIT_DISK, 0.75);
    if (moves >= DISK_BYTES_MANY && of(h->io_pressure_permille) >= PRESSED && of(h->main_running_permille) < WAITS_MOST)
        return look(LIMIT_DISK, 0.6);
    if (children && of(h->child_disk_count) * 2 >= children && waits_for_others(h) >= WAITS_MOST)
        return look(h->mount[0] ? LIMIT_NETWORK_FS : LIMIT_DISK, 0.8);
    return look(LIMIT_UNJUDGED, 0);
}

static struct limit_look limit_of_machine(const struct host_evidence *h)
{
    bool swaps = of(h->major_faults_per_s) >= FAULTS && of(h->swap_bytes) > 0;
    if (of(h->throttled_permille) >= QUOTA_STOPS)
        return look(LIMIT_CPU_QUOTA, 0.9);
    if (of(h->mem_pressure_permille) >= PRESSED || swaps)
        return look(LIMIT_MEMORY_PRESSURE, swaps ? 0.85 : 0.7);
    return look(LIMIT_UNJUDGED, 0);
}

static bool compiles(const struct host_evidence *h, bool runs)
{
    return (h->compiler[0] && (runs || of(h->child_busiest_permille) >= LOADER_BUSY)) || of(h->code_compiler_permille) >= CODE_PART;
}

/* What the code says that its threads run. A thread that waits for its GPU is in the driver for as long as the GPU is busy; what is
 * beyond that are calls, and of those the ones that end in the kernel allocate or map memory. */
static struct limit_look limit_of_code(const struct limit_facts *f, const struct host_evidence *h)
{
    int64_t driver = of(h->code_driver_permille), native = of(h->code_native_permille), python = of(h->code_python_permille);
    int64_t kernel = of(h->code_kernel_permille), busy = MAX_OF(of(f->engine), of(f->util));
    bool moves = of(h->read_bytes_per_s) + of(h->write_bytes_per_s) >= DISK_BYTES || of(h->minor_faults_per_s) >= FAULTS_MANY;
    if (kernel >= CODE_PART && driver + kernel >= CODE_MOST && driver >= MAX_OF(python, (int64_t)CODE_LITTLE / 2) && !moves)
        return look(LIMIT_ALLOCATION, 0.7);
    if (driver >= busy + CODE_LITTLE && driver < CODE_MOST && native >= CODE_PART && driver + native >= CODE_MOST)
        return look(LIMIT_LAUNCH, 0.65);
    return native >= CODE_MOST && driver < CODE_LITTLE ? look(LIMIT_CPU_WORK, 0.7) : look(LIMIT_UNJUDGED, 0);
}

/* A program that runs, on one thread or several. */
static struct limit_look limit_of_threads(const struct limit_facts *f, const struct host_evidence *h)
{
    int64_t busiest = MAX_OF(of(h->busiest_thread_permille), of(h->main_cpu_permille)), all = MAX_OF(of(h->cpu_permille), busiest);
    bool runs = busiest >= CORE_BUSY || of(h->main_running_permille) >= WAITS_MOST + 100 || all >= CORE_FULL;
    bool known = h->code_native_permille.state == READING_OK;
    if (compiles(h, runs))
        return look(LIMIT_COMPILE, 0.85);
    if (of(h->runqueue_permille) >= QUEUED)
        return look(LIMIT_HOST_CPU, 0.75);
    if (!runs)
        return look(LIMIT_UNJUDGED, 0);
    if (is_partly_on_cpu(f, h))
        return look(LIMIT_PARTLY_ON_CPU, 0.8);
    if (all >= CORES_MANY && (!known || of(h->code_native_permille) >= CODE_PART))
        return look(LIMIT_CPU_WORK, known ? 0.8 : 0.65);
    if (kernels_are_tiny(f))
        return look(LIMIT_LAUNCH, 0.8);
    struct limit_look found = known ? limit_of_code(f, h) : look(LIMIT_UNJUDGED, 0);
    return found.code ? found : look(LIMIT_HOST_CPU, f->counted ? 0.85 : 0.6);
}

/* Loaders that are busy feed a program that has time left: more of them would feed it faster. */
static bool is_fed_too_slowly(const struct host_evidence *h)
{
    int64_t busiest = MAX_OF(of(h->busiest_thread_permille), of(h->main_cpu_permille));
    return is_loader(h->busiest_child) && of(h->child_cpu_permille) >= LOADERS_BUSY && busiest < CORE_FULL;
}

/* A program whose main thread waits for its children: what they do is what it does. Only a loader is called one. */
static struct limit_look limit_of_children(const struct limit_facts *f, const struct host_evidence *h)
{
    bool waits = waits_for_others(h) >= WAITS_MOST && of(h->main_running_permille) < WAITS_MOST;
    if (!of(h->child_count) || !(waits || is_fed_too_slowly(h)))
        return look(LIMIT_UNJUDGED, 0);
    bool busy = of(h->child_busiest_permille) >= LOADER_BUSY;
    if (busy && h->compiler[0])
        return look(LIMIT_COMPILE, 0.85);
    if (is_loader(h->busiest_child)) /* some wait themselves, for a network or on purpose */
        return look(LIMIT_LOADERS, busy ? 0.9 : gave_work(f) ? 0.75 : 0.65);
    return busy && !is_server(f, h) ? look(LIMIT_PEER, 0.7) : look(LIMIT_UNJUDGED, 0);
}

/* A program that works in steps and waits between them for another process or host. A server waits for those that ask it; at a lock
 * it waits for another process only where one of the same program computes at the other end of a connection, as a late rank does.
 */
static struct limit_look limit_of_peer(const struct limit_facts *f, const struct host_evidence *h)
{
    int64_t direct = of(h->main_pipe_permille), lock = of(h->main_lock_permille), all = direct + lock + of(h->main_poll_permille);
    bool rank = of(f->process->world_size) > 1, at_lock = lock * 2 > all;
    bool serves = is_server(f, h) && !rank && !(at_lock && h->peer[0]);
    if (!gave_work(f) || serves || all < WAITS_MOST)
        return look(LIMIT_UNJUDGED, 0);
    if (h->peer[0] && (!at_lock || of(h->peer_cpu_permille) >= LOADER_BUSY))
        return look(LIMIT_PEER, direct >= WAITS_MOST ? 0.85 : 0.7);
    return direct >= WAITS_MOST ? look(LIMIT_PEER, 0.7) : rank ? look(LIMIT_PEER, 0.6) : look(LIMIT_UNJUDGED, 0);
}

/* Nothing is asked of the GPU. */
static struct limit_look limit_of_rest(const struct limit_facts *f, const struct host_evidence *h)
{
    int64_t cpu = MAX_OF(of(h->cpu_permille), of(h->main_cpu_permille));
    int64_t rests = of(h->main_sleep_permille) + waits_for_others(h);
    bool serves = is_server(f, h);
    if (of(h->stopped))
        return look(LIMIT_NONE, 0.9);
    if (rests < WAITS_MOST && cpu > CORE_SLEEPS)
        return look(LIMIT_CANNOT_TELL, 0.3);
    if (reading_or(f->process->requests_running, 0) > 0) /* says the server; what they wait for is not seen */
        return look(LIMIT_CANNOT_TELL, 0.3);
    if (serves && cpu <= CORE_HALF)
        return look(LIMIT_NO_REQUESTS, gave_work(f) ? 0.6 : 0.8);
    if (cpu > CORE_HALF)
        return look(LIMIT_HOST_CPU, 0.5);
    return of(h->main_sleep_permille) >= WAITS_MOST || !gave_work(f) ? look(LIMIT_NONE, 0.85) : look(LIMIT_CANNOT_TELL, 0.3);
}

/* A host under pressure makes its programs wait, seen or not; how much of it hits this one is not known. */
static struct limit_look limit_of_pressure(const struct host *host)
{
    enum { SWAPS_IN = 2000 }; /* pages a second */
    if (!host)
        return look(LIMIT_UNJUDGED, 0);
    bool swaps = of(host->swap_in_pages_per_s) >= SWAPS_IN;
    if (of(host->mem_pressure_permille) >= PRESSED_ALL || (swaps && of(host->mem_pressure_permille) >= PRESSED))
        return look(LIMIT_MEMORY_PRESSURE, swaps ? 0.65 : 0.5);
    if (of(host->io_pressure_permille) >= PRESSED_ALL)
        return look(LIMIT_DISK, 0.5);
    return of(host->cpu_pressure_permille) >= PRESSED_ALL ? look(LIMIT_HOST_CPU, 0.5) : look(LIMIT_UNJUDGED, 0);
}

/* Without a look at the process: its CPU time is known anyway, and so is how the host fares. */
static struct limit_look limit_without_host(const struct limit_facts *f)
{
    int64_t cpu;
    struct limit_look pressed = gave_work(f) ? limit_of_pressure(f->host) : look(LIMIT_UNJUDGED, 0);
    if (pressed.code)
        return pressed;
    if (!reading_get(f->process->cpu_permille, &cpu))
        return look(gave_work(f) || f->util.state != READING_OK ? LIMIT_CANNOT_TELL : LIMIT_NONE, 0.3);
    if (cpu >= CORE_BUSY)
        return kernels_are_tiny(f) ? look(LIMIT_LAUNCH, 0.6) : look(LIMIT_HOST_CPU, 0.45);
    if (f->util.state == READING_OK && !gave_work(f) && cpu <= CORE_SLEEPS)
        return look(LIMIT_NONE, 0.6);
    return look(LIMIT_CANNOT_TELL, 0.3);
}

struct limit_look limit_of_host(const struct limit_facts *f)
{
    const struct host_evidence *h = f->process->host;
    if (!h || h->state != READING_OK)
        return limit_without_host(f);
    struct limit_look found = limit_of_machine(h);
    if (!found.code)
        found = limit_of_files(h);
    if (!found.code)
        found = limit_of_children(f, h);
    if (!found.code)
        found = limit_of_threads(f, h);
    if (!found.code)
        found = limit_of_peer(f, h);
    if (!found.code)
        found = limit_of_rest(f, h);
    return found;
}
