/* SPDX-License-Identifier: Apache-2.0
 * What keeps a program from giving its GPU work: its threads, loaders, files, quota, other programs that it waits for. A thread at
 * 100% proves nothing, since a program spins while it waits for its GPU; it counts only where the GPU is not busy.
 */
#include <stdio.h>
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
    CORE_FULL = 850,     /* of a thread that has no time left */
    LOADERS_BUSY = 1500, /* of all loaders together */
    CORES_MANY = 1500,   /* of all threads: Python's lock lets one of them compute at a time, so the others are native code */
    CODE_MOST = 600,     /* of the CPU time */
    CODE_PART = 300,
    CODE_LITTLE = 150,
};
enum { DISK_BYTES = 20000000, DISK_BYTES_MANY = 100000000, FAULTS_MANY = 20000 };

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
        return limit_of(LIMIT_NETWORK_FS, 0.85);
    if (disk >= WAITS)
        return limit_of(LIMIT_DISK, moves >= DISK_BYTES ? 0.9 : 0.75);
    /* Between its looks at a disk it copies what it has read, or writes what it saves. */
    if (disk > 0 && moves >= DISK_BYTES_MANY)
        return limit_of(LIMIT_DISK, 0.75);
    if (moves >= DISK_BYTES_MANY && of(h->io_pressure_permille) >= PRESSED && of(h->main_running_permille) < WAITS_MOST)
        return limit_of(LIMIT_DISK, 0.6);
    if (children && of(h->child_disk_count) * 2 >= children && waits_for_others(h) >= WAITS_MOST)
        return limit_of(h->mount[0] ? LIMIT_NETWORK_FS : LIMIT_DISK, 0.8);
    return limit_of(LIMIT_UNJUDGED, 0);
}

static struct limit_look limit_of_machine(const struct host_evidence *h)
{
    bool swaps = of(h->major_faults_per_s) >= FAULTS && of(h->swap_bytes) > 0;
    if (of(h->throttled_permille) >= QUOTA_STOPS)
        return limit_of(LIMIT_CPU_QUOTA, 0.9);
    if (of(h->mem_pressure_permille) >= PRESSED || swaps)
        return limit_of(LIMIT_MEMORY_PRESSURE, swaps ? 0.85 : 0.7);
    return limit_of(LIMIT_UNJUDGED, 0);
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
        return limit_of(LIMIT_ALLOCATION, 0.7);
    if (driver >= busy + CODE_LITTLE && driver < CODE_MOST && native >= CODE_PART && driver + native >= CODE_MOST)
        return limit_of(LIMIT_LAUNCH, 0.65);
    return native >= CODE_MOST && driver < CODE_LITTLE ? limit_of(LIMIT_CPU_WORK, 0.7) : limit_of(LIMIT_UNJUDGED, 0);
}

/* A program that runs, on one thread or several. */
static struct limit_look limit_of_threads(const struct limit_facts *f, const struct host_evidence *h)
{
    int64_t busiest = MAX_OF(of(h->busiest_thread_permille), of(h->main_cpu_permille)), all = MAX_OF(of(h->cpu_permille), busiest);
    bool runs = busiest >= CORE_BUSY || of(h->main_running_permille) >= WAITS_MOST + 100 || all >= CORE_FULL;
    bool known = h->code_native_permille.state == READING_OK;
    if (compiles(h, runs))
        return limit_of(LIMIT_COMPILE, 0.85);
    if (of(h->runqueue_permille) >= QUEUED)
        return limit_of(LIMIT_HOST_CPU, 0.75);
    if (!runs)
        return limit_of(LIMIT_UNJUDGED, 0);
    if (is_partly_on_cpu(f, h))
        return limit_of(LIMIT_PARTLY_ON_CPU, 0.8);
    if (all >= CORES_MANY && (!known || of(h->code_native_permille) >= CODE_PART))
        return limit_of(LIMIT_CPU_WORK, known ? 0.8 : 0.65);
    if (limit_kernels_are_tiny(f))
        return limit_of(LIMIT_LAUNCH, 0.8);
    struct limit_look found = known ? limit_of_code(f, h) : limit_of(LIMIT_UNJUDGED, 0);
    return found.code ? found : limit_of(LIMIT_HOST_CPU, f->counted ? 0.85 : 0.6);
}

