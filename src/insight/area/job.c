/* SPDX-License-Identifier: Apache-2.0
 * Ranks that wait, and the one that they wait for.
 */
#include "insight/area/job.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/facts/levels.h"

/* Permille */
enum {
    BUSY_LEAST = 900,    /* of a GPU with a kernel that waits */
    SM_WAITS = 30,       /* at most, whatever else: nothing is computed */
    SM_COLLECTIVE = 300, /* at most: a collective's kernel takes up to 32 of 132 multiprocessors while it waits */
    PIPES_WAIT = 20,     /* at most, of what computes */
    DRAM_WAITS = 50,
    POWER_WAITS = 350,  /* of the limit, at most; 122 to 214 of 700 W were seen */
    COPIES_ENGINE = 30, /* at most: only copy engines are at work */
    SHARE_WAITS = 500,  /* of the time that was looked at */
    WORKS_LEAST = 500,  /* of the GPU's time, of one that computes */
    OTHERS_LEAST = 100, /* of the GPU's time, of programs that are not of the job */
};

/* ---- one rank ---- */

/* Some kernel is there all the time, and nothing is done. */
static bool gpu_waits(const struct gpu *gpu)
{
    int64_t util, sm, power;
    if (gpu->state != GPU_OK || !reading_get(gpu->util_permille, &util) || util < BUSY_LEAST ||
        reading_or(gpu->graphics_active_permille, 1000) <= COPIES_ENGINE)
        return false;
    if (counters_lag(gpu))
        return false;
    bool saves = reading_get(power_share_permille(gpu), &power) && power <= POWER_WAITS;
    if (!reading_get(gpu->sm_active_permille, &sm))
        return saves && (power <= POWER_OF_NO_WORK_PERMILLE || reading_or(gpu->mem_util_permille, 0) <= DRAM_WAITS);
    if (reading_or(gpu->dram_active_permille, 0) > DRAM_WAITS)
        return false;
    return sm <= SM_WAITS || (sm <= SM_COLLECTIVE && pipes_permille(gpu) <= PIPES_WAIT && saves);
}

/* The GPU's time that programs beside the job have. */
static int64_t share_of_others(const struct job_member *m)
{
    int64_t others = 0;
    for (size_t i = 0; i < m->gpu->process_count; i++)
        if (m->gpu->processes[i].pid != m->process->pid)
            others += reading_or(m->gpu->processes[i].util_permille, 0);
    return others;
}

static bool rank_waits(const struct job_member *m)
{
    const struct process_limit *limit = &m->process->limit;
    if (process_stands_stopped(m->process))
        return false;
    if ((limit->code == LIMIT_KERNEL_WAIT || limit->code == LIMIT_STRAGGLER_WAIT) && limit->share_permille >= SHARE_WAITS)
        return true;
    return gpu_waits(m->gpu) && share_of_others(m) < OTHERS_LEAST;
}

/* ---- why one is late ---- */

static bool is_slowed(const struct job_member *m)
{
    const int64_t slowed = THROTTLE_HOT | THROTTLE_POWER_BRAKE | THROTTLE_HW_SLOWDOWN;
    enum limit code = m->process->limit.code;
    return code == LIMIT_HEAT || code == LIMIT_CLOCKS || reading_or(m->gpu->throttle_bits, 0) & slowed;
}

static bool link_is_narrower(const struct job_wait *w, const struct job_member *late)
{
    int64_t lanes, links, other;
    for (size_t i = 0; i < w->job->count; i++) {
        const struct gpu *gpu = w->job->members[i].gpu;
        if (!w->waits[i])
            continue;
        if (reading_get(late->gpu->pcie_width, &lanes) && reading_get(gpu->pcie_width, &other) && lanes < other)
            return true;
        if (reading_get(late->gpu->nvlink_links_active, &links) && reading_get(gpu->nvlink_links_active, &other) && links < other)
            return true;
    }
    return false;
}

static enum late why_late(const struct job_wait *w, const struct job_member *m)
{
    const struct process *p = m->process;
    enum limit_side side = limit_side(p->limit.code);
    if (m->gpu->state == GPU_LOST || m->gpu->state == GPU_ERROR)
        return LATE_GPU;
    if (process_stands_stopped(p))
        return LATE_STOPPED;
    if (side == LIMIT_SIDE_HOST)
        return LATE_LIMIT;
    if (is_slowed(m))
        return LATE_SLOWED;
    if (link_is_narrower(w, m))
        return LATE_LINK;
    if (side == LIMIT_SIDE_LINK)
        return LATE_LIMIT;
    if (p->limit.code == LIMIT_OTHERS || share_of_others(m) >= OTHERS_LEAST)
        return LATE_SHARED;
    int64_t util;
    if (!reading_get(m->gpu->util_permille, &util))
        return LATE_UNKNOWN;
    return util >= WORKS_LEAST ? LATE_COMPUTES : util <= IDLE_MAX ? LATE_IDLE : LATE_UNKNOWN;
}

/* That the others wait is seen; how well it is known for what. */
static double confidence_of(enum late why)
{
    switch (why) {
    case LATE_GPU:
    case LATE_STOPPED: return 0.95;
    case LATE_SILENT:
    case LATE_LIMIT:
    case LATE_SLOWED:
    case LATE_LINK: return 0.9;
    case LATE_ENDED:
    case LATE_SHARED:
    case LATE_IDLE: return 0.87;
    case LATE_UNKNOWN:
    case LATE_COMPUTES: break;
    }
    return 0.85;
}

/* ---- a job ---- */

