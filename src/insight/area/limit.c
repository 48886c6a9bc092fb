/* SPDX-License-Identifier: Apache-2.0
 * What limits a program: found on its GPU and its links first, then on its host.
 */
#include "insight/area/limit.h"

#include <string.h>

#include "base/cleanup.h"
#include "insight/facts/levels.h"
#include "model/finding_code.h"

/* ---- the GPU and its links ----
 * Counters of the units show most limits; without them, power, memory activity and traffic, with less confidence. */

/* Permille. A kernel that waits for a late rank keeps the engine at 1000 and the multiprocessors at 8; tiny kernels keep both
 * apart, too, but leave the engine idle between them. */
enum {
    ENGINE_FULL = 650,     /* below this the GPU waits for its program often enough to say so */
    ENGINE_WAITS = 800,    /* of a kernel that waits */
    ENGINE_NONE = 30,      /* at most: only copy engines are at work */
    SM_NONE = 30,          /* at most: nothing is computed */
    SM_SMALL = 350,        /* at most, while the engine is full: kernels far too small for the GPU */
    DRAM_FULL = 600,       /* counters of the memory read 820 to 900 at most */
    DRAM_FULL_ROUGH = 750, /* of the driver's share of time */
    FP32_FULL = 400,       /* with no tensor core in use */
    TENSOR_NONE = 10,
    GEMM_DRAM_MAX = 400, /* matrix products read little; what reads more is limited otherwise */
    LINK_ONLY = 40,      /* least, where nothing but copies is seen */
    LINK_SPILL = 250,
    LINK_AWAKE = 300, /* of the utilization: the link has left its state of rest */
    VRAM_FULL = 960,
    NVLINK_FULL = 500,
    VIDEO_FULL = 600,
    CLOCKS_LOW_PERMILLE = 600, /* of the highest; below, with no reason that the driver gives */
    POWER_AT_LIMIT = 970,
    POWER_OF_WAITING = 190, /* at most: kernels that wait on an H200 draw 122 of 700 W */
    SHARED_FULL = 800,      /* of a GPU that several processes want */
    SHARES_LEAST = 100,     /* of a process that takes part */
};

/* What the process has of the GPU. Of one that works alone the GPU's own readings; beside others their part by its share. */
struct limit_facts {
    const struct gpu *gpu; /* the card, or the instance that the process is in */
    const struct process *process;
    const struct host *host;    /* pressure on all of it, where the process itself can't be read; NULL: unknown */
    bool counted;               /* what the units do is counted */
    bool alone;                 /* no other process takes part in the load */
    struct reading util;        /* permille of the time, its own */
    int64_t others;             /* permille of the time that other processes have */
    struct reading engine;      /* a kernel was resident, its own */
    struct reading sm, dram;    /* multiprocessors at work, memory bandwidth */
    int64_t tensor, fp32, pipe; /* the busiest of all arithmetic pipes in `pipe` */
    struct reading in, out;     /* permille of what the PCIe link carries; to and from the GPU */
    struct reading power;       /* permille of the GPU's limit */
};

static struct limit_look look(enum limit code, double confidence)
{
    return (struct limit_look){code, confidence};
}

/* Bytes a second that the PCIe link carries in one direction at this generation; 0 unknown. */
static int64_t capacity_of(const struct gpu *gpu, int64_t generation)
{
    enum { LANES_MAX = 32 };
    static const int64_t lane[] = {0, 250000000, 500000000, 985000000, 1969000000, 3938000000, 7563000000};
    int64_t width = reading_or(gpu->pcie_width, reading_or(gpu->pcie_width_max, 0));
    bool known = generation > 0 && generation < (int64_t)ARRAY_LEN(lane) && width > 0 && width <= LANES_MAX;
    return known ? lane[generation] * width : 0;
}

