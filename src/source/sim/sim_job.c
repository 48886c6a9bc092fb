/* SPDX-License-Identifier: Apache-2.0
 * Lifetimes and loads of jobs as functions of time.
 */
#include "source/sim/sim_job.h"

#include <math.h>

#include "base/cleanup.h"

enum { SALT_LEAK = 1, SALT_LEVEL, SALT_SAW, SALT_NOISE = 16 };

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

double sim_chance(uint64_t seed, uint64_t gpu, uint64_t what, int64_t n)
{
    uint64_t h = mix(mix(mix(seed ^ 0x5748495252ULL) + gpu * 0x1000193 + what) + (uint64_t)n);
    return (double)(h >> 11) * 0x1p-53;
}

double sim_noise(uint64_t seed, uint64_t gpu, uint64_t what, double t, double period)
{
    double x = t / period, floor_x = floor(x), part = x - floor_x;
    double a = sim_chance(seed, gpu, what, (int64_t)floor_x), b = sim_chance(seed, gpu, what, (int64_t)floor_x + 1);
    part = part * part * (3 - 2 * part);
    return 2 * (a + (b - a) * part) - 1;
}

static bool sim_where_has(struct sim_where where, int gpu)
{
    return where.every == 0 || gpu % where.every == where.nth;
}

/* The turn that started last at or before t; false before the first. */
static bool turn_at(const struct sim_when *when, double length, int gpu, double t, struct sim_life *ret)
{
    double first = when->from + when->stagger * gpu;
    if (t < first)
        return false;
    int64_t turn = when->every > 0 ? (int64_t)floor((t - first) / when->every) : 0;
    double began = first + (double)turn * when->every;
    *ret = (struct sim_life){turn, began, length > 0 ? began + length : HUGE_VAL};
    return true;
}

/* A leak ends when the card is full; the seed decides how long that takes, so that traces differ. */
static double leak_rate(const struct sim_world *w, const struct sim_job *j, size_t job, int gpu)
{
    double factor = 0.6 + sim_chance(w->seed, (uint64_t)gpu, SALT_LEAK + 64 * job, 0);
    return j->leak_share_per_min / 60 * factor; /* of the card, per second */
}

static double held_share(const struct sim_world *w, const struct sim_job *j, int gpu)
{
    return j->vram_share + j->vram_wobble + j->vram_saw + j->vram_mib / w->card[gpu]->vram;
}

static struct sim_when job_when(const struct sim_world *w, size_t job, int gpu)
{
    const struct sim_job *j = &w->scenario->jobs[job];
    struct sim_when when = j->when;
    if (j->leak_share_per_min <= 0)
        return when;
    double others = 0;
    for (size_t i = 0; i < w->scenario->job_count; i++)
        if (i != job && w->scenario->jobs[i].when.to <= 0 &&
            sim_where_has(w->scenario->jobs[i].where, gpu)) /* only jobs that stay */
            others += held_share(w, &w->scenario->jobs[i], gpu);
    /* Full whatever comes and goes: without the wobble, and with the 0.7 that the lowest tooth of a sawtooth reaches. */
    double own = held_share(w, j, gpu) - j->vram_wobble - 0.3 * j->vram_saw;
    double room = 1 - (double)w->card[gpu]->reserved / w->card[gpu]->vram - others - own;
    double fill_s = MAX_OF(room, 0.0) / leak_rate(w, j, job, gpu);
    when.to = when.from + j->load_s + fill_s + 20 + 1.3 * j->vram_saw_s;
    when.every = when.to - when.from + 30;
    return when;
}

/* The life in progress at t, or false. */
static bool sim_job_alive(const struct sim_world *w, size_t job, int gpu, double t, struct sim_life *ret)
{
    const struct sim_job *j = &w->scenario->jobs[job];
    if (!sim_where_has(j->where, gpu))
        return false;
    bool unused = j->pattern == LOAD_HELD || j->pattern == LOAD_PARKED;
    if (unused && (j->program->type & PROCESS_COMPUTE) && sim_advice(w, gpu, t) == ADVICE_ON_CONTEXT)
        return false;
    struct sim_when when = job_when(w, job, gpu);
    return turn_at(&when, when.to > 0 ? when.to - when.from : 0, gpu, t, ret) && t < ret->ends;
}

bool sim_job_ended(const struct sim_world *w, size_t job, int gpu, double t, struct sim_life *ret)
{
    const struct sim_job *j = &w->scenario->jobs[job];
    struct sim_when when = job_when(w, job, gpu);
    if (!sim_where_has(j->where, gpu) || when.to <= 0 || !turn_at(&when, when.to - when.from, gpu, t, ret))
        return false;
    if (t < ret->ends) {
        if (ret->turn == 0)
            return false;
        *ret = (struct sim_life){ret->turn - 1, ret->began - when.every, ret->ends - when.every};
    }
    return true;
}