/* The one number that is missing between the ranks of this host. Ranks are dealt out to hosts in one piece. */
static struct reading missing_rank(const struct job *job)
{
    int64_t before = -1, missing = -1, first = -1;
    for (size_t i = 0; i < job->count; i++) {
        int64_t rank;
        if (!reading_get(job->members[i].process->rank, &rank))
            return reading_absent(READING_UNREAD);
        if (first < 0)
            first = rank;
        if (before >= 0 && rank > before + 1) {
            if (missing >= 0 || rank != before + 2)
                return reading_absent(READING_UNREAD);
            missing = before + 1;
        }
        before = rank;
    }
    /* All others of the job are here: then the first or the last may be missing, too. */
    int64_t size = reading_or(job->world_size, 0);
    if (missing < 0 && size > 1 && (int64_t)job->processes == size - 1)
        missing = first == 1 ? 0 : before == size - 2 ? size - 1 : -1;
    return missing >= 0 ? reading_ok(missing) : reading_absent(READING_UNREAD);
}

/* A rank that does not answer is the one, whether it is on this host or not; what else shows of it says why. */
static void take_silent(struct job_wait *w)
{
    int64_t silent, rank;
    for (size_t i = 0; i < w->job->count; i++) {
        const struct job_member *m = &w->job->members[i];
        if (!reading_get(m->process->silent_rank, &silent))
            continue;
        for (size_t k = 0; k < w->job->count; k++)
            if (reading_get(w->job->members[k].process->rank, &rank) && rank == silent && !w->waits[k]) {
                enum late why = why_late(w, &w->job->members[k]);
                w->late = &w->job->members[k];
                w->why = confidence_of(why) > confidence_of(LATE_SHARED) ? why : LATE_SILENT;
                w->confidence = 0.95;
                return;
            }
        if (w->late)
            return;
        w->ended = reading_ok(silent);
        w->why = LATE_SILENT;
        w->confidence = 0.95;
        return;
    }
}

/* Of several that are late, one whose reason is known. */
static void choose_late(struct job_wait *w)
{
    for (size_t i = 0; i < w->job->count; i++) {
        if (w->waits[i])
            continue;
        enum late why = why_late(w, &w->job->members[i]);
        w->late_count++;
        if (w->late && confidence_of(why) <= w->confidence)
            continue;
        w->late = &w->job->members[i];
        w->why = why;
        w->confidence = confidence_of(why);
    }
}

/* Most of its ranks wait: for the others, or for what is not on this host. */
static bool judge_job(struct job_wait *w)
{
    size_t others = w->job->count - w->waiting;
    if (!w->waiting || (w->job->count > 2 && others * 2 >= w->job->count))
        return false;
    if (others) {
        choose_late(w);
        take_silent(w);
        return true;
    }
    w->ended = missing_rank(w->job);
    w->why = w->ended.state == READING_OK ? LATE_ENDED : LATE_UNKNOWN;
    w->confidence = confidence_of(w->why);
    take_silent(w);
    return true;
}

static bool any_waits(const struct snapshot *now)
{
    for (size_t g = 0; g < now->gpu_count; g++)
        for (size_t i = 0; i < now->gpus[g].process_count; i++)
            if (rank_waits(&(struct job_member){&now->gpus[g], &now->gpus[g].processes[i]}))
                return true;
    return false;
}

int job_waits_find(struct job_waits *ret, const struct snapshot *now)
{
    *ret = (struct job_waits){0};
    if (!any_waits(now))
        return 0;
    if (jobs_find(&ret->jobs, now) < 0)
        return -ENOMEM;
    size_t members = 0;
    for (size_t i = 0; i < ret->jobs.count; i++)
        members += ret->jobs.list[i].count;
    ret->list = calloc(ret->jobs.count + 1, sizeof *ret->list);
    ret->waits = calloc(members + 1, sizeof *ret->waits);
    if (!ret->list || !ret->waits) {
        job_waits_done(ret);
        return -ENOMEM;
    }
    bool *waits = ret->waits;
    for (size_t i = 0; i < ret->jobs.count; i++) {
        const struct job *job = &ret->jobs.list[i];
        struct job_wait *w = &ret->list[ret->count];
        *w = (struct job_wait){.job = job, .waits = waits};
        for (size_t k = 0; k < job->count; k++) {
            waits[k] = rank_waits(&job->members[k]);
            w->waiting += waits[k];
        }
        waits += job->count;
        ret->count += judge_job(w);
    }
    return 0;
}

void job_waits_done(struct job_waits *w)
{
    jobs_done(&w->jobs);
    free(w->list);
    free(w->waits);
    *w = (struct job_waits){0};
}

const struct job_wait *job_waits_of(const struct job_waits *w, const struct gpu *gpu, bool late)
{
    for (size_t i = 0; w && i < w->count; i++) {
        const struct job_wait *one = &w->list[i];
        if (late && job_wait_gpu(one)->index == gpu->index)
            return one;
        for (size_t k = 0; !late && k < one->job->count; k++)
            if (one->waits[k] && one->job->members[k].gpu->index == gpu->index)
                return one;
    }
    return NULL;
}

void job_waits_mark(const struct job_waits *w, struct snapshot *now)
{
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < w->list[i].job->count; k++) {
            const struct job_member *m = &w->list[i].job->members[k];
            if (!w->list[i].waits[k] || m->process->limit.code == LIMIT_UNJUDGED)
                continue;
            struct gpu *gpu = &now->gpus[m->gpu - now->gpus];
            gpu->processes[m->process - m->gpu->processes].limit.code = LIMIT_STRAGGLER_WAIT;
        }
}

const struct gpu *job_wait_gpu(const struct job_wait *w)
{
    return w->late ? w->late->gpu : w->job->members[0].gpu;
}
