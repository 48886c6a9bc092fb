/* SPDX-License-Identifier: Apache-2.0
 * The judgement of activity. Knows readings and the minute before; not the words of an answer.
 */
#include "insight/facts/facts.h"

#include <math.h>

#include "base/cleanup.h"

enum { WINDOW_MS = 60000, SYMPTOM_MS = 30000, MEMORY_MS = 5000, LOADING_MS = 30000 };
/* Thresholds in permille: from below, from above, and at the first look. */
enum { LIGHT_UP = 80, LIGHT_DOWN = 50, LIGHT_FIRST = 65, BUSY_UP = 450, BUSY_DOWN = 300, BUSY_FIRST = 400 };
enum { SATURATED_UP = 950, SATURATED_DOWN = 900, BURST_LOW = 100, BURST_HIGH = 200 };
/* A first spell of work counts as a burst when it was no longer than this, as far as it was seen. */
enum { LOOKBACK_MS = 120000, BURST_MAX_MS = 30000 };
enum { LOADING_BYTES = 256 << 20, LOADING_CPU_PERMILLE = 300 };
/* A loading screen is drawn, too: so much work is still loading where memory fills fast. */
enum { LOADING_SHARE_MAX = 150, LOADING_FAST_BYTES = 1 << 30 };
#define LOADING_DISK_BYTES_PER_S 50000000

enum load { LOAD_NONE, LOAD_RESTS, LOAD_LITTLE, LOAD_MUCH, LOAD_ALL };

const struct recent_gpu *activity_past(const struct snapshot *now, const struct gpu *gpu, const struct recent *past)
{
    if (!past)
        return NULL;
    size_t position = (size_t)(gpu - now->gpus);
    for (size_t i = 0; i < past->gpu_count; i++) { /* from its own place on, where it usually is */
        const struct recent_gpu *other = &past->gpus[(position + i) % past->gpu_count];
        if (gpu_same(&other->id, &gpu->id))
            return other;
    }
    const struct gpu_id *id = position < past->gpu_count ? &past->gpus[position].id : NULL;
    return id && !id->uuid[0] && !id->pci_address[0] && !id->name[0] ? &past->gpus[position] : NULL;
}

/* The points that are judged: of the last minute, and of no process that has left. */
struct minute {
    const struct recent_gpu *past; /* NULL: none */
    int64_t now_ms, since_ms;
};

static bool was_at_work(const struct recent_process *p, int64_t now_ms)
{
    int64_t mean;
    if (p->worked_at.ms)
        return now_ms - p->worked_at.ms <= LOOKBACK_MS;
    return !reading_get(p->mean_util_permille, &mean) || mean >= RECENT_WORK_LEAST;
}

/* Start of the oldest running process; 0: unknown. */
static int64_t first_start(const struct gpu *gpu)
{
    if (gpu->processes_state != READING_OK || gpu->processes_hidden || gpu->processes_left_out || gpu->instance_count)
        return 0;
    int64_t first = gpu->process_count ? INT64_MAX : 0;
    for (size_t i = 0; i < gpu->process_count; i++)
        first = MIN_OF(first, gpu->processes[i].started_at.ms);
    return first;
}

/* What a program did that has ended says nothing about those still running. The sample in which it was missed still has a part of
 * its work: drivers average utilization over up to a second. */
static struct minute minute_of(const struct snapshot *now, const struct gpu *gpu, const struct recent *past)
{
    struct minute m = {activity_past(now, gpu, past), now->taken_at.ms, first_start(gpu)};
    for (size_t i = 0; past && i < MIN_OF(past->ended_count, (size_t)RECENT_ENDED); i++) {
        const struct recent_process *p = &past->ended[i];
        if (p->gpu_index == gpu->index && was_at_work(p, m.now_ms))
            m.since_ms = MAX_OF(m.since_ms, MAX_OF(p->last_seen.ms, p->missed_at.ms));
    }
    return m;
}

/* Its utilization in that moment, where it is one of the last `window_ms`. */
static bool minute_get(const struct minute *m, size_t i, int64_t window_ms, int64_t *util)
{
    const struct recent_point *p = &m->past->points[i];
    int64_t ago = m->now_ms - p->at.ms;
    return ago > 0 && ago <= window_ms && p->at.ms > m->since_ms && reading_get(p->util_permille, util);
}

