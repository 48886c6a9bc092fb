/* SPDX-License-Identifier: Apache-2.0
 * What limits a program on its GPU and on the links of the GPU: arithmetic, memory, power, kernels that are too small, copies,
 * other programs. Counters of the units show most of it; without them, power, memory activity and traffic, with less confidence.
 */
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/limit.h"
#include "insight/facts/levels.h"

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
    LINK_FULL = 600,     /* of what a PCIe link carries */
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
    SMALL_ENGINE = 50,      /* the engine was in use for long enough to compare it with the multiprocessors */
};

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
static int64_t link_generation(const struct gpu *gpu)
{
    int64_t now = reading_or(gpu->pcie_generation, 0), most = reading_or(gpu->pcie_generation_max, now);
    int64_t moves = MAX_OF(reading_or(gpu->pcie_rx_bytes_per_s, 0), reading_or(gpu->pcie_tx_bytes_per_s, 0));
    bool stays = now && reading_or(gpu->util_permille, 0) >= LINK_AWAKE && moves <= capacity_of(gpu, now);
    return stays ? now : most;
}

static int64_t link_capacity(const struct gpu *gpu)
{
    return capacity_of(gpu, link_generation(gpu));
}

/* Where the link is not known: that of most hosts of today. */
static struct reading link_share(const struct gpu *gpu, struct reading rate)
{
    enum { USUAL_GB = 32 };
    int64_t capacity = link_capacity(gpu), bytes;
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

void limit_facts_collect(struct limit_facts *f, const struct gpu *card, const struct process *p)
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
    return limit_of(reading_or(f->in, 0) >= reading_or(f->out, 0) ? LIMIT_PCIE_IN : LIMIT_PCIE_OUT, confidence);
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
        return limit_of(LIMIT_SPILL, 0.75);
    if (nvlink_is_full(f->gpu) && reading_or(f->sm, 0) < SM_SMALL)
        return limit_of(LIMIT_NVLINK, 0.7);
    if (!f->alone)
        return limit_of(LIMIT_UNJUDGED, 0);
    if (f->counted && engine <= ENGINE_NONE && busier >= LINK_ONLY)
        return limit_of_pcie(f, busier >= LINK_FULL ? 0.95 : 0.85);
    if (busier >= LINK_FULL && reading_or(f->sm, 0) < ENGINE_FULL)
        return limit_of_pcie(f, f->counted ? 0.85 : 0.7);
    return limit_of(LIMIT_UNJUDGED, 0);
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
        return limit_of(LIMIT_HEAT, 0.9);
    if (is_at_power_limit(f))
        return limit_of(LIMIT_POWER, f->counted ? 0.9 : 0.75);
    return clocks_are_low(f->gpu) ? limit_of(LIMIT_CLOCKS, 0.85) : limit_of(LIMIT_UNJUDGED, 0);
}

static struct limit_look limit_of_counted(const struct limit_facts *f)
{
    int64_t engine = reading_or(f->engine, reading_or(f->util, 0)), sm = reading_or(f->sm, 0), dram = reading_or(f->dram, 0);
    if (engine < ENGINE_FULL)
        return limit_of(LIMIT_UNJUDGED, 0);
    if (sm <= SM_NONE && dram <= SM_NONE)
        return engine >= ENGINE_WAITS ? limit_of(LIMIT_KERNEL_WAIT, 0.85) : limit_of(LIMIT_LAUNCH, 0.7);
    if (dram >= DRAM_FULL && dram >= f->pipe)
        return limit_of(LIMIT_BANDWIDTH, 0.9);
    if (wants_tensor(f))
        return limit_of(LIMIT_NO_TENSOR, 0.85);
    struct limit_look slow = slowed(f);
    if (slow.code)
        return slow;
    if (sm <= SM_SMALL && dram <= SM_SMALL)
        return limit_of(LIMIT_LAUNCH, 0.6);
    return limit_of(LIMIT_COMPUTE, sm >= ENGINE_FULL ? 0.9 : 0.7);
}

static struct limit_look limit_of_rough(const struct limit_facts *f)
{
    int64_t util, share;
    bool by_state;
    if (!reading_get(f->util, &util) || util < ENGINE_FULL)
        return limit_of(LIMIT_UNJUDGED, 0);
    struct limit_look slow = slowed(f);
    if (slow.code)
        return slow;
    if (reading_or(f->gpu->mem_util_permille, 0) >= DRAM_FULL_ROUGH)
        return limit_of(LIMIT_BANDWIDTH, 0.6);
    /* Hardly more power than at rest, at full clocks: nothing is computed. */
    if (util >= STEADY_LEAST && reading_get(f->power, &share) && share <= POWER_OF_WAITING && clocks_are_high(f->gpu, &by_state) &&
        !by_state)
        return limit_of(LIMIT_KERNEL_WAIT, 0.5);
    return limit_of(LIMIT_COMPUTE, 0.6);
}