/* A link at rest is slow; one that stays slow at work carries no more. What it carries all the same is newer than its state. */
int64_t limit_link_generation(const struct gpu *gpu)
{
    int64_t now = reading_or(gpu->pcie_generation, 0), most = reading_or(gpu->pcie_generation_max, now);
    int64_t moves = MAX_OF(reading_or(gpu->pcie_rx_bytes_per_s, 0), reading_or(gpu->pcie_tx_bytes_per_s, 0));
    bool stays = now && reading_or(gpu->util_permille, 0) >= LINK_AWAKE && moves <= capacity_of(gpu, now);
    return stays ? now : most;
}

int64_t limit_link_capacity(const struct gpu *gpu)
{
    return capacity_of(gpu, limit_link_generation(gpu));
}

/* Where the link is not known: that of most hosts of today. */
static struct reading link_share(const struct gpu *gpu, struct reading rate)
{
    enum { USUAL_GB = 32 };
    int64_t capacity = limit_link_capacity(gpu), bytes;
    if (!reading_get(rate, &bytes))
        return rate;
    double most = capacity ? (double)capacity : USUAL_GB * 1e9;
    return reading_ok((int64_t)((double)bytes * 1000 / most));
}

/* ---- whose readings they are ---- */

static struct reading part_of(struct reading r, int64_t own, int64_t all)
{
    int64_t value;
    return all > 0 && reading_get(r, &value) ? reading_ok((int64_t)((double)value * (double)MIN_OF(own, all) / (double)all)) : r;
}

/* A process that only copies has no share in the eyes of the driver: what the others do not have may be its own. */
static int64_t share_of_others(const struct gpu *gpu, const struct process *p)
{
    int64_t others = 0;
    for (size_t i = 0; i < gpu->process_count; i++)
        if (gpu->processes[i].pid != p->pid && gpu->processes[i].instance == p->instance)
            others += reading_or(gpu->processes[i].util_permille, 0);
    return MIN_OF(MAX_OF(others, 0), 1000);
}

/* A process whose share is not known, among several, cannot be told from them. */
static bool is_only_candidate(const struct gpu *gpu, const struct process *p)
{
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *other = &gpu->processes[i];
        if (other->pid != p->pid && other->instance == p->instance && other->util_permille.state != READING_OK &&
            other->type != PROCESS_GRAPHICS)
            return false;
    }
    return !gpu->processes_hidden;
}

static void limit_facts_collect(struct limit_facts *f, const struct gpu *card, const struct process *p)
{
    bool inside = p->instance >= 0 && (size_t)p->instance < card->instance_count;
    const struct gpu *gpu = inside ? &card->instances[p->instance] : card;
    int64_t own = 0, whole;
    *f = (struct limit_facts){.gpu = gpu, .process = p, .others = share_of_others(card, p)};
    bool known = reading_get(p->util_permille, &own);
    own = MIN_OF(MAX_OF(own, 0), 1000);
    f->counted = gpu->sm_active_permille.state == READING_OK && !counters_lag(gpu);
    f->alone = f->others < SHARE_LEAST && (known || is_only_candidate(card, p));
    struct reading util = gpu->util_permille.state == READING_OK ? gpu->util_permille : gpu->graphics_active_permille;
    f->util = f->alone ? util : known ? p->util_permille : reading_absent(READING_UNSUPPORTED);
    if (f->alone && !reading_get(util, &whole))
        f->util = p->util_permille;
    int64_t all = f->alone ? 0 : own + f->others;
    f->engine = f->counted ? part_of(gpu->graphics_active_permille, own, all) : reading_absent(READING_PENDING);
    f->sm = part_of(gpu->sm_active_permille, own, all);
    f->dram = part_of(gpu->dram_active_permille, own, all);
    f->tensor = reading_or(part_of(gpu->tensor_active_permille, own, all), 0);
    f->fp32 = reading_or(part_of(gpu->fp32_active_permille, own, all), 0);
    f->pipe = reading_or(part_of(reading_ok(pipes_permille(gpu)), own, all), 0);
    f->in = link_share(gpu, gpu->pcie_rx_bytes_per_s);
    f->out = link_share(gpu, gpu->pcie_tx_bytes_per_s);
    f->power = power_share_permille(inside ? card : gpu);
}