static size_t minute_count(const struct minute *m)
{
    return m->past ? MIN_OF(m->past->count, (size_t)RECENT_POINTS) : 0;
}

static enum load first_look(double permille)
{
    return permille <= LIGHT_FIRST   ? LOAD_RESTS
           : permille <= BUSY_FIRST  ? LOAD_LITTLE
           : permille < SATURATED_UP ? LOAD_MUCH
                                     : LOAD_ALL;
}

static enum load step(enum load level, double permille)
{
    if (permille >= SATURATED_UP || (level == LOAD_ALL && permille >= SATURATED_DOWN))
        return LOAD_ALL;
    if (permille > BUSY_UP || (level >= LOAD_MUCH && permille >= BUSY_DOWN))
        return LOAD_MUCH;
    if (permille > LIGHT_UP || (level >= LOAD_LITTLE && permille > LIGHT_DOWN))
        return LOAD_LITTLE;
    return LOAD_RESTS;
}

/* The last minute on its way to now. */
struct walk {
    size_t points;
    int64_t last_ms;
    double followed; /* the load with a memory of MEMORY_MS */
    double sum, weight;
    bool low;
    unsigned rises;
    enum load before; /* as it was judged last; none: not judged yet */
    enum load level;
};

static void walk_on(struct walk *w, int64_t at_ms, int64_t permille)
{
    int64_t passed = w->points ? MAX_OF(at_ms - w->last_ms, (int64_t)1) : 1000;
    w->followed += ((double)permille - w->followed) * (1 - exp(-(double)passed / MEMORY_MS));
    w->level = step(w->level, w->followed);
    w->rises += w->low && permille >= BURST_HIGH;
    w->low = permille <= BURST_LOW || (w->low && permille < BURST_HIGH);
    w->sum += (double)permille * (double)MIN_OF(passed, (int64_t)15000);
    w->weight += (double)MIN_OF(passed, (int64_t)15000);
    w->last_ms = at_ms;
    w->points++;
}

/* The beginning of the minute: the load as the mean of all of it, since one reading says little. What was judged last is kept. */
static struct walk walk_begin(const struct minute *m, int64_t load)
{
    static const enum load of[ACTIVITY_COUNT] = {[ACTIVITY_IDLE] = LOAD_RESTS,
                                                 [ACTIVITY_LIGHTLY_LOADED] = LOAD_LITTLE,
                                                 [ACTIVITY_BUSY] = LOAD_MUCH,
                                                 [ACTIVITY_SATURATED] = LOAD_ALL};
    struct walk w = {0};
    double sum = (double)load;
    int64_t util;
    size_t count = 1;
    for (size_t i = 0; i < minute_count(m); i++) {
        if (!minute_get(m, i, WINDOW_MS, &util))
            continue;
        w.before = of[m->past->points[i].activity];
        sum += (double)util;
        count++;
    }
    w.followed = sum / (double)count;
    w.level = first_look(w.followed);
    return w;
}

/* Whether the minute begins within a burst: work that ends in it, and did not begin long before. Its rise lies outside. */
static bool begins_in_burst(const struct minute *m)
{
    int64_t began = 0, util;
    for (size_t i = 0; i < minute_count(m); i++) {
        const struct recent_point *p = &m->past->points[i];
        int64_t ago = m->now_ms - p->at.ms;
        if (!minute_get(m, i, LOOKBACK_MS, &util))
            continue;
        if (ago <= WINDOW_MS && !began && util < BURST_HIGH)
            return false;
        if (!began && util >= BURST_HIGH) {
            began = p->at.ms;
        } else if (began && util <= BURST_LOW) {
            if (ago <= WINDOW_MS)
                return p->at.ms - began <= BURST_MAX_MS;
            began = 0;
        }
    }
    return false;
}

static struct walk walk_minute(const struct minute *m, int64_t load)
{
    struct walk w = walk_begin(m, load);
    int64_t util;
    for (size_t i = 0; i < minute_count(m); i++)
        if (minute_get(m, i, WINDOW_MS, &util))
            walk_on(&w, m->past->points[i].at.ms, util);
    walk_on(&w, m->now_ms, load);
    w.rises += begins_in_burst(m);
    if (w.before != LOAD_NONE)
        w.level = step(w.before, w.followed);
    return w;
}