/* Loaders that are busy feed a program that has time left: more of them would feed it faster. */
static bool is_fed_too_slowly(const struct host_evidence *h)
{
    int64_t busiest = MAX_OF(of(h->busiest_thread_permille), of(h->main_cpu_permille));
    return is_loader(h->busiest_child) && of(h->child_cpu_permille) >= LOADERS_BUSY && busiest < CORE_FULL;
}

/* Several that are at work at the other end of its pipes, where their names can't be read: most programs have such for their data.
 */
static bool are_like_loaders(const struct host_evidence *h)
{
    return !h->busiest_child[0] && of(h->child_count) > 1 && of(h->main_pipe_permille) >= WAITS_MOST;
}

/* A program whose main thread waits for its children: what they do is what it does. Only a loader is called one. */
static struct limit_look limit_of_children(const struct limit_facts *f, const struct host_evidence *h)
{
    bool waits = waits_for_others(h) >= WAITS_MOST && of(h->main_running_permille) < WAITS_MOST;
    if (!of(h->child_count) || !(waits || is_fed_too_slowly(h)))
        return limit_of(LIMIT_UNJUDGED, 0);
    bool busy = of(h->child_busiest_permille) >= LOADER_BUSY;
    if (busy && h->compiler[0])
        return limit_of(LIMIT_COMPILE, 0.85);
    if (is_loader(h->busiest_child)) /* some wait themselves, for a network or on purpose */
        return limit_of(LIMIT_LOADERS, busy ? 0.9 : gave_work(f) ? 0.75 : 0.65);
    return busy && !is_server(f, h) ? limit_of(are_like_loaders(h) ? LIMIT_LOADERS : LIMIT_PEER, 0.7) : limit_of(LIMIT_UNJUDGED, 0);
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
        return limit_of(LIMIT_UNJUDGED, 0);
    if (h->peer[0] && (!at_lock || of(h->peer_cpu_permille) >= LOADER_BUSY))
        return limit_of(LIMIT_PEER, direct >= WAITS_MOST ? 0.85 : 0.7);
    return direct >= WAITS_MOST ? limit_of(LIMIT_PEER, 0.7) : rank ? limit_of(LIMIT_PEER, 0.6) : limit_of(LIMIT_UNJUDGED, 0);
}

/* Nothing is asked of the GPU. */
static struct limit_look limit_of_rest(const struct limit_facts *f, const struct host_evidence *h)
{
    int64_t cpu = MAX_OF(of(h->cpu_permille), of(h->main_cpu_permille));
    int64_t rests = of(h->main_sleep_permille) + waits_for_others(h);
    /* A rank that serves a rendezvous waits for the others, and at a lock: who asks nothing and who is late looks the same. */
    bool serves = is_server(f, h) && !(h->peer[0] && of(h->main_lock_permille) >= WAITS_MOST && !f->process->model[0]);
    if (of(h->stopped))
        return limit_of(LIMIT_NONE, 0.9);
    if (rests < WAITS_MOST && cpu > CORE_SLEEPS)
        return limit_of(LIMIT_CANNOT_TELL, 0.3);
    if (reading_or(f->process->requests_running, 0) > 0) /* says the server; what they wait for is not seen */
        return limit_of(LIMIT_CANNOT_TELL, 0.3);
    if (serves && cpu <= CORE_HALF)
        return limit_of(LIMIT_NO_REQUESTS, gave_work(f) ? 0.6 : 0.8);
    if (cpu > CORE_HALF)
        return limit_of(LIMIT_HOST_CPU, 0.5);
    return of(h->main_sleep_permille) >= WAITS_MOST || !gave_work(f) ? limit_of(LIMIT_NONE, 0.85)
                                                                     : limit_of(LIMIT_CANNOT_TELL, 0.3);
}

