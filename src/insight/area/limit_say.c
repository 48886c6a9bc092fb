/* SPDX-License-Identifier: Apache-2.0
 * A limit in words: what the program does, the evidence, the finding, and what to do.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/limit.h"
#include "model/finding_code.h"

/* ---- words ---- */

static int64_t of_host(const struct process *p, enum evidence what)
{
    return p->host && p->host->state == READING_OK ? reading_or(p->host->metric[what], 0) : 0;
}

/* "1.2 GB/s" */
static const char *rate(int64_t bytes_per_s, char out[SHORT_WORDS])
{
    struct text s = {.at = out, .size = SHORT_WORDS};
    if (bytes_per_s >= 10000000000)
        text_append(&s, "%lld GB/s", words_whole(bytes_per_s, 1000000000));
    else if (bytes_per_s >= 1000000000)
        text_append(&s, "%.1f GB/s", (double)bytes_per_s / 1e9);
    else
        text_append(&s, "%lld MB/s", words_whole(bytes_per_s, 1000000));
    return out;
}

/* ---- what it does ---- */

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

static bool say_launch(struct text *s, const struct gpu *gpu, const struct process *p)
{
    int64_t engine, sm, driver = of_host(p, EVIDENCE_code_driver_permille);
    bool tiny = reading_get(gpu->graphics_active_permille, &engine) && reading_get(gpu->sm_active_permille, &sm) && sm * 2 < engine;
    if (tiny || !driver)
        return text_append(s, "launches kernels that are far too small for the GPU");
    return text_append(s, "spends its CPU time on launching kernels (%lld%% in the driver)", percent(driver));
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
    return text_append(s, writes > reads ? "saves to disk (%s)" : "reads from disk (%s)", rate(MAX_OF(reads, writes), amount));
}

static bool say_quota(struct text *s, const struct process *p)
{
    int64_t quota = of_host(p, EVIDENCE_quota_millicores);
    text_append(s, "is held by its container's CPU quota");
    if (quota)
        text_append(s, " of %.1f cores", (double)quota / 1000);
    return text_append(s, " for %lld%% of the time", percent(of_host(p, EVIDENCE_throttled_permille)));
}

static bool say_copies(struct text *s, const struct gpu *gpu, enum limit code)
{
    enum { LINK_ALL = 850 };
    int64_t capacity = limit_link_capacity(gpu), width;
    int64_t bytes = reading_or(code == LIMIT_PCIE_IN ? gpu->pcie_rx_bytes_per_s : gpu->pcie_tx_bytes_per_s, 0);
    char amount[SHORT_WORDS];
    text_append(s, "moves %s %s the GPU", rate(bytes, amount), code == LIMIT_PCIE_IN ? "to" : "from");
    if (capacity && (double)bytes * 1000 >= (double)capacity * LINK_ALL && reading_get(gpu->pcie_width, &width))
        text_append(s, ", all that PCIe %lld.0 x%lld can carry", (long long)limit_link_generation(gpu), (long long)width);
    return true;
}

/* What needs no number. */
static const char *const plain[LIMIT_COUNT] = {
    [LIMIT_NO_TENSOR] = "computes in single precision (FP32), without tensor cores",
    [LIMIT_COMPUTE] = "keeps the GPU computing",
    [LIMIT_HEAT] = "is slowed down by heat",
    [LIMIT_CLOCKS] = "is slowed down by low clocks",
    [LIMIT_VIDEO] = "keeps the video engine busy",
    [LIMIT_MEMORY_PRESSURE] = "waits for memory of the host",
    [LIMIT_NUMA] = "copies through a NUMA node that the GPU is not connected to",
    [LIMIT_NVLINK] = "is limited by NVLink",
    [LIMIT_SPILL] = "uses memory that has moved to the host",
    [LIMIT_KERNEL_WAIT] = "waits inside a kernel",
    [LIMIT_STRAGGLER_WAIT] = "waits for another rank of its job",
    [LIMIT_OTHERS] = "shares the GPU with other programs",
    [LIMIT_NO_REQUESTS] = "waits for requests",
    [LIMIT_CANNOT_TELL] = "is not limited by the GPU; nothing shows what limits it",
};

