/* SPDX-License-Identifier: Apache-2.0
 * Ranks that wait, and the one that they wait for: found, said, and what to do.
 */
#include "insight/area/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "insight/facts/levels.h"
#include "model/finding_code.h"

/* Permille */
enum {
    BUSY_LEAST = 900,    /* of a GPU with a kernel that waits */
    SM_WAITS = 30,       /* at most, whatever else: nothing is computed */
    SM_COLLECTIVE = 300, /* at most: a collective's kernel takes up to 32 of 132 multiprocessors while it waits */
    PIPES_WAIT = 20,     /* at most, of what computes */
    DRAM_WAITS = 50,
    POWER_WAITS = 350,  /* of the limit, at most; 122 to 214 of 700 W were seen */
    COPIES_ENGINE = 30, /* at most: only copy engines are at work */
    SHARE_WAITS = 500,  /* of the observed time */
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
    case LATE_BEHIND:
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

/* The rank that a member knows to be late: its peers get no answer from it, or the job's traces show it behind. */
static enum late said_late(const struct process *p, int64_t *rank)
{
    if (reading_get(p->silent_rank, rank))
        return LATE_SILENT;
    return p->host && reading_get(p->host->late_rank, rank) ? LATE_BEHIND : LATE_UNKNOWN;
}

/* It is the one, whether it is on this host or not; what else shows of it says why. */
static void take_said(struct job_wait *w)
{
    int64_t said, rank;
    for (size_t i = 0; i < w->job->count; i++) {
        enum late how = said_late(w->job->members[i].process, &said);
        if (how == LATE_UNKNOWN)
            continue;
        for (size_t k = 0; k < w->job->count; k++)
            if (reading_get(w->job->members[k].process->rank, &rank) && rank == said && !w->waits[k]) {
                enum late why = why_late(w, &w->job->members[k]);
                w->late = &w->job->members[k];
                w->why = confidence_of(why) > confidence_of(LATE_SHARED) ? why : how;
                w->confidence = 0.95;
                return;
            }
        if (w->late)
            return;
        w->ended = reading_ok(said);
        w->why = how;
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
        take_said(w);
        return true;
    }
    w->ended = missing_rank(w->job);
    w->why = w->ended.state == READING_OK ? LATE_ENDED : LATE_UNKNOWN;
    w->confidence = confidence_of(w->why);
    take_said(w);
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

/* The GPU that stands for a job that waits: of the late rank, else of the first. */
static const struct gpu *job_wait_gpu(const struct job_wait *w)
{
    return w->late ? w->late->gpu : w->job->members[0].gpu;
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

/* ---- words ---- */

/* "GPU 3", "GPUs 0-2 and 4-7"; with many gaps "7 GPUs". */
static const char *words_gpus(const struct job_wait *w, bool waiting, char out[JOB_GPU_WORDS])
{
    bool has[GPU_MAX] = {false};
    size_t count = 0, runs = 0;
    for (size_t i = 0; i < w->job->count; i++) {
        int index = w->job->members[i].gpu->index;
        if (w->waits[i] != waiting || index < 0 || index >= GPU_MAX || has[index])
            continue;
        has[index] = true;
        count++;
    }
    for (int i = 0; i < GPU_MAX; i++)
        runs += has[i] && (i == 0 || !has[i - 1]);
    struct text s = {.at = out, .size = JOB_GPU_WORDS};
    out[0] = '\0';
    if (runs > 4) {
        text_append(&s, "%zu GPUs", count);
        return out;
    }
    text_append(&s, count > 1 ? "GPUs " : "GPU ");
    for (int i = 0, said = 0; i < GPU_MAX; i++) {
        int first = i;
        if (!has[i])
            continue;
        while (i + 1 < GPU_MAX && has[i + 1])
            i++;
        const char *between = said == 0 ? "" : said + 1 == (int)runs ? " and " : ", ";
        if (i > first + 1)
            text_append(&s, "%s%d-%d", between, first, i);
        else
            text_append(&s, i > first ? "%s%d, %d" : "%s%d", between, first, i);
        said++;
    }
    return out;
}

/* All of its ranks are on this host, as far as they say. */
static bool is_whole(const struct job *job)
{
    return reading_or(job->world_size, 0) <= (int64_t)job->processes;
}

const char *job_wait_target(const struct job_wait *w, char out[JOB_GPU_WORDS])
{
    int64_t rank;
    if (w->late)
        return words_gpus(w, false, out);
    if (reading_get(w->ended, &rank))
        snprintf(out, JOB_GPU_WORDS, "rank %lld", (long long)rank);
    else
        snprintf(out, JOB_GPU_WORDS, is_whole(w->job) ? "each other" : "another host or the network");
    return out;
}

/* Follows the name of the late process. */
static const char *words_late(const struct job_wait *w, bool over)
{
    switch (w->why) {
    case LATE_STOPPED: return over ? "was stopped" : "is stopped";
    case LATE_SILENT: return over ? "did not answer the others" : "does not answer the others";
    case LATE_BEHIND: return over ? "had not come to their collective" : "has not come to their collective";
    case LATE_LIMIT: return limit_doing(w->late->process->limit.code);
    case LATE_SLOWED: return over ? "ran on a GPU that was slowed down" : "runs on a GPU that is slowed down";
    case LATE_LINK: return over ? "had a narrower link than the others" : "has a narrower link than the others";
    case LATE_SHARED: return over ? "shared the GPU with other programs" : "shares the GPU with other programs";
    case LATE_COMPUTES: return over ? "was still computing" : "is still computing";
    case LATE_IDLE: return over ? "did nothing on the GPU" : "does nothing on the GPU";
    case LATE_GPU:
    case LATE_ENDED:
    case LATE_UNKNOWN: break;
    }
    return over ? "was late" : "is late";
}

static bool say_wait(struct text *s, const struct job_wait *w, bool over, const char *who)
{
    char gpus[JOB_GPU_WORDS], target[JOB_GPU_WORDS];
    const char *are = over ? w->waiting > 1 ? "were" : "was" : w->waiting > 1 ? "are" : "is";
    words_gpus(w, true, gpus);
    job_wait_target(w, target);
    if (w->late && w->why == LATE_GPU)
        return text_append(s, "%s %s waiting for %s, which %s", gpus, are, target,
                           w->late->gpu->state == GPU_LOST ? over ? "was lost" : "is lost"
                           : over                          ? "could not be read"
                                                           : "can't be read");
    if (w->late) {
        char late[SHORT_WORDS];
        struct text past = TEXT(late);
        const char *does = words_late(w, over);
        if (over && w->why == LATE_LIMIT)
            words_past(&past, does);
        return text_append(s, "%s %s waiting for %s, where %s %s", gpus, are, target, who, past.len ? late : does);
    }
    if (w->why == LATE_SILENT || w->why == LATE_BEHIND)
        return text_append(s, "%s %s waiting for %s of %s, which %s", gpus, are, target, who, words_late(w, over));
    if (w->why == LATE_ENDED)
        return text_append(s, "%s %s waiting for %s of %s, which has ended", gpus, are, target, who);
    if (is_whole(w->job))
        return text_append(s, "%s %s waiting for each other: no rank of %s %s computing", gpus, are, who, over ? "was" : "is");
    return text_append(s, "%s %s waiting for a rank of %s on another host, or for the network", gpus, are, who);
}

const char *job_wait_words(const struct job_wait *w, bool over, char out[JOB_WORDS])
{
    char who[PROCESS_WORDS];
    const struct process *first = (w->late ? w->late : &w->job->members[0])->process;
    struct text s = {.at = out, .size = JOB_WORDS};
    out[0] = '\0';
    if (!say_wait(&s, w, over, process_words(first, LONG_NAME, who))) /* names can be long */
        say_wait(&s, w, over, process_words(first, 0, who));
    return out;
}

void detect_job(const struct facts *f, struct collection *c)
{
    const struct job_wait *w = job_waits_of(f->waits, f->gpu, true);
    char words[JOB_WORDS];
    if (!w)
        return;
    /* What does not end by itself. */
    bool lasting = w->why == LATE_GPU || w->why == LATE_STOPPED || w->why == LATE_ENDED || w->why == LATE_SILENT;
    struct finding found = {.code = w->late || w->ended.state == READING_OK ? FINDING_STRAGGLER : FINDING_RANKS_WAIT,
                            .severity = lasting ? SEVERITY_WARNING : SEVERITY_NOTICE,
                            .confidence = w->confidence,
                            .gpu_index = f->gpu->index,
                            .pid = w->late ? w->late->process->pid : w->job->members[0].process->pid,
                            .power_mw = reading_or(f->gpu->power_mw, 0)};
    str_copy(found.headline, sizeof found.headline, str_from(job_wait_words(w, f->over, words))); /* of several GPUs */
    collect_finding(c, &found);
}

/* ---- what is known of the rank that it waits for, and what to do about it ---- */

/* "rank 3 (pid 5103)" */
static const char *words_rank(const struct process *p, char out[SHORT_WORDS])
{
    int64_t rank;
    if (reading_get(p->rank, &rank))
        snprintf(out, SHORT_WORDS, "rank %lld (pid %d)", (long long)rank, (int)p->pid);
    else
        snprintf(out, SHORT_WORDS, "pid %d", (int)p->pid);
    return out;
}

/* What the network cards of this host count, where another host or the network may be waited for. */
static void describe_network(struct why_cause *cause, const struct host *host)
{
    int64_t retries = reading_or(host->rdma_retries_per_s, 0), disordered = reading_or(host->rdma_disordered_per_s, 0),
            congested = reading_or(host->rdma_congested_per_s, 0);
    if (retries + disordered + congested > 0)
        cause_evidence(cause, "RDMA of this host, a second: %lld packets sent again, %lld out of order, %lld congestion notices",
                       (long long)retries, (long long)disordered, (long long)congested);
}

static void describe_waiting(struct why_cause *cause, const struct job_wait *w)
{
    const struct gpu *gpu = NULL;
    for (size_t i = 0; i < w->job->count && !gpu; i++)
        gpu = w->waits[i] ? w->job->members[i].gpu : NULL;
    int64_t util, sm, power;
    if (gpu && reading_get(gpu->util_permille, &util) && reading_get(gpu->sm_active_permille, &sm))
        cause_evidence(cause, "%zu of %zu wait: GPU %d is busy %lld%% of the time and %lld%% at work", w->waiting, w->job->count,
                       gpu->index, percent(util), percent(sm));
    else if (gpu && reading_get(gpu->util_permille, &util) && reading_get(gpu->power_mw, &power))
        cause_evidence(cause, "%zu of %zu wait: GPU %d is busy %lld%% of the time at %lld W", w->waiting, w->job->count, gpu->index,
                       percent(util), words_whole(power, 1000));
    for (size_t i = 0, said = 0; i < w->job->count && !said; i++) {
        const struct host_evidence *h = w->job->members[i].process->host;
        if (h && h->collective[0] && ++said)
            cause_evidence(cause, "the job's own trace: %s", h->collective);
    }
    if (!is_whole(w->job))
        cause_evidence(cause, "%zu of the job's %lld ranks are on this host", w->job->processes,
                       (long long)w->job->world_size.value);
}

static void describe_late(struct why_cause *cause, const struct job_wait *w)
{
    const struct gpu *gpu = w->late->gpu;
    const struct process *p = w->late->process;
    const struct host_evidence *h = p->host;
    int64_t value, most;
    char who[SHORT_WORDS];
    words_rank(p, who);
    if (limit_name(p->limit.code))
        cause_evidence(cause, "%s: limited by %s, %lld%% of the time", who, limit_words(p->limit.code),
                       percent(p->limit.share_permille));
    else
        cause_evidence(cause, "%s is the one that does not wait", who);
    if (h && h->mount[0])
        cause_evidence(cause, "waits for %s", h->mount);
    if (h && h->busiest_thread[0] && reading_get(h->busiest_thread_permille, &value))
        cause_evidence(cause, "thread %s: %lld%% of a core", h->busiest_thread, percent(value));
    if (w->why == LATE_LINK && reading_get(gpu->pcie_width, &value) && reading_get(gpu->pcie_width_max, &most))
        cause_evidence(cause, "PCIe link of GPU %d: x%lld of x%lld", gpu->index, (long long)value, (long long)most);
    if (w->why == LATE_SLOWED && reading_get(gpu->clock_graphics_khz, &value))
        cause_evidence(cause, "clock of GPU %d: %lld MHz", gpu->index, words_whole(value, 1000));
}

/* With the PID, for this rank and this reason. */
static void advise(struct why_part *part, const struct job_wait *w)
{
    char text[WHY_LINE_SIZE];
    int pid = w->late ? (int)w->late->process->pid : 0, gpu = job_wait_gpu(w)->index;
    switch (w->why) {
    case LATE_STOPPED: snprintf(text, sizeof text, "Let it go on: kill -CONT %d", pid); break;
    case LATE_ENDED:
        snprintf(text, sizeof text, "Read that rank's log, then start the job again: it can't go on without it.");
        break;
    case LATE_SILENT:
        snprintf(text, sizeof text, "Check that rank, its host and the network to it: the others get no answer (NCCL RAS).");
        break;
    case LATE_BEHIND:
        snprintf(text, sizeof text,
                 w->late ? "See what that rank is doing: whirr why %d" : "Check where that rank's code is, and its host.", pid);
        break;
    case LATE_GPU: snprintf(text, sizeof text, "What is wrong with GPU %d: whirr health", gpu); break;
    case LATE_SLOWED:
    case LATE_LINK:
    case LATE_SHARED: snprintf(text, sizeof text, "See what slows GPU %d down: whirr why --gpu %d -v", gpu, gpu); break;
    default:
        if (!w->late && is_whole(w->job))
            return;
        if (w->late)
            snprintf(text, sizeof text, "See what that rank is doing: whirr why %d", pid);
        else
            snprintf(text, sizeof text, "Check the job's other hosts and the network between them: whirr why --fleet URL --job ID");
        break;
    }
    part->remedy_root = FINDING_STRAGGLER;
    remedy_insert(part, 0, REMEDY_RANKS, text);
}

/* "GPU 0 is waiting for GPU 3: 100% busy, 1% at work." before what it is doing otherwise. */
static void lead_with_wait(const struct facts *f, struct why_part *part, const struct job_wait *w)
{
    char before[WHY_ANSWER_SIZE], name[SHORT_WORDS], target[JOB_GPU_WORDS], numbers[SHORT_WORDS] = "";
    int64_t util, sm;
    if (reading_get(f->gpu->util_permille, &util) && reading_get(f->gpu->sm_active_permille, &sm))
        snprintf(numbers, sizeof numbers, ": %lld%% busy, %lld%% at work", percent(util), percent(sm));
    str_copy(before, sizeof before, str_from(part->answer));
    if (!strstr(before, " waiting for "))
        snprintf(part->answer, sizeof part->answer, "%s %s waiting for %s%s. %s", words_gpu(f->gpu, true, name), is(f),
                 job_wait_target(w, target), numbers, before);
}

static struct why_cause *cause_of(struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (part->causes[i].code == FINDING_STRAGGLER || part->causes[i].code == FINDING_RANKS_WAIT)
            return &part->causes[i];
    return NULL;
}

void answer_job(const struct facts *f, struct why_part *part)
{
    const struct job_wait *late = job_waits_of(f->waits, f->gpu, true), *waits = job_waits_of(f->waits, f->gpu, false);
    struct why_cause *cause = late ? cause_of(part) : NULL;
    char target[JOB_GPU_WORDS], who[PROCESS_WORDS];
    if (cause) {
        cause->evidence_count = 0; /* the title of the finding */
        if (late->late)
            describe_late(cause, late);
        describe_waiting(cause, late);
        if (!is_whole(late->job))
            describe_network(cause, &f->now->host);
        advise(part, late);
    }
    if (!waits || part->brief.trouble)
        return;
    part->waits = true;
    lead_with_wait(f, part, waits);
    snprintf(part->brief.state, sizeof part->brief.state, "waiting for %s", job_wait_target(waits, target));
    snprintf(part->brief.doing, sizeof part->brief.doing, "%s", process_words(waits->job->members[0].process, LONG_NAME, who));
}