/* A host under pressure makes its programs wait, seen or not; how much of it hits this one is not known. */
static struct limit_look limit_of_pressure(const struct host *host)
{
    enum { SWAPS_IN = 2000 }; /* pages a second */
    if (!host)
        return limit_of(LIMIT_UNJUDGED, 0);
    bool swaps = of(host->swap_in_pages_per_s) >= SWAPS_IN;
    if (of(host->mem_pressure_permille) >= PRESSED_ALL || (swaps && of(host->mem_pressure_permille) >= PRESSED))
        return limit_of(LIMIT_MEMORY_PRESSURE, swaps ? 0.65 : 0.5);
    if (of(host->io_pressure_permille) >= PRESSED_ALL)
        return limit_of(LIMIT_DISK, 0.5);
    return of(host->cpu_pressure_permille) >= PRESSED_ALL ? limit_of(LIMIT_HOST_CPU, 0.5) : limit_of(LIMIT_UNJUDGED, 0);
}

/* Without a look at the process: its CPU time is known anyway, and so is how the host fares. */
static struct limit_look limit_without_host(const struct limit_facts *f)
{
    int64_t cpu;
    struct limit_look pressed = gave_work(f) ? limit_of_pressure(f->host) : limit_of(LIMIT_UNJUDGED, 0);
    if (pressed.code)
        return pressed;
    if (!reading_get(f->process->cpu_permille, &cpu))
        return limit_of(gave_work(f) || f->util.state != READING_OK ? LIMIT_CANNOT_TELL : LIMIT_NONE, 0.3);
    if (cpu >= CORE_BUSY)
        return limit_kernels_are_tiny(f) ? limit_of(LIMIT_LAUNCH, 0.6) : limit_of(LIMIT_HOST_CPU, 0.45);
    if (f->util.state == READING_OK && !gave_work(f) && cpu <= CORE_SLEEPS)
        return limit_of(LIMIT_NONE, 0.6);
    return limit_of(LIMIT_CANNOT_TELL, 0.3);
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

/* Copies through a node that the GPU is not connected to. */
static bool is_remote(const struct process *p)
{
    int64_t mine, its;
    const struct host_evidence *h = p->host;
    return h && reading_get(h->gpu_node, &its) && reading_get(h->cpu_node, &mine) && mine != its;
}

/* Between sockets a copy gets a part of what the link carries; the thread that waits for it looks busy. */
bool limited_by_node(const struct limit_facts *f, enum limit on_gpu)
{
    enum { LINK_PART = 250, LINK_HALF = 500 };
    int64_t busier = MAX_OF(of(f->in), of(f->out));
    bool copies = on_gpu == LIMIT_PCIE_IN || on_gpu == LIMIT_PCIE_OUT;
    return is_remote(f->process) && busier < LINK_HALF && (copies || (!on_gpu && f->alone && busier >= LINK_PART));
}

/* ---- in words ---- */

static int64_t busiest_of(const struct process *p)
{
    int64_t busiest = MAX_OF(of_host(p, EVIDENCE_busiest_thread_permille), of_host(p, EVIDENCE_main_cpu_permille));
    return busiest ? busiest : of_host(p, EVIDENCE_main_running_permille);
}

/* What a thread does is known where the code that it runs is. */
static bool say_thread(struct text *s, const struct process *p)
{
    int64_t python = of_host(p, EVIDENCE_code_python_permille), threads = of_host(p, EVIDENCE_busy_threads);
    if (of_host(p, EVIDENCE_runqueue_permille) >= 400)
        return text_append(s, "waits for a free CPU core");
    if (python >= 500)
        return text_append(s, "computes in Python while the GPU waits (%lld%% of its CPU time)", percent(python));
    if (threads > 1)
        return text_append(s, "keeps %lld threads busy while the GPU waits", (long long)threads);
    return busiest_of(p) ? text_append(s, "keeps one thread busy %lld%% while the GPU waits", percent(MIN_OF(busiest_of(p), 1000)))
                         : text_append(s, "uses the CPU while the GPU waits");
}

static bool say_cpu_work(struct text *s, const struct process *p)
{
    int64_t threads = of_host(p, EVIDENCE_busy_threads);
    const char *code = p->host && of_host(p, EVIDENCE_code_native_permille) >= 300 ? p->host->code : "";
    text_append(s, "computes on the CPU");
    if (threads > 1)
        text_append(s, " in %lld threads", (long long)threads);
    if (code[0])
        text_append(s, threads > 1 ? " (%s)" : " in %s", code);
    return text_append(s, " while the GPU waits");
}

static int64_t works_permille(const struct gpu *gpu, const struct process *p)
{
    return reading_or(p->util_permille, reading_or(gpu->util_permille, 0));
}

/* The other end, as far as it is known; a child that is busy meanwhile. */
static bool say_peer(struct text *s, const struct process *p)
{
    const struct host_evidence *h = p->host;
    int64_t cpu = of_host(p, EVIDENCE_peer_cpu_permille), children = of_host(p, EVIDENCE_child_count);
    int64_t child = of_host(p, EVIDENCE_child_busiest_permille);
    bool rank = reading_or(p->world_size, 0) > 1;
    if (h && h->peer[0]) {
        text_append(s, "waits for %s%s", rank ? "another rank: " : "", h->peer);
        return cpu < 300 || text_append(s, ", which is busy %lld%%", percent(cpu));
    }
    if (rank)
        return text_append(s, "waits for another rank of its job");
    if (h && children && child >= 300)
        return children == 1 ? text_append(s, "waits while its child process %s is busy %lld%%", h->busiest_child, percent(child))
                             : text_append(s, "waits while its %lld child processes are busy", (long long)children);
    return text_append(s, "waits for another program, over a pipe or socket");
}

/* Without a reading of the link between CPU and memory: about an eighth of what a GPU reads in the same time. */
static bool say_partly(struct text *s, const struct gpu *gpu, const struct process *p)
{
    enum { SLOWER = 8 };
    int64_t model = of_host(p, EVIDENCE_model_bytes), lacks = model - reading_or(p->mem_bytes, model);
    double share = model > 0 ? (double)lacks / (double)model : 0;
    char amount[SHORT_WORDS];
    return text_append(s, "runs %.0f%% of %s on the CPU, about %.0fx slower: %s are missing on GPU %d", share * 100,
                       p->model[0] ? p->model : "its model", MAX_OF(1 + share * (SLOWER - 1), 2.0), words_bytes(lacks, amount),
                       gpu->index);
}

/* Only a process that was read, and neither worked nor computed, "does nothing". */
static bool say_rest(struct text *s, const struct gpu *gpu, const struct process *p)
{
    char bytes[SHORT_WORDS];
    bool sleeps = of_host(p, EVIDENCE_main_sleep_permille) >= 500, works = works_permille(gpu, p) >= 5;
    if (works)
        return sleeps ? text_append(s, "sleeps between its steps, %lld%% of the time",
                                    percent(of_host(p, EVIDENCE_main_sleep_permille)))
                      : text_append(s, "uses little of the GPU");
    const char *does = p->host && p->host->state == READING_OK ? "does nothing" : "was not seen working";
    return p->mem_bytes.state == READING_OK ? text_append(s, "holds %s and %s", words_bytes(p->mem_bytes.value, bytes), does)
                                            : text_append(s, "%s on the GPU", does);
}

static bool say_loaders(struct text *s, const struct process *p)
{
    bool busy = of_host(p, EVIDENCE_child_busiest_permille) >= 300;
    long long count = (long long)of_host(p, EVIDENCE_child_count);
    return text_append(s, "waits for its %lld loader process%s, %s", count, count == 1 ? "" : "es",
                       busy ? "which can't keep up" : "which wait themselves");
}

static bool say_disk(struct text *s, const struct process *p)
{
    int64_t reads = of_host(p, EVIDENCE_read_bytes_per_s), writes = of_host(p, EVIDENCE_write_bytes_per_s);
    char amount[SHORT_WORDS];
    if (MAX_OF(reads, writes) < 1000000)
        return text_append(s, "waits for the disk");
    return text_append(s, writes > reads ? "saves to disk (%s)" : "reads from disk (%s)",
                       limit_rate(MAX_OF(reads, writes), amount));
}

static bool say_quota(struct text *s, const struct process *p)
{
    int64_t quota = of_host(p, EVIDENCE_quota_millicores);
    text_append(s, "is held by its container's CPU quota");
    if (quota)
        text_append(s, " of %.1f cores", (double)quota / 1000);
    return text_append(s, " for %lld%% of the time", percent(of_host(p, EVIDENCE_throttled_permille)));
}

bool limit_say_host(struct text *s, const struct gpu *gpu, const struct process *p)
{
    const struct host_evidence *h = p->host;
    switch (p->limit.code) {
    case LIMIT_HOST_CPU: return say_thread(s, p);
    case LIMIT_CPU_WORK: return say_cpu_work(s, p);
    case LIMIT_PARTLY_ON_CPU: return say_partly(s, gpu, p);
    case LIMIT_PEER: return say_peer(s, p);
    case LIMIT_ALLOCATION:
        return text_append(s, "spends %lld%% of its CPU time in the driver and the kernel, as allocating memory in every step does",
                           percent(of_host(p, EVIDENCE_code_driver_permille) + of_host(p, EVIDENCE_code_kernel_permille)));
    case LIMIT_LOADERS: return say_loaders(s, p);
    case LIMIT_DISK: return say_disk(s, p);
    case LIMIT_CPU_QUOTA: return say_quota(s, p);
    case LIMIT_NETWORK_FS:
        return h && h->mount[0] ? text_append(s, "waits for %s, a network file system", h->mount)
                                : text_append(s, "waits for a network file system");
    case LIMIT_COMPILE: {
        const char *by = !h ? "" : h->compiler[0] ? h->compiler : h->code;
        return text_append(s, "compiles kernels%s%s%s", by[0] ? " (" : "", by, by[0] ? ")" : "");
    }
    case LIMIT_NONE: return say_rest(s, gpu, p);
    case LIMIT_MEMORY_PRESSURE: return text_append(s, "waits for memory of the host");
    case LIMIT_NUMA: return text_append(s, "copies through a NUMA node that the GPU is not connected to");
    case LIMIT_NO_REQUESTS: return text_append(s, "waits for requests");
    case LIMIT_CANNOT_TELL: return text_append(s, "is not limited by the GPU; nothing shows what limits it");
    default: return text_append(s, "is limited by %s", limit_words(p->limit.code));
    }
}

static void wait_line(struct limit_lines *l, const struct process *p)
{
    static const struct {
        enum evidence what;
        const char *words;
    } waits[] = {
        {EVIDENCE_main_running_permille, "runs"},
        {EVIDENCE_main_disk_permille, "waits for a disk"},
        {EVIDENCE_main_network_fs_permille, "waits for a network file system"},
        {EVIDENCE_main_fuse_permille, "waits for a FUSE file system"},
        {EVIDENCE_main_pipe_permille, "waits for a pipe or socket"},
        {EVIDENCE_main_poll_permille, "waits in poll"},
        {EVIDENCE_main_lock_permille, "waits for a lock or another thread"},
        {EVIDENCE_main_sleep_permille, "sleeps"},
        {EVIDENCE_main_child_permille, "waits for a child"},
    };
    char text[WHY_LINE_SIZE] = "";
    struct text s = TEXT(text);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        int64_t share = of_host(p, waits[i].what);
        if (share >= 100)
            text_append(&s, "%s%s %lld%%", s.len ? ", " : "", waits[i].words, percent(share));
    }
    if (s.len)
        limit_add_line(l, "its main thread: %s of the time", text);
}