bool limit_say(struct text *s, const struct gpu *gpu, const struct process *p)
{
    const struct host_evidence *h = p->host;
    int64_t dram = reading_or(gpu->dram_active_permille, 0), power = reading_or(gpu->power_limit_mw, 0);
    if (process_stands_stopped(p))
        return text_append(s, "is stopped and uses nothing of the GPU but its memory");
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
    case LIMIT_LAUNCH: return say_launch(s, gpu, p);
    case LIMIT_COMPILE: {
        const char *by = !h ? "" : h->compiler[0] ? h->compiler : h->code;
        return text_append(s, "compiles kernels%s%s%s", by[0] ? " (" : "", by, by[0] ? ")" : "");
    }
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT: return say_copies(s, gpu, p->limit.code);
    case LIMIT_NONE: return say_rest(s, gpu, p);
    case LIMIT_BANDWIDTH:
        return dram ? text_append(s, "uses %lld%% of the GPU's memory bandwidth", percent(dram))
                    : text_append(s, "is limited by memory bandwidth");
    case LIMIT_POWER:
        return power ? text_append(s, "is limited by the power limit of %lld W", words_whole(power, 1000))
                     : text_append(s, "is limited by power");
    default: break;
    }
    if (plain[p->limit.code])
        return text_append(s, "%s", plain[p->limit.code]);
    return text_append(s, "is limited by %s", limit_words(p->limit.code));
}

/* "99% busy, 1% at work", where the units of the GPU were counted and the two differ; false: nothing to say. */
static bool limit_say_work(struct text *s, const struct gpu *gpu)
{
    enum { APART = 200 };
    int64_t util, work;
    if (!reading_get(gpu->util_permille, &util) || !reading_get(gpu->sm_active_permille, &work) || util - work < APART)
        return false;
    return text_append(s, "%lld%% busy, %lld%% at work", percent(util), percent(work));
}

/* ---- evidence ---- */

struct lines {
    size_t count, most;
    char (*at)[WHY_LINE_SIZE];
};

__attribute__((format(gnu_printf, 2, 3))) static void line(struct lines *l, const char *format, ...)
{
    va_list args;
    if (l->count == l->most)
        return;
    va_start(args, format);
    vsnprintf(l->at[l->count++], WHY_LINE_SIZE, format, args);
    va_end(args);
}

static void gpu_lines(struct lines *l, const struct gpu *gpu, const struct process *p)
{
    int64_t util, sm, tensor, dram, rx, tx;
    char in[SHORT_WORDS], out[SHORT_WORDS];
    if (reading_get(gpu->util_permille, &util) && reading_get(gpu->sm_active_permille, &sm))
        line(l, "the GPU was busy %lld%% of the time, its multiprocessors %lld%%", percent(util), percent(sm));
    else if (reading_get(gpu->util_permille, &util))
        line(l, "the GPU was busy %lld%% of the time", percent(util));
    if (reading_get(gpu->tensor_active_permille, &tensor) && reading_get(gpu->dram_active_permille, &dram))
        line(l, "tensor cores %lld%%, FP32 %lld%%, memory bandwidth %lld%%", percent(tensor),
             percent(reading_or(gpu->fp32_active_permille, 0)), percent(dram));
    if (reading_get(gpu->pcie_rx_bytes_per_s, &rx) && reading_get(gpu->pcie_tx_bytes_per_s, &tx) && MAX_OF(rx, tx) >= 1000000000)
        line(l, "PCIe: %s to the GPU, %s from it", rate(rx, in), rate(tx, out));
    if (p->limit.code == LIMIT_OTHERS && p->util_permille.state == READING_OK)
        line(l, "its share of the GPU is %lld%%", percent(p->util_permille.value));
}

static void wait_line(struct lines *l, const struct process *p)
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
        line(l, "its main thread: %s of the time", text);
}