/* ---- links ---- */

static struct limit_look limit_of_pcie(const struct limit_facts *f, double confidence)
{
    return look(reading_or(f->in, 0) >= reading_or(f->out, 0) ? LIMIT_PCIE_IN : LIMIT_PCIE_OUT, confidence);
}

static bool spills(const struct limit_facts *f)
{
    int64_t used, total, moved = reading_or(f->gpu->gtt_used_bytes, 0);
    bool traffic = MAX_OF(reading_or(f->in, 0), reading_or(f->out, 0)) >= LINK_SPILL;
    if (!reading_get(f->gpu->mem_used_bytes, &used) || !reading_get(f->gpu->mem_total_bytes, &total) || total <= 0 ||
        used < total / 1000 * VRAM_FULL)
        return false;
    return traffic || moved >= total / 10;
}

static bool nvlink_is_full(const struct gpu *gpu)
{
    enum { LINK_GB = 25 }; /* of one link, in one direction */
    int64_t links, most = MAX_OF(reading_or(gpu->nvlink_rx_bytes_per_s, 0), reading_or(gpu->nvlink_tx_bytes_per_s, 0));
    return reading_get(gpu->nvlink_links_active, &links) && links > 0 && most / (LINK_GB * 1000000LL) / links >= NVLINK_FULL;
}

static struct limit_look limit_of_links(const struct limit_facts *f)
{
    int64_t engine = reading_or(f->engine, reading_or(f->util, 0)), busier = MAX_OF(reading_or(f->in, 0), reading_or(f->out, 0));
    if (engine >= SHARED_FULL / 2 && spills(f))
        return look(LIMIT_SPILL, 0.75);
    if (nvlink_is_full(f->gpu) && reading_or(f->sm, 0) < SM_SMALL)
        return look(LIMIT_NVLINK, 0.7);
    if (!f->alone)
        return look(LIMIT_UNJUDGED, 0);
    if (f->counted && engine <= ENGINE_NONE && busier >= LINK_ONLY)
        return limit_of_pcie(f, busier >= LINK_FULL ? 0.95 : 0.85);
    if (busier >= LINK_FULL && reading_or(f->sm, 0) < ENGINE_FULL)
        return limit_of_pcie(f, f->counted ? 0.85 : 0.7);
    return look(LIMIT_UNJUDGED, 0);
}

/* ---- the GPU at work ---- */

static bool is_at_power_limit(const struct limit_facts *f)
{
    int64_t bits = reading_or(f->gpu->throttle_bits, 0);
    return bits & (THROTTLE_POWER_CAP | THROTTLE_POWER_BRAKE | THROTTLE_CURRENT) || reading_or(f->power, 0) >= POWER_AT_LIMIT;
}

static bool clocks_are_low(const struct gpu *gpu)
{
    int64_t clock, most;
    return reading_get(gpu->clock_graphics_khz, &clock) && reading_get(gpu->clock_graphics_max_khz, &most) && clock > 0 &&
           (double)clock * 1000 < (double)most * CLOCKS_LOW_PERMILLE && !(reading_or(gpu->throttle_bits, 0) & THROTTLE_SLOWED);
}

/* Single precision without tensor cores is wanted by renderers and simulations; a Python program had rather allow TF32. */
static bool wants_tensor(const struct limit_facts *f)
{
    const char *name = f->process->name, *title = f->process->title, *dot = strrchr(title, '.');
    bool learns = strncmp(name, "python", 6) == 0 || (dot && strcmp(dot, ".py") == 0) || f->process->model[0];
    return learns && f->fp32 >= FP32_FULL && f->tensor <= TENSOR_NONE && reading_or(f->dram, 0) <= GEMM_DRAM_MAX;
}