static struct limit_look limit_of_video(const struct limit_facts *f)
{
    const struct process *p = f->process;
    int64_t own = MAX_OF(reading_or(p->encoder_permille, 0), reading_or(p->decoder_permille, 0));
    int64_t whole = MAX_OF(reading_or(f->gpu->encoder_permille, 0), reading_or(f->gpu->decoder_permille, 0));
    bool known = p->encoder_permille.state == READING_OK || p->decoder_permille.state == READING_OK;
    int64_t video = known ? own : f->alone ? whole : 0;
    return video >= VIDEO_FULL && video > reading_or(f->util, 0) ? limit_of(LIMIT_VIDEO, 0.8) : limit_of(LIMIT_UNJUDGED, 0);
}

/* It would work more if it had the GPU alone, unless its own side keeps it waiting (limit_of_host). */
static bool is_crowded_out(const struct limit_facts *f)
{
    int64_t own = reading_or(f->util, 0);
    int64_t whole = reading_or(f->gpu->graphics_active_permille, reading_or(f->gpu->util_permille, own + f->others));
    return !f->alone && f->others >= 2 * SHARES_LEAST && own >= SHARES_LEAST / 2 && own + f->others / 4 < whole &&
           whole >= SHARED_FULL;
}

struct limit_look limit_of_gpu(const struct limit_facts *f)
{
    struct limit_look found = limit_of_video(f);
    if (!found.code)
        found = limit_of_links(f);
    if (!found.code && is_crowded_out(f))
        found = limit_of(LIMIT_OTHERS, f->process->util_permille.state == READING_OK ? 0.8 : 0.5);
    if (!found.code)
        found = f->counted ? limit_of_counted(f) : limit_of_rough(f);
    return found;
}

bool limit_kernels_are_tiny(const struct limit_facts *f)
{
    return f->counted && f->alone && reading_or(f->engine, 0) >= SMALL_ENGINE &&
           reading_or(f->sm, 0) * 2 < reading_or(f->engine, 0) && reading_or(f->dram, 0) * 2 < reading_or(f->engine, 0);
}

/* ---- in words ---- */

static bool say_launch(struct text *s, const struct gpu *gpu, const struct process *p)
{
    int64_t engine, sm, driver = of_host(p, EVIDENCE_code_driver_permille);
    bool tiny = reading_get(gpu->graphics_active_permille, &engine) && reading_get(gpu->sm_active_permille, &sm) && sm * 2 < engine;
    if (tiny || !driver)
        return text_append(s, "launches kernels that are far too small for the GPU");
    return text_append(s, "spends its CPU time on launching kernels (%lld%% in the driver)", percent(driver));
}

static bool say_copies(struct text *s, const struct gpu *gpu, enum limit code)
{
    enum { LINK_ALL = 850 };
    int64_t capacity = link_capacity(gpu), width;
    int64_t bytes = reading_or(code == LIMIT_PCIE_IN ? gpu->pcie_rx_bytes_per_s : gpu->pcie_tx_bytes_per_s, 0);
    char amount[SHORT_WORDS];
    text_append(s, "moves %s %s the GPU", limit_rate(bytes, amount), code == LIMIT_PCIE_IN ? "to" : "from");
    if (capacity && (double)bytes * 1000 >= (double)capacity * LINK_ALL && reading_get(gpu->pcie_width, &width))
        text_append(s, ", all that PCIe %lld.0 x%lld can carry", (long long)link_generation(gpu), (long long)width);
    return true;
}

bool limit_say_gpu(struct text *s, const struct gpu *gpu, const struct process *p)
{
    int64_t dram = reading_or(gpu->dram_active_permille, 0), power = reading_or(gpu->power_limit_mw, 0);
    switch (p->limit.code) {
    case LIMIT_LAUNCH: return say_launch(s, gpu, p);
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT: return say_copies(s, gpu, p->limit.code);
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
    case LIMIT_NVLINK: return text_append(s, "is limited by NVLink");
    case LIMIT_SPILL: return text_append(s, "uses memory that has moved to the host");
    case LIMIT_KERNEL_WAIT: return text_append(s, "waits inside a kernel");
    case LIMIT_STRAGGLER_WAIT: return text_append(s, "waits for another rank of its job");
    case LIMIT_OTHERS: return text_append(s, "shares the GPU with other programs");
    default: return text_append(s, "is limited by %s", limit_words(p->limit.code));
    }
}