static void code_line(struct lines *l, const struct process *p)
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
        line(l, "its CPU time: %s%s%s%s", text, p->host->code[0] ? " (" : "", p->host->code, p->host->code[0] ? ")" : "");
}

static void host_lines(struct lines *l, const struct process *p)
{
    const struct host_evidence *h = p->host;
    int64_t value;
    char amount[SHORT_WORDS], other[SHORT_WORDS];
    if (!h || h->state != READING_OK)
        return;
    wait_line(l, p);
    if (h->collective[0])
        line(l, "its job's own trace: %s", h->collective);
    if (reading_get(h->busiest_thread_permille, &value))
        line(l, "its busiest thread%s%s used %lld%% of a core", h->busiest_thread[0] ? " " : "", h->busiest_thread, percent(value));
    code_line(l, p);
    if (h->peer[0] && p->limit.code == LIMIT_PEER)
        line(l, "at the other end: %s", h->peer);
    if (p->limit.code == LIMIT_PARTLY_ON_CPU)
        line(l, "the model files that it has mapped have %s, it holds %s on the GPU",
             words_bytes(of_host(p, EVIDENCE_model_bytes), amount), words_bytes(reading_or(p->mem_bytes, 0), other));
    if (of_host(p, EVIDENCE_child_count))
        line(l, "%lld children used %lld%% of a core, the busiest%s%s %lld%%", (long long)of_host(p, EVIDENCE_child_count),
             percent(of_host(p, EVIDENCE_child_cpu_permille)), h->busiest_child[0] ? " " : "", h->busiest_child,
             percent(of_host(p, EVIDENCE_child_busiest_permille)));
    if (of_host(p, EVIDENCE_read_bytes_per_s) + of_host(p, EVIDENCE_write_bytes_per_s) >= 1000000)
        line(l, "disk: %s read, %s written", rate(of_host(p, EVIDENCE_read_bytes_per_s), amount),
             rate(of_host(p, EVIDENCE_write_bytes_per_s), other));
    if (of_host(p, EVIDENCE_throttled_permille) >= 10)
        line(l, "its container was stopped by the CPU quota for %lld%% of the time",
             percent(of_host(p, EVIDENCE_throttled_permille)));
    if (of_host(p, EVIDENCE_swap_bytes))
        line(l, "%s of its memory are in swap, %lld page faults a second", words_bytes(of_host(p, EVIDENCE_swap_bytes), amount),
             (long long)of_host(p, EVIDENCE_major_faults_per_s));
}

size_t limit_evidence(const struct gpu *gpu, const struct process *p, char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE])
{
    struct lines l = {0, WHY_EVIDENCE_MAX, lines};
    gpu_lines(&l, gpu, p);
    host_lines(&l, p);
    return l.count;
}

/* ---- findings ---- */

/* The finding that a limit is; false: it is none, or another area finds it. */
static bool limit_finding(enum limit limit, finding_code *ret)
{
    static const finding_code findings[LIMIT_COUNT] = {
        [LIMIT_UNJUDGED] = FINDING_CODE_COUNT,
#define LIMIT(name, code, side, finding, words, doing) [LIMIT_##name] = FINDING_##finding,
#include "model/limits.def"
#undef LIMIT
    };
    *ret = findings[limit];
    return *ret != FINDING_CODE_COUNT;
}

/* A limit is spoken of where it is likely, and for most of the time. */
static bool is_said(const struct process *p)
{
    return p->limit.confidence >= 0.6 && p->limit.share_permille >= 500;
}

const struct process *limit_waiting(const struct gpu *gpu)
{
    const struct process *found = NULL;
    finding_code code;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (limit_side(p->limit.code) == LIMIT_SIDE_GPU && p->limit.code != LIMIT_NO_TENSOR)
            return NULL;
        if (is_said(p) && limit_finding(p->limit.code, &code) && (!found || gpu_process_order(p, found) < 0))
            found = p;
    }
    return found;
}