static void code_line(struct limit_lines *l, const struct process *p)
{
    static const struct {
        enum evidence what;
        const char *words;
    } parts[] = {
        {EVIDENCE_code_python_permille, "in Python"},           {EVIDENCE_code_native_permille, "in native code"},
        {EVIDENCE_code_driver_permille, "in the GPU's driver"}, {EVIDENCE_code_compiler_permille, "in a compiler"},
        {EVIDENCE_code_kernel_permille, "in the kernel"},
    };
    char text[WHY_LINE_SIZE] = "";
    struct text s = TEXT(text);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (of_host(p, parts[i].what) >= 50)
            text_append(&s, "%s%lld%% %s", s.len ? ", " : "", percent(of_host(p, parts[i].what)), parts[i].words);
    if (s.len)
        limit_add_line(l, "its CPU time: %s%s%s%s", text, p->host->code[0] ? " (" : "", p->host->code, p->host->code[0] ? ")" : "");
}

void limit_host_lines(struct limit_lines *l, const struct process *p)
{
    const struct host_evidence *h = p->host;
    int64_t value;
    char amount[SHORT_WORDS], other[SHORT_WORDS];
    if (!h || h->state != READING_OK)
        return;
    wait_line(l, p);
    if (h->collective[0])
        limit_add_line(l, "its job's own trace: %s", h->collective);
    if (reading_get(h->busiest_thread_permille, &value))
        limit_add_line(l, "its busiest thread%s%s used %lld%% of a core", h->busiest_thread[0] ? " " : "", h->busiest_thread,
                       percent(value));
    code_line(l, p);
    if (h->peer[0] && p->limit.code == LIMIT_PEER)
        limit_add_line(l, "at the other end: %s", h->peer);
    if (p->limit.code == LIMIT_PARTLY_ON_CPU)
        limit_add_line(l, "the model files that it has mapped have %s, it holds %s on the GPU",
                       words_bytes(of_host(p, EVIDENCE_model_bytes), amount), words_bytes(reading_or(p->mem_bytes, 0), other));
    if (of_host(p, EVIDENCE_child_count))
        limit_add_line(l, "%lld children used %lld%% of a core, the busiest%s%s %lld%%",
                       (long long)of_host(p, EVIDENCE_child_count), percent(of_host(p, EVIDENCE_child_cpu_permille)),
                       h->busiest_child[0] ? " " : "", h->busiest_child, percent(of_host(p, EVIDENCE_child_busiest_permille)));
    if (of_host(p, EVIDENCE_read_bytes_per_s) + of_host(p, EVIDENCE_write_bytes_per_s) >= 1000000)
        limit_add_line(l, "disk: %s read, %s written", limit_rate(of_host(p, EVIDENCE_read_bytes_per_s), amount),
                       limit_rate(of_host(p, EVIDENCE_write_bytes_per_s), other));
    if (of_host(p, EVIDENCE_throttled_permille) >= 10)
        limit_add_line(l, "its container was stopped by the CPU quota for %lld%% of the time",
                       percent(of_host(p, EVIDENCE_throttled_permille)));
    if (of_host(p, EVIDENCE_swap_bytes))
        limit_add_line(l, "%s of its memory are in swap, %lld page faults a second",
                       words_bytes(of_host(p, EVIDENCE_swap_bytes), amount), (long long)of_host(p, EVIDENCE_major_faults_per_s));
}