static enum load load_by_power(const struct gpu *gpu)
{
    switch (power_level(gpu)) {
    /* Little power of a divided GPU says little: one small instance at work hides in it. */
    case POWER_LOW: return reading_or(gpu->mig_enabled, 0) || gpu->instance_count ? LOAD_NONE : LOAD_RESTS;
    case POWER_WORK: return LOAD_MUCH;
    case POWER_RAISED:
    case POWER_UNKNOWN: break;
    }
    return LOAD_NONE;
}

static bool process_computes(const struct gpu *gpu)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        if (gpu->processes[i].type != PROCESS_GRAPHICS)
            return true;
    return false;
}

/* Displays, and no process that computes. */
static bool only_shows(const struct gpu *gpu)
{
    return !process_computes(gpu) && (reading_or(gpu->display_active, 0) || gpu->process_count);
}

/* Next to no work, and yet it is not at rest. Watts alone may be how this GPU idles (an Arc A770 at 45 W); a clock alone may be
 * stale on a GPU that sleeps. */
static bool is_kept(const struct gpu *gpu)
{
    bool by_state;
    int64_t power, share, clock, most;
    bool memory_up = reading_get(gpu->clock_memory_khz, &clock) && reading_get(gpu->clock_memory_max_khz, &most) && most > 0 &&
                     clock * 10 >= most * 9;
    if (power_level(gpu) >= POWER_RAISED && (memory_up || process_computes(gpu)))
        return true;
    bool draws =
        !reading_get(gpu->power_mw, &power) || power >= 20000 || (reading_get(power_share_permille(gpu), &share) && share >= 100);
    return draws && (clocks_are_high(gpu, &by_state) || (memory_up && only_shows(gpu)));
}

/* All processes have left: what was done until a moment ago is over, not hidden. */
static bool is_deserted(const struct gpu *gpu, int64_t load)
{
    return gpu->processes_state == READING_OK && !gpu->process_count && !gpu->processes_hidden && !gpu->instance_count &&
           load < PROCESS_IDLE_MAX;
}

static void judge_load(struct activity *a, const struct gpu *gpu, struct minute minute)
{
    static const enum activity_code codes[] = {[LOAD_NONE] = ACTIVITY_UNKNOWN,
                                               [LOAD_RESTS] = ACTIVITY_IDLE,
                                               [LOAD_LITTLE] = ACTIVITY_LIGHTLY_LOADED,
                                               [LOAD_MUCH] = ACTIVITY_BUSY,
                                               [LOAD_ALL] = ACTIVITY_SATURATED};
    bool direct;
    struct reading load = load_permille(gpu, &direct);
    enum load level = LOAD_NONE;
    if (load.state == READING_OK) {
        if (is_deserted(gpu, load.value))
            minute.past = NULL;
        struct walk w = walk_minute(&minute, load.value);
        a->bursts = w.rises >= 2;
        double mean = w.weight > 0 ? w.sum / w.weight : (double)load.value;
        a->load_permille = reading_ok((int64_t)((a->bursts ? mean : w.followed) + 0.5));
        level = a->bursts ? MAX_OF(w.before ? step(w.before, mean) : first_look(mean), LOAD_LITTLE) : w.level;
        /* What the visible processes add up to is not all there is. */
        if (!direct && power_level(gpu) == POWER_WORK)
            level = MAX_OF(level, LOAD_MUCH);
    } else {
        level = load_by_power(gpu);
    }
    int64_t video = MAX_OF(reading_or(gpu->encoder_permille, 0), reading_or(gpu->decoder_permille, 0));
    if (video >= VIDEO_LEAST && level <= LOAD_RESTS)
        level = LOAD_LITTLE;
    a->code = codes[level];
    bool little = level == LOAD_RESTS || (level == LOAD_LITTLE && reading_or(a->load_permille, 1000) <= AWAKE_MAX);
    if (little && !a->bursts && video < VIDEO_LEAST && load.state == READING_OK && is_kept(gpu))
        a->code = ACTIVITY_KEPT_FROM_IDLING;
}