static void rules_limit(const struct facts *f, struct why_part *part)
{
    char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE], text[WHY_TEXT_SIZE] = "", who[PROCESS_WORDS];
    finding_code code;
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        if (!is_said(p) || !limit_finding(p->limit.code, &code) || find_cause(part, code))
            continue;
        struct cause_draft d;
        struct text s = TEXT(text);
        size_t count = limit_evidence(f->gpu, p, lines);
        cause_begin(&d, part, code);
        cause_process(&d, p);
        for (size_t k = 0; k < count; k++)
            support(&d, k == 0 ? p->limit.confidence : 0, "%s", lines[k]);
        limit_say(&s, f->gpu, p);
        if (f->over) {
            char now[WHY_TEXT_SIZE];
            str_copy(now, sizeof now, str_from(text));
            s.len = 0;
            words_past(&s, now);
        }
        text_append(&s, ": ");
        if (!limit_say_work(&s, f->gpu))
            text[s.len -= 2] = '\0';
        cause_end(&d, ": %s %s", process_words(p, LONG_NAME, who), text);
    }
}

/* ---- advice: PyTorch's words only for Python programs, a vendor's command only on its GPUs ---- */

struct advice {
    const struct snapshot *now;
    const struct gpu *gpu;
    const struct process *process;
    bool python;
    int64_t cores;
    struct lines lines;
};

static int64_t workers(const struct advice *a)
{
    return a->cores ? MAX_OF(MIN_OF(a->cores / 2, (int64_t)16), (int64_t)2) : 8;
}

static void advise_thread(struct advice *a)
{
    if (of_host(a->process, EVIDENCE_runqueue_permille) >= 400)
        line(&a->lines, "Give it more CPU cores: other programs, or its own threads, use all of them.");
    else if (a->python)
        line(&a->lines, "If it prepares data there, let loader processes do that: DataLoader(num_workers=%lld, pin_memory=True)",
             (long long)workers(a));
    else
        line(&a->lines, "Move work off the thread that feeds the GPU, or give the GPU more at a time.");
}

/* What is given to the CPU by an optimizer, a tokenizer or a decoder is known to the program alone. */
static void advise_cpu_work(struct advice *a)
{
    line(&a->lines,
         a->python
             ? "Move what it computes there to the GPU (an optimizer, a decoder), or into processes that run beside the steps."
             : "Move what it computes there to the GPU, or let it run beside the steps.");
}

static void advise_partly(struct advice *a)
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
        line(&a->lines, "Free memory of the GPU: %s holds %s.", process_words(other, WITH_OWNER, who),
             words_bytes(other->mem_bytes.value, lacks));
    line(&a->lines, "Use a smaller quantization or a shorter context, so that %s more fit on the GPU.",
         words_bytes(missing, lacks));
}

static void advise_peer(struct advice *a)
{
    int64_t pid = of_host(a->process, EVIDENCE_peer_pid);
    if (pid)
        line(&a->lines, "See what it waits for: ps -o pid,stat,%%cpu,args -p %lld", (long long)pid);
    else if (a->process->host && a->process->host->peer[0])
        line(&a->lines, "Request the next answer before it is needed, or find out what is slow at the other end.");
    else
        line(&a->lines, "See what it waits for: sudo ls -l /proc/%d/fd", (int)a->process->pid);
}

static void advise_loaders(struct advice *a)
{
    int64_t count = of_host(a->process, EVIDENCE_child_count), cpu = of_host(a->process, EVIDENCE_child_cpu_permille);
    if (of_host(a->process, EVIDENCE_child_busiest_permille) < 300)
        line(&a->lines, "Read ahead (prefetch_factor), use more loaders, or move the data closer: the loaders are waiting, too.");
    else if (a->cores && cpu >= a->cores * 750)
        line(&a->lines, "All CPU cores are busy: store the data decoded, use a faster format, or decode on the GPU.");
    else
        line(&a->lines, "Use more loader processes (now %lld; num_workers=%lld), or a format that takes less CPU time.",
             (long long)count, (long long)MAX_OF(2 * count, workers(a)));
}