/* ---- advice ---- */

static int64_t workers(const struct limit_advice *a)
{
    return a->cores ? MAX_OF(MIN_OF(a->cores / 2, (int64_t)16), (int64_t)2) : 8;
}

static void advise_thread(struct limit_advice *a)
{
    if (of_host(a->process, EVIDENCE_runqueue_permille) >= 400)
        limit_add_line(&a->lines, "Give it more CPU cores: other programs, or its own threads, use all of them.");
    else if (a->python)
        limit_add_line(&a->lines,
                       "If it prepares data there, let loader processes do that: DataLoader(num_workers=%lld, pin_memory=True)",
                       (long long)workers(a));
    else
        limit_add_line(&a->lines, "Move work off the thread that feeds the GPU, or give the GPU more at a time.");
}

/* What is given to the CPU by an optimizer, a tokenizer or a decoder is known to the program alone. */
static void advise_cpu_work(struct limit_advice *a)
{
    limit_add_line(
        &a->lines,
        a->python ? "Move what it computes there to the GPU (an optimizer, a decoder), or into processes that run beside the steps."
                  : "Move what it computes there to the GPU, or let it run beside the steps.");
}

static void advise_partly(struct limit_advice *a)
{
    char lacks[SHORT_WORDS];
    int64_t missing = of_host(a->process, EVIDENCE_model_bytes) - reading_or(a->process->mem_bytes, 0);
    const struct process *other = NULL;
    char who[PROCESS_WORDS];
    for (size_t i = 0; i < a->gpu->process_count; i++) {
        const struct process *p = &a->gpu->processes[i];
        if (p->pid != a->process->pid && reading_or(p->mem_bytes, 0) > (other ? other->mem_bytes.value : missing / 4))
            other = p;
    }
    if (other)
        limit_add_line(&a->lines, "Free memory of the GPU: %s holds %s.", process_words(other, WITH_OWNER, who),
                       words_bytes(other->mem_bytes.value, lacks));
    limit_add_line(&a->lines, "Use a smaller quantization or a shorter context, so that %s more fit on the GPU.",
                   words_bytes(missing, lacks));
}