/* What was so a moment ago and nearly still is, still is: a fan or a sensor at its threshold does not flicker. */
static bool lately(const struct snapshot *now, const struct recent_gpu *past, bool fan, int64_t least)
{
    for (size_t i = past ? MIN_OF(past->count, (size_t)RECENT_POINTS) : 0; i-- > 0;) {
        const struct recent_point *p = &past->points[i];
        int64_t ago = now->taken_at.ms - p->at.ms, value;
        if (ago > SYMPTOM_MS)
            return false;
        if (ago > 0 && reading_get(fan ? p->fan_permille : p->temp_mdegc, &value) && value >= least)
            return true;
    }
    return false;
}

static bool is_loud(const struct snapshot *now, const struct gpu *gpu, const struct recent_gpu *past)
{
    return fan_level(gpu) == FAN_LOUD ||
           (reading_or(gpu->fan_permille, 0) > FAN_RAISED_MAX - 50 && lately(now, past, true, FAN_RAISED_MAX + 1));
}

static bool is_hot(const struct snapshot *now, const struct gpu *gpu, const struct recent_gpu *past)
{
    int64_t temp = reading_or(gpu->temp_mdegc, 0), memory, limit;
    if (heat_level(gpu) >= HEAT_HOT)
        return true;
    if (reading_get(gpu->temp_memory_mdegc, &memory) &&
        memory >=
            (reading_get(gpu->temp_memory_limit_mdegc, &limit) && limit > 0 ? limit - HEAT_LIMIT_MARGIN : (int64_t)MEMORY_HOT_FROM))
        return true;
    int64_t from = heat_hot_from(gpu);
    return temp >= from - 3000 && temp > 0 && lately(now, past, false, from);
}

static int64_t slowed_by(const struct gpu *gpu)
{
    int64_t bits = reading_or(gpu->throttle_bits, 0), limit, normal;
    int64_t told = bits & (THROTTLE_HOT | THROTTLE_POWER_BRAKE | THROTTLE_HW_SLOWDOWN);
    /* At its stock limit, and at the current that its board allows, a GPU works as it was built. */
    if ((bits & THROTTLE_POWER_CAP) && reading_get(gpu->power_limit_mw, &limit) &&
        reading_get(gpu->power_limit_default_mw, &normal) && limit < normal)
        told |= THROTTLE_POWER_CAP;
    return told;
}

/* Graphics in a processor go on in the host's memory when their own small part is full. */
static bool memory_is_full(const struct gpu *gpu)
{
    int64_t used, total, moved, more;
    if (!reading_get(gpu->mem_used_bytes, &used) || !reading_get(gpu->mem_total_bytes, &total) || total <= 0)
        return false;
    if (gpu_shares_memory(gpu) && reading_get(gpu->gtt_used_bytes, &moved) && reading_get(gpu->gtt_total_bytes, &more)) {
        used += moved;
        total += more;
    }
    return used >= total / 1000 * MEMORY_FULL_PERMILLE;
}

static void judge_symptoms(struct activity *a, const struct snapshot *now, const struct gpu *gpu, const struct recent_gpu *past)
{
    a->throttled_by = slowed_by(gpu);
    const bool has[SYMPTOM_COUNT] = {
        [SYMPTOM_LOUD] = is_loud(now, gpu, past),    [SYMPTOM_HOT] = is_hot(now, gpu, past),
        [SYMPTOM_THROTTLING] = a->throttled_by != 0, [SYMPTOM_MEMORY_FULL] = memory_is_full(gpu),
        [SYMPTOM_UNUSUAL] = heat_is_unusual(gpu),
    };
    for (unsigned i = 0; i < SYMPTOM_COUNT; i++)
        a->symptoms |= has[i] ? 1u << i : 0;
}

struct activity activity_judge(const struct snapshot *now, const struct gpu *gpu, const struct recent *past)
{
    struct activity a = {0};
    switch (gpu->state) {
    case GPU_LOST: a.code = ACTIVITY_LOST; return a;
    case GPU_ASLEEP: a.code = ACTIVITY_ASLEEP; return a;
    case GPU_ERROR: a.code = gpu->released || gpu_is_denied(gpu) ? ACTIVITY_UNKNOWN : ACTIVITY_FAILING; return a;
    case GPU_OK: break;
    }
    struct minute minute = minute_of(now, gpu, past);
    judge_load(&a, gpu, minute);
    judge_symptoms(&a, now, gpu, minute.past);
    if (gpu_failure(gpu) != FAILURE_NONE)
        a.code = ACTIVITY_FAILING;
    return a;
}