static void advise_disk(struct advice *a)
{
    if (of_host(a->process, EVIDENCE_write_bytes_per_s) > of_host(a->process, EVIDENCE_read_bytes_per_s))
        line(&a->lines, "Save less often, or while the next steps run (asynchronous checkpoints).");
    else
        line(&a->lines, "Read ahead in loader processes, or move the data to a faster disk or into memory.");
}

static void advise_copies(struct advice *a)
{
    int64_t capacity = limit_link_capacity(a->gpu), free_bytes;
    int64_t bytes = MAX_OF(reading_or(a->gpu->pcie_rx_bytes_per_s, 0), reading_or(a->gpu->pcie_tx_bytes_per_s, 0));
    char amount[SHORT_WORDS];
    if (capacity && bytes < capacity / 1000 * LINK_FULL)
        line(&a->lines, a->python ? "Copy from pinned memory, asynchronously: pin_memory=True and .to(device, non_blocking=True)"
                                  : "Copy from pinned memory, asynchronously: less than half of what the link can carry is used.");
    if (reading_get(a->gpu->mem_free_bytes, &free_bytes) && free_bytes >= 4LL << 30)
        line(&a->lines, "Keep the data on the GPU (%s are free), or copy less per step.", words_bytes(free_bytes, amount));
    else
        line(&a->lines, "Copy less per step.");
}

static void advise_numa(struct advice *a)
{
    int64_t node = of_host(a->process, EVIDENCE_gpu_node);
    line(&a->lines, "Bind it to the GPU's NUMA node: numactl --cpunodebind=%lld --membind=%lld COMMAND", (long long)node,
         (long long)node);
}

static void advise_clocks(struct advice *a)
{
    if (a->now->may_control || a->gpu->simulated)
        line(&a->lines, "Unlock the clocks: whirr set clocks stock --gpu %d", a->gpu->index);
    else if (strcmp(a->gpu->id.vendor, "nvidia") == 0 && !a->gpu->simulated)
        line(&a->lines, "Unlock the clocks: sudo nvidia-smi -i %d -rgc -rac", a->gpu->index);
    else
        line(&a->lines, "Set the clocks back to their default.");
}

static void advise_launch(struct advice *a)
{
    line(&a->lines, a->python ? "Use larger batches, or CUDA graphs: torch.compile(model, mode=\"reduce-overhead\")"
                              : "Give the GPU more per kernel: larger batches, fused kernels, or CUDA graphs.");
    if (a->python)
        line(&a->lines, "Avoid .item(), .cpu() and printing in every step: each waits for the GPU.");
}

