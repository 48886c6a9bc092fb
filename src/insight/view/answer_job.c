/* SPDX-License-Identifier: Apache-2.0
 * A job that waits: what is known of the rank that it waits for, and what to do about it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "insight/area/job.h"
#include "insight/view/answer.h"

static void job_evidence(struct why_cause *cause, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

static void job_evidence(struct why_cause *cause, const char *format, ...)
{
    va_list args;
    if (cause->evidence_count == WHY_EVIDENCE_MAX)
        return;
    va_start(args, format);
    vsnprintf(cause->evidence[cause->evidence_count++], WHY_LINE_SIZE, format, args);
    va_end(args);
}

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

static void describe_waiting(struct why_cause *cause, const struct job_wait *w)
{
    const struct gpu *gpu = NULL;
    for (size_t i = 0; i < w->job->count && !gpu; i++)
        gpu = w->waits[i] ? w->job->members[i].gpu : NULL;
    int64_t util, sm, power;
    if (gpu && reading_get(gpu->util_permille, &util) && reading_get(gpu->sm_active_permille, &sm))
        job_evidence(cause, "%zu of %zu wait: GPU %d is busy %lld%% of the time and %lld%% at work", w->waiting, w->job->count,
                     gpu->index, percent(util), percent(sm));
    else if (gpu && reading_get(gpu->util_permille, &util) && reading_get(gpu->power_mw, &power))
        job_evidence(cause, "%zu of %zu wait: GPU %d is busy %lld%% of the time at %lld W", w->waiting, w->job->count, gpu->index,
                     percent(util), words_whole(power, 1000));
    if (reading_or(w->job->world_size, 0) > (int64_t)w->job->processes)
        job_evidence(cause, "%zu of the job's %lld ranks are on this host", w->job->processes, (long long)w->job->world_size.value);
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
        job_evidence(cause, "%s: limited by %s, %lld%% of the time", who, limit_words(p->limit.code),
                     percent(p->limit.share_permille));
    else
        job_evidence(cause, "%s is the one that does not wait", who);
    if (h && h->mount[0])
        job_evidence(cause, "waits for %s", h->mount);
    if (h && h->busiest_thread[0] && reading_get(h->busiest_thread_permille, &value))
        job_evidence(cause, "thread %s: %lld%% of a core", h->busiest_thread, percent(value));
    if (w->why == LATE_LINK && reading_get(gpu->pcie_width, &value) && reading_get(gpu->pcie_width_max, &most))
        job_evidence(cause, "PCIe link of GPU %d: x%lld of x%lld", gpu->index, (long long)value, (long long)most);
    if (w->why == LATE_SLOWED && reading_get(gpu->clock_graphics_khz, &value))
        job_evidence(cause, "clock of GPU %d: %lld MHz", gpu->index, words_whole(value, 1000));
}

/* With the PID, for this rank and this reason. */
static void advise(struct why_part *part, const struct job_wait *w)
{
    char text[WHY_LINE_SIZE];
    int pid = w->late ? (int)w->late->process->pid : 0, gpu = job_wait_gpu(w)->index;
    switch (w->why) {
    case LATE_STOPPED: snprintf(text, sizeof text, "Let it go on: kill -CONT %d", pid); break;
    case LATE_ENDED:
        snprintf(text, sizeof text, "Look into the log of that rank: the job can't go on without it and has to be started again.");
        break;
    case LATE_SILENT:
        snprintf(text, sizeof text, "Look at that rank, its host and the network to it: the others get no answer (NCCL RAS).");
        break;
    case LATE_GPU: snprintf(text, sizeof text, "What is wrong with GPU %d: whirr health", gpu); break;
    case LATE_SLOWED:
    case LATE_LINK:
    case LATE_SHARED: snprintf(text, sizeof text, "What slows GPU %d down: whirr why --gpu %d -v", gpu, gpu); break;
    default:
        if (!w->late && reading_or(w->job->world_size, 0) <= (int64_t)w->job->processes)
            return;
        if (w->late)
            snprintf(text, sizeof text, "What that rank is doing: whirr why --gpu %d -v", gpu);
        else
            snprintf(text, sizeof text,
                     "Look at the other hosts of the job, and at the network between them: whirr why --fleet URL --job ID");
        break;
    }
    if (part->suggestion_count < WHY_SUGGESTIONS_MAX)
        part->suggestion_count++;
    memmove(part->suggestions[1], part->suggestions[0], (part->suggestion_count - 1) * sizeof part->suggestions[0]);
    snprintf(part->suggestions[0], sizeof part->suggestions[0], "%s", text);
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
        advise(part, late);
    }
    if (!waits || part->brief.trouble)
        return;
    part->waits = true;
    lead_with_wait(f, part, waits);
    snprintf(part->brief.state, sizeof part->brief.state, "waiting for %s", job_wait_target(waits, target));
    snprintf(part->brief.doing, sizeof part->brief.doing, "%s", process_words(waits->job->members[0].process, LONG_NAME, who));
}