static void advise_peer(struct limit_advice *a)
{
    int64_t pid = of_host(a->process, EVIDENCE_peer_pid);
    if (pid)
        limit_add_line(&a->lines, "See what it waits for: ps -o pid,stat,%%cpu,args -p %lld", (long long)pid);
    else if (a->process->host && a->process->host->peer[0])
        limit_add_line(&a->lines, "Request the next answer before it is needed, or find out what is slow at the other end.");
    else
        limit_add_line(&a->lines, "See what it waits for: sudo ls -l /proc/%d/fd", (int)a->process->pid);
}

static void advise_loaders(struct limit_advice *a)
{
    int64_t count = of_host(a->process, EVIDENCE_child_count), cpu = of_host(a->process, EVIDENCE_child_cpu_permille);
    if (of_host(a->process, EVIDENCE_child_busiest_permille) < 300)
        limit_add_line(&a->lines,
                       "Read ahead (prefetch_factor), use more loaders, or move the data closer: the loaders are waiting, too.");
    else if (a->cores && cpu >= a->cores * 750)
        limit_add_line(&a->lines, "All CPU cores are busy: store the data decoded, use a faster format, or decode on the GPU.");
    else
        limit_add_line(&a->lines, "Use more loader processes (now %lld; num_workers=%lld), or a format that takes less CPU time.",
                       (long long)count, (long long)MAX_OF(2 * count, workers(a)));
}