size_t limit_advice(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE])
{
    struct advice a = {
        now, gpu, p, strncmp(p->name, "python", 6) == 0, reading_or(now->host.cpu_count, 0), {0, LIMIT_ADVICE_MAX, lines}};
    switch (p->limit.code) {
    case LIMIT_HOST_CPU: advise_thread(&a); break;
    case LIMIT_CPU_WORK: advise_cpu_work(&a); break;
    case LIMIT_PARTLY_ON_CPU: advise_partly(&a); break;
    case LIMIT_PEER: advise_peer(&a); break;
    case LIMIT_ALLOCATION:
        line(&a.lines, a.python && p->variables & VARIABLE_GROWING_MEMORY
                           ? "Keep memory between steps: no torch.cuda.empty_cache() in the loop; reuse tensors "
                             "(expandable_segments is set already)."
                       : a.python ? "Keep memory between steps: no torch.cuda.empty_cache() in the loop; reuse tensors, or set "
                                    "PYTORCH_ALLOC_CONF=expandable_segments:True"
                                  : "Allocate once and reuse: memory pools (cudaMallocAsync), or buffers that stay.");
        break;
    case LIMIT_LOADERS: advise_loaders(&a); break;
    case LIMIT_DISK: advise_disk(&a); break;
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT: advise_copies(&a); break;
    case LIMIT_LAUNCH: advise_launch(&a); break;
    case LIMIT_NUMA: advise_numa(&a); break;
    case LIMIT_CLOCKS: advise_clocks(&a); break;
    case LIMIT_COMPILE: line(&a.lines, "Keep shapes the same (pad them), so that kernels are compiled once."); break;
    case LIMIT_CPU_QUOTA:
        line(&a.lines, "Raise the CPU quota of its container (docker update --cpus, the CPU limit of its pod).");
        break;
    case LIMIT_NETWORK_FS: line(&a.lines, "Copy the data to a local disk before the run, or cache it there."); break;
    case LIMIT_MEMORY_PRESSURE: line(&a.lines, "Free memory on the host, or raise the memory limit of its container."); break;
    case LIMIT_NO_TENSOR:
        line(&a.lines, a.python ? "Allow TF32: torch.backends.cuda.matmul.allow_tf32 = True; or use bfloat16 (autocast)"
                                : "Allow TF32, or use a 16-bit format.");
        break;
    case LIMIT_KERNEL_WAIT:
        line(&a.lines, "A collective waits like that for a late rank; to find that rank: whirr ps --sort job");
        break;
    case LIMIT_OTHERS: line(&a.lines, "Give it a GPU of its own; who else is on it: whirr ps --gpu %d", gpu->index); break;
    case LIMIT_SPILL: line(&a.lines, "Use a smaller batch or model, or a GPU with more memory."); break;
    default: break;
    }
    return a.lines.count;
}

static enum remedy_code remedy_of_limit(enum limit limit)
{
    return limit == LIMIT_LOADERS  ? REMEDY_LOADERS
           : limit == LIMIT_NUMA   ? REMEDY_NUMA
           : limit == LIMIT_CLOCKS ? REMEDY_RESET_CLOCKS
                                   : REMEDY_PROGRAM;
}

void suggest_limits(const struct facts *f, struct why_part *part)
{
    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE];
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        finding_code code;
        if (!is_said(p) || !limit_finding(p->limit.code, &code))
            continue;
        part->remedy_root = code;
        size_t count = limit_advice(f->now, f->gpu, p, lines);
        for (size_t k = 0; k < count; k++)
            remedy_add(part, remedy_of_limit(p->limit.code), "%s", lines[k]);
    }
}

/* ---- the answer about a GPU that waits for its program, or is busy with something that is no work ---- */

static const char *state_of(const struct process *p)
{
    switch (p->limit.code) {
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT:
    case LIMIT_NUMA: return "copying, not computing";
    case LIMIT_KERNEL_WAIT: return "busy, but not at work";
    case LIMIT_NO_TENSOR: return "computing without tensor cores";
    case LIMIT_SPILL:
    case LIMIT_NVLINK: return "waiting for data";
    default: return "mostly waiting";
    }
}

/* A GPU with trouble of its own is spoken of first. */
bool answer_limit(struct text *s, const struct facts *f, struct why_part *part)
{
    const struct process *p = f->over || is_troubled(f) ? NULL : limit_waiting(f->gpu);
    char name[SHORT_WORDS], who[PROCESS_WORDS];
    struct why_brief *brief = &part->brief;
    if (!p)
        return false;
    struct text state = TEXT(brief->state), doing = TEXT(brief->doing);
    text_append(&state, "%s", state_of(p));
    text_append(&doing, "%s ", process_words(p, WITH_OWNER, who));
    limit_say(&doing, f->gpu, p);
    text_append(s, "%s is %s: %s.", words_gpu(f->gpu, true, name), brief->state, brief->doing);
    text_append(s, " ");
    struct text numbers = TEXT(brief->numbers);
    say_readings(&numbers, f, part, SAID_POWER | SAID_FAN, "");
    unsigned said = limit_say_work(s, f->gpu) ? SAID_LOAD : 0;
    say_readings(s, f, part, said, said ? ", " : "");
    return true;
}

const struct area area_limit = {.weigh = rules_limit};