/* Above the kernel's maximum (2^22): a simulated pid never matches a real process. */
int32_t sim_job_pid(const struct sim_world *w, size_t job, int gpu, int64_t turn)
{
    enum { FIRST = 4200000, RANGE = 4000037 /* prime, so that the slots below don't collide */ };
    int64_t gpus = w->scenario->jobs[job].together ? 0 : gpu;
    int64_t slot = (turn * SIM_JOBS_MAX + (int64_t)job) * GPU_MAX + gpus;
    int64_t shift = (int64_t)(sim_chance(w->seed, 0, SALT_LEVEL, 0) * RANGE);
    return (int32_t)(FIRST + (slot % RANGE * 3571 + shift) % RANGE);
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The share of its level that the job requests at this age, 0 to 1. */
static double course(const struct sim_world *w, const struct sim_job *j, uint64_t gpu, uint64_t salt, double t, double age)
{
    /* A simulated year computes this for 32 million seconds: skip the noise that a pattern doesn't use. */
    const bool still = j->pattern == LOAD_HELD || j->pattern == LOAD_PARKED;
    const bool varies = j->pattern == LOAD_DESKTOP || j->pattern == LOAD_INFERENCE || j->pattern == LOAD_GAME;
    double slow = varies ? sim_noise(w->seed, gpu, salt, t, 17) : 0, quick = still ? 0 : sim_noise(w->seed, gpu, salt + 1, t, 1.7);
    switch (j->pattern) {
    case LOAD_HELD:
    case LOAD_PARKED: return 0;
    case LOAD_STEADY: return 1 + 0.02 * quick;
    case LOAD_DESKTOP: return clamp(0.55 + 0.3 * slow + 0.3 * quick, 0.02, 1) + (slow > 0.85 ? 1.2 : 0);
    case LOAD_TRAINING:
        if (age < j->load_s)
            return 0.04 + 0.03 * quick;
        if (fmod(age - j->load_s, 600) > 588)
            return 0.12 + 0.05 * quick; /* writes a checkpoint */
        return 1 + 0.025 * quick;
    case LOAD_INFERENCE:
        if (age < j->load_s)
            return 0.02;
        return clamp(0.5 + 0.45 * slow + 0.25 * quick, 0, 1);
    case LOAD_GAME:
        if (age < j->load_s)
            return 0.3 + 0.1 * quick;
        if (fmod(age - j->load_s, 420) > 390)
            return 0.35 + 0.05 * quick; /* menu */
        return 0.93 + 0.07 * slow + 0.04 * quick;
    case LOAD_BURSTS: {
        double length = 20 + 30 * sim_chance(w->seed, gpu, salt + 2, 0);
        double on = sim_chance(w->seed, gpu, salt + 3, (int64_t)floor(age / length)) < 0.5 ? 0 : 1;
        return on ? 1 + 0.03 * quick : 0.01;
    }
    }
    return 0;
}

/* Distance of a sawtooth below its top at this age: teeth have different heights. */
static double below_top(const struct sim_world *w, const struct sim_job *j, size_t job, int gpu, double age)
{
    double period = j->vram_saw_s * (0.7 + 0.6 * sim_chance(w->seed, (uint64_t)gpu, SALT_SAW + 64 * job, -1));
    double tooth = floor(age / period),
           height = 0.7 + 0.3 * sim_chance(w->seed, (uint64_t)gpu, SALT_SAW + 64 * job, (int64_t)tooth);
    return j->vram_saw * (1 - height * (age / period - tooth));
}

static double vram_of(const struct sim_world *w, const struct sim_job *j, size_t job, int gpu, double t, double age)
{
    double total = (double)w->card[gpu]->vram;
    double loaded = j->load_s > 0 ? clamp(age / j->load_s, 0.02, 1) : 1;
    double share = held_share(w, j, gpu) * loaded;
    if (j->leak_share_per_min > 0 && age > j->load_s) {
        /* It grows by allocations of some size, not smoothly. */
        double quantum = 0.002, grown = leak_rate(w, j, job, gpu) * (age - j->load_s);
        share += floor(grown / quantum) * quantum;
    }
    if (j->vram_wobble > 0)
        share -= j->vram_wobble * loaded * (0.5 - 0.5 * sim_noise(w->seed, (uint64_t)gpu, SALT_NOISE + 8 * job + 6, t, 25));
    if (j->vram_saw > 0)
        share -= loaded * below_top(w, j, job, gpu, age);
    return floor(share * total * 512) * 2048;
}

/* Of a program whose limit is gone. */
static const struct sim_job *unlimited(const struct sim_job *j, struct sim_job *copy)
{
    *copy = *j;
    copy->util = 0.95;
    copy->mem_util = MIN_OF(0.6, j->mem_util * copy->util / j->util);
    copy->power = MAX_OF(j->power, 0.8);
    return copy;
}

static struct sim_load load_of(const struct sim_world *w, size_t job, int gpu, double t, const struct sim_life *life)
{
    const struct sim_job *j = &w->scenario->jobs[job];
    struct sim_job copy;
    if (w->scenario->evidence_count && j->util > 0 && sim_advice(w, gpu, t) == ADVICE_ON_PROGRAM)
        j = unlimited(j, &copy);
    double age = t - life->began;
    uint64_t salt = SALT_NOISE + 8 * job;
    uint64_t chance_gpu = j->together ? 0 : (uint64_t)gpu;
    double part = clamp(course(w, j, chance_gpu, salt, t, age), 0, 2.5);
    double util = clamp(j->util * part, 0, 1);
    double at = j->util > 0 ? util / j->util : 0;
    double video =
        j->encode > 0 || j->decode > 0 ? clamp(0.92 + 0.08 * sim_noise(w->seed, (uint64_t)gpu, salt + 4, t, 5), 0, 1) : 0;
    double mem = j->mem_util * at;
    mem = mem > 0 ? clamp(mem * (1 + 0.04 * sim_noise(w->seed, (uint64_t)gpu, salt + 5, t, 3)), 0, 1) : 0;
    return (struct sim_load){.util = util,
                             .mem_util = mem,
                             .power = j->power * util,
                             .tensor = j->tensor * util,
                             .encode = j->encode * video,
                             .decode = j->decode * video,
                             .vram = vram_of(w, j, job, gpu, t, age)};
}

static void scale_to_one(struct sim_share *shares, size_t count, struct sim_load *sum)
{
    double factor = sum->util > 1 ? 1 / sum->util : 1;
    double mem = sum->mem_util > 1 ? 1 / sum->mem_util : 1;
    double encode = sum->encode > 1 ? 1 / sum->encode : 1, decode = sum->decode > 1 ? 1 / sum->decode : 1;
    for (size_t i = 0; i < count; i++) {
        struct sim_load *l = &shares[i].load;
        *l = (struct sim_load){
            l->util * factor, l->mem_util * mem, l->power * factor, l->tensor * factor, l->encode * encode, l->decode * decode,
            l->vram};
    }
    sum->util *= factor;
    sum->power *= factor;
    sum->tensor *= factor;
    sum->mem_util *= mem;
    sum->encode *= encode;
    sum->decode *= decode;
}

size_t sim_loads(const struct sim_world *w, int gpu, double t, struct sim_share shares[SIM_JOBS_MAX], struct sim_load *sum)
{
    size_t count = 0;
    *sum = (struct sim_load){0};
    double room = ((double)w->card[gpu]->vram - w->card[gpu]->reserved) * 1048576;
    for (size_t job = 0; job < w->scenario->job_count && count < SIM_JOBS_MAX; job++) {
        struct sim_life life;
        if (!sim_job_alive(w, job, gpu, t, &life))
            continue;
        struct sim_share *s = &shares[count++];
        *s = (struct sim_share){job, life, load_of(w, job, gpu, t, &life)};
        s->load.vram = MIN_OF(s->load.vram, room - sum->vram);
        *sum = (struct sim_load){sum->util + s->load.util,     sum->mem_util + s->load.mem_util, sum->power + s->load.power,
                                 sum->tensor + s->load.tensor, sum->encode + s->load.encode,     sum->decode + s->load.decode,
                                 sum->vram + s->load.vram};
    }
    scale_to_one(shares, count, sum);
    return count;
}

size_t sim_condition_count(const struct sim_world *w)
{
    return w->scenario->condition_count + w->fault_count;
}

const struct sim_condition *sim_condition(const struct sim_world *w, size_t i)
{
    size_t own = w->scenario->condition_count;
    return i < own ? &w->scenario->conditions[i] : &w->faults[i - own];
}

bool sim_condition_life(const struct sim_condition *c, int gpu, double t, struct sim_life *ret)
{
    double length = c->when.to > 0 ? c->when.to - c->when.from : 0;
    return sim_where_has(c->where, gpu) && turn_at(&c->when, length, gpu, t, ret) && t < ret->ends;
}

bool sim_has_trouble(const struct sim_world *w, enum sim_trouble_kind kind, int gpu, double t, double *ret_value, double *ret_since)
{
    bool found = false;
    if (sim_advice_ends(w, kind, gpu, t))
        return false;
    for (size_t i = 0; i < sim_condition_count(w); i++) {
        const struct sim_condition *c = sim_condition(w, i);
        struct sim_life life;
        if (c->kind != kind || !sim_condition_life(c, gpu, t, &life))
            continue;
        found = true;
        if (ret_value)
            *ret_value = c->value;
        if (ret_since)
            *ret_since = life.began;
    }
    return found;
}