static struct limit_look slowed(const struct limit_facts *f)
{
    if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_HOT)
        return look(LIMIT_HEAT, 0.9);
    if (is_at_power_limit(f))
        return look(LIMIT_POWER, f->counted ? 0.9 : 0.75);
    return clocks_are_low(f->gpu) ? look(LIMIT_CLOCKS, 0.85) : look(LIMIT_UNJUDGED, 0);
}

static struct limit_look limit_of_counted(const struct limit_facts *f)
{
    int64_t engine = reading_or(f->engine, reading_or(f->util, 0)), sm = reading_or(f->sm, 0), dram = reading_or(f->dram, 0);
    if (engine < ENGINE_FULL)
        return look(LIMIT_UNJUDGED, 0);
    if (sm <= SM_NONE && dram <= SM_NONE)
        return engine >= ENGINE_WAITS ? look(LIMIT_KERNEL_WAIT, 0.85) : look(LIMIT_LAUNCH, 0.7);
    if (dram >= DRAM_FULL && dram >= f->pipe)
        return look(LIMIT_BANDWIDTH, 0.9);
    if (wants_tensor(f))
        return look(LIMIT_NO_TENSOR, 0.85);
    struct limit_look slow = slowed(f);
    if (slow.code)
        return slow;
    if (sm <= SM_SMALL && dram <= SM_SMALL)
        return look(LIMIT_LAUNCH, 0.6);
    return look(LIMIT_COMPUTE, sm >= ENGINE_FULL ? 0.9 : 0.7);
}

static struct limit_look limit_of_rough(const struct limit_facts *f)
{
    int64_t util, share;
    bool by_state;
    if (!reading_get(f->util, &util) || util < ENGINE_FULL)
        return look(LIMIT_UNJUDGED, 0);
    struct limit_look slow = slowed(f);
    if (slow.code)
        return slow;
    if (reading_or(f->gpu->mem_util_permille, 0) >= DRAM_FULL_ROUGH)
        return look(LIMIT_BANDWIDTH, 0.6);
    /* Hardly more power than at rest, at full clocks: nothing is computed. */
    if (util >= STEADY_LEAST && reading_get(f->power, &share) && share <= POWER_OF_WAITING && clocks_are_high(f->gpu, &by_state) &&
        !by_state)
        return look(LIMIT_KERNEL_WAIT, 0.5);
    return look(LIMIT_COMPUTE, 0.6);
}

static struct limit_look limit_of_video(const struct limit_facts *f)
{
    const struct process *p = f->process;
    int64_t own = MAX_OF(reading_or(p->encoder_permille, 0), reading_or(p->decoder_permille, 0));
    int64_t whole = MAX_OF(reading_or(f->gpu->encoder_permille, 0), reading_or(f->gpu->decoder_permille, 0));
    bool known = p->encoder_permille.state == READING_OK || p->decoder_permille.state == READING_OK;
    int64_t video = known ? own : f->alone ? whole : 0;
    return video >= VIDEO_FULL && video > reading_or(f->util, 0) ? look(LIMIT_VIDEO, 0.8) : look(LIMIT_UNJUDGED, 0);
}

/* It would work more if it had the GPU alone, unless its own side keeps it waiting (limit_of_host). */
static bool is_crowded_out(const struct limit_facts *f)
{
    int64_t own = reading_or(f->util, 0);
    int64_t whole = reading_or(f->gpu->graphics_active_permille, reading_or(f->gpu->util_permille, own + f->others));
    return !f->alone && f->others >= 2 * SHARES_LEAST && own >= SHARES_LEAST / 2 && own + f->others / 4 < whole &&
           whole >= SHARED_FULL;
}

static struct limit_look limit_of_gpu(const struct limit_facts *f)
{
    struct limit_look found = limit_of_video(f);
    if (!found.code)
        found = limit_of_links(f);
    if (!found.code && is_crowded_out(f))
        found = look(LIMIT_OTHERS, f->process->util_permille.state == READING_OK ? 0.8 : 0.5);
    if (!found.code)
        found = f->counted ? limit_of_counted(f) : limit_of_rough(f);
    return found;
}