static void advise_disk(struct limit_advice *a)
{
    if (of_host(a->process, EVIDENCE_write_bytes_per_s) > of_host(a->process, EVIDENCE_read_bytes_per_s))
        limit_add_line(&a->lines, "Save less often, or while the next steps run (asynchronous checkpoints).");
    else
        limit_add_line(&a->lines, "Read ahead in loader processes, or move the data to a faster disk or into memory.");
}

static void advise_numa(struct limit_advice *a)
{
    int64_t node = of_host(a->process, EVIDENCE_gpu_node);
    limit_add_line(&a->lines, "Bind it to the GPU's NUMA node: numactl --cpunodebind=%lld --membind=%lld COMMAND", (long long)node,
                   (long long)node);
}

void limit_advise_host(struct limit_advice *a)
{
    switch (a->process->limit.code) {
    case LIMIT_HOST_CPU: advise_thread(a); break;
    case LIMIT_CPU_WORK: advise_cpu_work(a); break;
    case LIMIT_PARTLY_ON_CPU: advise_partly(a); break;
    case LIMIT_PEER: advise_peer(a); break;
    case LIMIT_LOADERS: advise_loaders(a); break;
    case LIMIT_DISK: advise_disk(a); break;
    case LIMIT_NUMA: advise_numa(a); break;
    case LIMIT_ALLOCATION:
        limit_add_line(&a->lines, a->python && a->process->variables & VARIABLE_GROWING_MEMORY
                                      ? "Keep memory between steps: no torch.cuda.empty_cache() in the loop; reuse tensors "
                                        "(expandable_segments is set already)."
                                  : a->python
                                      ? "Keep memory between steps: no torch.cuda.empty_cache() in the loop; reuse tensors, or set "
                                        "PYTORCH_ALLOC_CONF=expandable_segments:True"
                                      : "Allocate once and reuse: memory pools (cudaMallocAsync), or buffers that stay.");
        break;
    case LIMIT_COMPILE: limit_add_line(&a->lines, "Keep shapes the same (pad them), so that kernels are compiled once."); break;
    case LIMIT_CPU_QUOTA:
        limit_add_line(&a->lines, "Raise the CPU quota of its container (docker update --cpus, the CPU limit of its pod).");
        break;
    case LIMIT_NETWORK_FS: limit_add_line(&a->lines, "Copy the data to a local disk before the run, or cache it there."); break;
    case LIMIT_MEMORY_PRESSURE:
        limit_add_line(&a->lines, "Free memory on the host, or raise the memory limit of its container.");
        break;
    default: break;
    }
}
