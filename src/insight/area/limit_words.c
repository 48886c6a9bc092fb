/* SPDX-License-Identifier: Apache-2.0
 * Limits as people would say them, and their finding.
 */
#include "insight/area/limit_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"

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

/* "does nothing" is said of what was looked at, and neither worked nor computed. */
static bool say_rest(struct text *s, const struct gpu *gpu, const struct process *p)
{
    char bytes[SHORT_WORDS];
    bool sleeps = of_host(p, EVIDENCE_main_sleep_permille) >= 500, works = works_permille(gpu, p) >= 5;
    if (works)
        return sleeps ? text_append(s, "sleeps between its steps, %lld%% of the time",
                                    percent(of_host(p, EVIDENCE_main_sleep_permille)))
                      : text_append(s, "uses little of the GPU");
    const char *does = p->host && p->host->state == READING_OK ? "does nothing" : "was not seen at work";
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
    enum { LINK_FULL = 850 };
    int64_t capacity = limit_link_capacity(gpu), width, generation;
    int64_t bytes = reading_or(code == LIMIT_PCIE_IN ? gpu->pcie_rx_bytes_per_s : gpu->pcie_tx_bytes_per_s, 0);
    char amount[SHORT_WORDS];
    text_append(s, "moves %s %s the GPU", rate(bytes, amount), code == LIMIT_PCIE_IN ? "to" : "from");
    if (capacity && (double)bytes * 1000 >= (double)capacity * LINK_FULL && reading_get(gpu->pcie_width, &width) &&
        reading_get(gpu->pcie_generation_max, &generation))
        text_append(s, ", all that PCIe %lld.0 x%lld can carry", (long long)generation, (long long)width);
    return true;
}

static bool say_of_gpu(struct text *s, const struct gpu *gpu, const struct process *p)
{
    int64_t dram = reading_or(gpu->dram_active_permille, 0), power = reading_or(gpu->power_limit_mw, 0);
    switch (p->limit.code) {
    case LIMIT_BANDWIDTH:
        return dram ? text_append(s, "uses %lld%% of the GPU's memory bandwidth", percent(dram))
                    : text_append(s, "is limited by memory bandwidth");
    case LIMIT_POWER:
        return power ? text_append(s, "is limited by the power limit of %lld W", words_whole(power, 1000))
                     : text_append(s, "is limited by power");
    case LIMIT_NO_TENSOR: return text_append(s, "computes in single precision (FP32), without tensor cores");
    case LIMIT_COMPUTE: return text_append(s, "keeps the GPU computing");
    case LIMIT_HEAT: return text_append(s, "is slowed down by heat");
    case LIMIT_CLOCKS: return text_append(s, "is slowed down by low clocks");
    case LIMIT_VIDEO: return text_append(s, "keeps the video engine busy");
    default: return text_append(s, "is limited by %s", limit_words(p->limit.code));
    }
}

bool limit_say(struct text *s, const struct gpu *gpu, const struct process *p)
{
    const struct host_evidence *h = p->host;
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
    case LIMIT_MEMORY_PRESSURE: return text_append(s, "waits for memory of the host");
    case LIMIT_LAUNCH: return say_launch(s, gpu, p);
    case LIMIT_COMPILE: {
        const char *by = !h ? "" : h->compiler[0] ? h->compiler : h->code;
        return text_append(s, "compiles kernels%s%s%s", by[0] ? " (" : "", by, by[0] ? ")" : "");
    }
    case LIMIT_NUMA: return text_append(s, "copies through a NUMA node that the GPU is not connected to");
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT: return say_copies(s, gpu, p->limit.code);
    case LIMIT_NVLINK: return text_append(s, "is limited by NVLink");
    case LIMIT_SPILL: return text_append(s, "uses memory that has moved to the host");
    case LIMIT_KERNEL_WAIT: return text_append(s, "waits inside a kernel");
    case LIMIT_STRAGGLER_WAIT: return text_append(s, "waits for another rank of its job");
    case LIMIT_OTHERS: return text_append(s, "shares the GPU with other programs");
    case LIMIT_NO_REQUESTS: return text_append(s, "waits for requests");
    case LIMIT_NONE: return say_rest(s, gpu, p);
    case LIMIT_CANNOT_TELL: return text_append(s, "is not limited by the GPU; nothing shows what limits it");
    default: return say_of_gpu(s, gpu, p);
    }
}

bool limit_say_work(struct text *s, const struct gpu *gpu)
{
    enum { APART = 200 };
    int64_t util, work;
    if (!reading_get(gpu->util_permille, &util) || !reading_get(gpu->sm_active_permille, &work) || util - work < APART)
        return false;
    return text_append(s, "%lld%% busy, %lld%% at work", percent(util), percent(work));
}