/* ---- the host ----
 * What keeps a program from giving its GPU work: its threads, loaders, files, quota. A thread at 100% proves nothing, since a
 * program spins while it waits for its GPU; it counts only where the GPU is not busy. */

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
        return look(LIMIT_UNJUDGED, 0);
    bool busy = of(h->child_busiest_permille) >= LOADER_BUSY;
    if (busy && h->compiler[0])
        return look(LIMIT_COMPILE, 0.85);
    if (is_loader(h->busiest_child)) /* some wait themselves, for a network or on purpose */
        return look(LIMIT_LOADERS, busy ? 0.9 : gave_work(f) ? 0.75 : 0.65);
    return busy && !is_server(f, h) ? look(are_like_loaders(h) ? LIMIT_LOADERS : LIMIT_PEER, 0.7) : look(LIMIT_UNJUDGED, 0);
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
    /* A rank that serves a rendezvous waits for the others, and at a lock: who asks nothing and who is late looks the same. */
    bool serves = is_server(f, h) && !(h->peer[0] && of(h->main_lock_permille) >= WAITS_MOST && !f->process->model[0]);
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

static struct limit_look limit_of_host(const struct limit_facts *f)
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

/* ---- both ---- */

static bool can_be_judged(const struct gpu *gpu, const struct process *p)
{
    return gpu->state == GPU_OK && !process_draws_desktop(p->name) && p->visible;
}

/* Copies through a node that the GPU is not connected to. */
static bool is_remote(const struct process *p)
{
    int64_t mine, its;
    const struct host_evidence *h = p->host;
    return h && reading_get(h->gpu_node, &its) && reading_get(h->cpu_node, &mine) && mine != its;
}

struct limit_look limit_detect(const struct gpu *gpu, const struct process *p, const struct host *host)
{
    enum { LINK_PART = 250, LINK_HALF = 500 };
    struct limit_facts f;
    if (!can_be_judged(gpu, p))
        return look(LIMIT_UNJUDGED, 0);
    limit_facts_collect(&f, gpu, p);
    f.host = host;
    struct limit_look found = limit_of_gpu(&f);
    int64_t busier = MAX_OF(reading_or(f.in, 0), reading_or(f.out, 0));
    bool copies = found.code == LIMIT_PCIE_IN || found.code == LIMIT_PCIE_OUT;
    /* Between sockets a copy gets a part of what the link carries; the thread that waits for it looks busy. */
    if (is_remote(p) && busier < LINK_HALF && (copies || (!found.code && f.alone && busier >= LINK_PART)))
        return look(LIMIT_NUMA, 0.65);
    if (!found.code)
        return limit_of_host(&f);
    if (found.code != LIMIT_OTHERS)
        return found;
    /* Beside others: one that waits for its own side would not go faster alone. */
    struct limit_look own = limit_of_host(&f);
    bool own_side =
        own.confidence >= 0.7 && limit_side(own.code) == LIMIT_SIDE_HOST && own.code != LIMIT_HOST_CPU && own.code != LIMIT_LAUNCH;
    return own_side ? own : found;
}

bool limit_wants_host(const struct gpu *gpu, const struct process *p)
{
    struct limit_facts f;
    if (!can_be_judged(gpu, p))
        return false;
    limit_facts_collect(&f, gpu, p);
    enum limit_side side = limit_side(limit_of_gpu(&f).code);
    return side != LIMIT_SIDE_GPU;
}

const char *limit_missing(const struct gpu *gpu, const struct process *p)
{
    struct limit_facts f;
    limit_facts_collect(&f, gpu, p);
    if (!p->host)
        return "what the process does on its host, which was not read";
    if (p->host->state != READING_OK)
        return "what the process does on its host, which whirr may not read here: run whirr with more rights, or ask the daemon";
    if (f.util.state != READING_OK)
        return "the process's share of the GPU, which the driver does not give";
    return f.counted ? NULL : "counters of the GPU's units, which this GPU or driver does not have";
}
