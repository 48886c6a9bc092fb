/* SPDX-License-Identifier: Apache-2.0
 * Limits of the GPU itself and of its links. Most are told by counters of the units; without them by power, memory activity and
 * traffic, with less confidence.
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
    LINK_FULL = 600,
    LINK_ONLY = 40, /* least, where nothing but copies is seen */
    LINK_SPILL = 250,
    VRAM_FULL = 960,
    NVLINK_FULL = 500,
    VIDEO_FULL = 600,
    CLOCKS_LOW_PERMILLE = 600, /* of the highest; below, with no reason that the driver gives */
    POWER_AT_LIMIT = 970,
    POWER_OF_WAITING = 190, /* at most: kernels that wait on an H200 draw 122 of 700 W */
    SHARED_FULL = 800,      /* of a GPU that several processes want */
    SHARES_LEAST = 100,     /* of a process that takes part */
};

static struct limit_look look(enum limit code, double confidence)
{
    return (struct limit_look){code, confidence};
}

int64_t limit_link_capacity(const struct gpu *gpu)
{
    enum { LANES_MAX = 32 };
    static const int64_t lane[] = {0, 250000000, 500000000, 985000000, 1969000000, 3938000000, 7563000000};
    int64_t generation = reading_or(gpu->pcie_generation_max, reading_or(gpu->pcie_generation, 0));
    int64_t width = reading_or(gpu->pcie_width, reading_or(gpu->pcie_width_max, 0));
    bool known = generation > 0 && generation < (int64_t)ARRAY_LEN(lane) && width > 0 && width <= LANES_MAX;
    return known ? lane[generation] * width : 0;
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

/* It would work more if it had the GPU alone, unless its own side keeps it waiting (limit_host.c). */
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
        found = look(LIMIT_OTHERS, f->process->util_permille.state == READING_OK ? 0.8 : 0.5);
    if (!found.code)
        found = f->counted ? limit_of_counted(f) : limit_of_rough(f);
    return found;
}