void limit_gpu_lines(struct limit_lines *l, const struct gpu *gpu, const struct process *p)
{
    int64_t util, sm, tensor, dram, rx, tx;
    char in[SHORT_WORDS], out[SHORT_WORDS];
    if (reading_get(gpu->util_permille, &util) && reading_get(gpu->sm_active_permille, &sm))
        limit_add_line(l, "the GPU was busy %lld%% of the time, its multiprocessors %lld%%", percent(util), percent(sm));
    else if (reading_get(gpu->util_permille, &util))
        limit_add_line(l, "the GPU was busy %lld%% of the time", percent(util));
    if (reading_get(gpu->tensor_active_permille, &tensor) && reading_get(gpu->dram_active_permille, &dram))
        limit_add_line(l, "tensor cores %lld%%, FP32 %lld%%, memory bandwidth %lld%%", percent(tensor),
                       percent(reading_or(gpu->fp32_active_permille, 0)), percent(dram));
    if (reading_get(gpu->pcie_rx_bytes_per_s, &rx) && reading_get(gpu->pcie_tx_bytes_per_s, &tx) && MAX_OF(rx, tx) >= 1000000000)
        limit_add_line(l, "PCIe: %s to the GPU, %s from it", limit_rate(rx, in), limit_rate(tx, out));
    if (p->limit.code == LIMIT_OTHERS && p->util_permille.state == READING_OK)
        limit_add_line(l, "its share of the GPU is %lld%%", percent(p->util_permille.value));
}

/* ---- advice ---- */

static void advise_copies(struct limit_advice *a)
{
    int64_t capacity = link_capacity(a->gpu), free_bytes;
    int64_t bytes = MAX_OF(reading_or(a->gpu->pcie_rx_bytes_per_s, 0), reading_or(a->gpu->pcie_tx_bytes_per_s, 0));
    char amount[SHORT_WORDS];
    if (capacity && bytes < capacity / 1000 * LINK_FULL)
        limit_add_line(&a->lines,
                       a->python ? "Copy from pinned memory, asynchronously: pin_memory=True and .to(device, non_blocking=True)"
                                 : "Copy from pinned memory, asynchronously: less than half of what the link can carry is used.");
    if (reading_get(a->gpu->mem_free_bytes, &free_bytes) && free_bytes >= 4LL << 30)
        limit_add_line(&a->lines, "Keep the data on the GPU (%s are free), or copy less per step.",
                       words_bytes(free_bytes, amount));
    else
        limit_add_line(&a->lines, "Copy less per step.");
}

static void advise_clocks(struct limit_advice *a)
{
    if (a->now->may_control || a->gpu->simulated)
        limit_add_line(&a->lines, "Unlock the clocks: whirr set clocks stock --gpu %d", a->gpu->index);
    else if (strcmp(a->gpu->id.vendor, "nvidia") == 0 && !a->gpu->simulated)
        limit_add_line(&a->lines, "Unlock the clocks: sudo nvidia-smi -i %d -rgc -rac", a->gpu->index);
    else
        limit_add_line(&a->lines, "Set the clocks back to their default.");
}

static void advise_launch(struct limit_advice *a)
{
    limit_add_line(&a->lines, a->python ? "Use larger batches, or CUDA graphs: torch.compile(model, mode=\"reduce-overhead\")"
                                        : "Give the GPU more per kernel: larger batches, fused kernels, or CUDA graphs.");
    if (a->python)
        limit_add_line(&a->lines, "Avoid .item(), .cpu() and printing in every step: each waits for the GPU.");
}

void limit_advise_gpu(struct limit_advice *a)
{
    switch (a->process->limit.code) {
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT: advise_copies(a); break;
    case LIMIT_LAUNCH: advise_launch(a); break;
    case LIMIT_CLOCKS: advise_clocks(a); break;
    case LIMIT_NO_TENSOR:
        limit_add_line(&a->lines, a->python ? "Allow TF32: torch.backends.cuda.matmul.allow_tf32 = True; or use bfloat16 (autocast)"
                                            : "Allow TF32, or use a 16-bit format.");
        break;
    case LIMIT_KERNEL_WAIT:
        limit_add_line(&a->lines, "A collective waits like that for a late rank; to find that rank: whirr ps --sort job");
        break;
    case LIMIT_OTHERS:
        limit_add_line(&a->lines, "Give it a GPU of its own; who else is on it: whirr ps --gpu %d", a->gpu->index);
        break;
    case LIMIT_SPILL: limit_add_line(&a->lines, "Use a smaller batch or model, or a GPU with more memory."); break;
    default: break;
    }
}