bool activity_is_loud(const struct activity *a, const struct gpu *gpu, bool at_work)
{
    enum { LOUD_AT_WORK = 800 };
    bool expected = at_work && heat_level(gpu) < HEAT_HOT && !(a->symptoms & 1u << SYMPTOM_UNUSUAL);
    return a->symptoms & 1u << SYMPTOM_LOUD && (!expected || reading_or(gpu->fan_permille, 0) >= LOUD_AT_WORK);
}

bool activity_may_have_worked(const struct snapshot *now, const struct gpu *gpu, const struct process *p, const struct recent *past)
{
    struct minute m = minute_of(now, gpu, past);
    const struct recent_share *share = recent_share_of(m.past, p);
    int64_t busy_ms = 0, util;
    for (size_t i = 0; i < minute_count(&m); i++)
        if (minute_get(&m, i, LOOKBACK_MS, &util) && util >= BURST_HIGH)
            busy_ms = m.past->points[i].at.ms;
    if (!busy_ms)
        return true;
    if (share && share->first_seen.ms <= busy_ms)
        return share->worked_at.ms && m.now_ms - share->worked_at.ms <= LOOKBACK_MS;
    return p->started_at.ms <= busy_ms;
}

/* How much the memory of the process grew in the last half minute; that of the GPU where the process was not followed. */
static int64_t memory_growth(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                             const struct recent_gpu *past)
{
    const struct recent_share *share = recent_share_of(past, p);
    int64_t used, then;
    if (share && reading_get(p->mem_bytes, &used) && share->first_seen.ms < now->taken_at.ms)
        return used - share->older.mem_bytes;
    if (!past || !reading_get(gpu->mem_used_bytes, &used))
        return 0;
    for (size_t i = 0; i < MIN_OF(past->count, (size_t)RECENT_POINTS); i++) {
        int64_t ago = now->taken_at.ms - past->points[i].at.ms;
        if (ago > 0 && ago <= LOADING_MS && reading_get(past->points[i].mem_used_bytes, &then))
            return used - then;
    }
    return 0;
}

enum process_activity activity_of_process(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                                          const struct recent *past)
{
    int64_t share = 0, video = MAX_OF(reading_or(p->encoder_permille, 0), reading_or(p->decoder_permille, 0));
    bool known = reading_get(p->util_permille, &share);
    int64_t grown = memory_growth(now, gpu, p, activity_past(now, gpu, past));
    int64_t most = grown >= LOADING_FAST_BYTES ? LOADING_SHARE_MAX : SHARE_LEAST;
    if ((known && share >= most) || video >= SHARE_LEAST)
        return PROCESS_WORKING;
    /* What it does meanwhile shows on the CPU, else on the disks; where neither is read, memory that fills fast says enough. */
    const struct reading *cpu = &p->cpu_permille, *disk = &now->host.disk_read_bytes_per_s;
    bool stirs = cpu->state == READING_OK    ? cpu->value >= LOADING_CPU_PERMILLE
                 : disk->state == READING_OK ? disk->value >= LOADING_DISK_BYTES_PER_S
                                             : grown >= LOADING_FAST_BYTES;
    if (stirs && grown >= LOADING_BYTES && reading_or(p->mem_bytes, 0) >= grown / 2)
        return PROCESS_LOADING;
    if (!known)
        return PROCESS_ACTIVITY_UNKNOWN;
    return share >= PROCESS_IDLE_MAX ? PROCESS_WORKING : PROCESS_HOLDING;
}

void activity_fill(struct snapshot *now, const struct recent *past)
{
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct gpu *gpu = &now->gpus[i];
        gpu->activity = activity_judge(now, gpu, past);
        for (size_t p = 0; p < gpu->process_count; p++)
            gpu->processes[p].activity = activity_of_process(now, gpu, &gpu->processes[p], past);
        for (size_t k = 0; k < gpu->instance_count; k++) /* by the moment alone: their past is not kept */
            gpu->instances[k].activity = activity_judge(now, &gpu->instances[k], NULL);
    }
}