/* ---- evidence ---- */

struct evidence_lines {
    size_t count;
    char (*lines)[WHY_LINE_SIZE];
};

__attribute__((format(gnu_printf, 2, 3))) static void line(struct evidence_lines *l, const char *format, ...)
{
    va_list args;
    if (l->count == WHY_EVIDENCE_MAX)
        return;
    va_start(args, format);
    vsnprintf(l->lines[l->count++], WHY_LINE_SIZE, format, args);
    va_end(args);
}

static void gpu_lines(struct evidence_lines *l, const struct gpu *gpu, const struct process *p)
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

static void wait_line(struct evidence_lines *l, const struct process *p)
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

static void code_line(struct evidence_lines *l, const struct process *p)
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

static void host_lines(struct evidence_lines *l, const struct process *p)
{
    const struct host_evidence *h = p->host;
    int64_t value;
    char amount[SHORT_WORDS], other[SHORT_WORDS];
    if (!h || h->state != READING_OK)
        return;
    wait_line(l, p);
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
    struct evidence_lines l = {0, lines};
    gpu_lines(&l, gpu, p);
    host_lines(&l, p);
    return l.count;
}

/* ---- findings ---- */

bool limit_finding(enum limit limit, enum finding_code *ret)
{
    switch (limit) {
    case LIMIT_HOST_CPU:
    case LIMIT_CPU_WORK:
    case LIMIT_ALLOCATION: *ret = FINDING_WAITS_FOR_HOST; return true;
    case LIMIT_PARTLY_ON_CPU: *ret = FINDING_PARTLY_ON_CPU; return true;
    case LIMIT_PEER: *ret = FINDING_WAITS_FOR_PEER; return true;
    case LIMIT_LOADERS: *ret = FINDING_WAITS_FOR_LOADERS; return true;
    case LIMIT_CPU_QUOTA: *ret = FINDING_CPU_QUOTA; return true;
    case LIMIT_DISK: *ret = FINDING_WAITS_FOR_DISK; return true;
    case LIMIT_NETWORK_FS: *ret = FINDING_WAITS_FOR_NETWORK_FS; return true;
    case LIMIT_MEMORY_PRESSURE: *ret = FINDING_WAITS_FOR_MEMORY; return true;
    case LIMIT_LAUNCH: *ret = FINDING_SMALL_KERNELS; return true;
    case LIMIT_COMPILE: *ret = FINDING_COMPILES; return true;
    case LIMIT_NUMA: *ret = FINDING_REMOTE_NODE; return true;
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT: *ret = FINDING_COPIES; return true;
    case LIMIT_NVLINK: *ret = FINDING_NVLINK_TRAFFIC; return true;
    case LIMIT_NO_TENSOR: *ret = FINDING_NO_TENSOR_CORES; return true;
    case LIMIT_SPILL: *ret = FINDING_MEMORY_SPILLED; return true;
    case LIMIT_KERNEL_WAIT: *ret = FINDING_NO_WORK_DONE; return true;
    default: return false;
    }
}

static bool is_said(const struct process *p)
{
    return p->limit.confidence >= LIMIT_SAID && p->limit.share_permille >= LIMIT_SAID_PERMILLE;
}

const struct process *limit_waiting(const struct gpu *gpu)
{
    const struct process *found = NULL;
    enum finding_code code;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (limit_side(p->limit.code) == LIMIT_SIDE_GPU && p->limit.code != LIMIT_NO_TENSOR)
            return NULL;
        if (is_said(p) && limit_finding(p->limit.code, &code) && (!found || gpu_process_order(p, found) < 0))
            found = p;
    }
    return found;
}

void rules_limit(const struct facts *f, struct why_part *part)
{
    char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE], text[WHY_TEXT_SIZE] = "", who[PROCESS_WORDS];
    enum finding_code code;
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        if (!is_said(p) || !limit_finding(p->limit.code, &code) || find_cause(part, code))
            continue;
        struct cause_draft d;
        struct text s = TEXT(text);
        size_t count = limit_evidence(f->gpu, p, lines);
        cause_begin(&d, part, code, p->limit.confidence);
        cause_process(&d, p);
        for (size_t k = 0; k < count; k++)
            support(&d, k == 0 ? p->limit.confidence : 0, "%s", lines[k]);
        limit_say(&s, f->gpu, p);
        text_append(&s, ": ");
        if (!limit_say_work(&s, f->gpu))
            text[s.len -= 2] = '\0';
        cause_end(&d, "%s %s.", process_words(p, LONG_NAME, who), text);
    }
}
