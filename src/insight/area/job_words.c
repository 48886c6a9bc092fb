/* SPDX-License-Identifier: Apache-2.0
 * The sentence about a job that waits.
 */
#include <stdio.h>

#include "insight/area/area.h"
#include "insight/area/job.h"

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

/* Behind the name of the process that is waited for. */
static const char *words_late(const struct job_wait *w, bool over)
{
    switch (w->why) {
    case LATE_STOPPED: return over ? "was stopped" : "is stopped";
    case LATE_SILENT: return over ? "did not answer the others" : "does not answer the others";
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
    if (w->late)
        return text_append(s, "%s %s waiting for %s, where %s %s", gpus, are, target, who, words_late(w, over));
    if (w->why == LATE_SILENT)
        return text_append(s, "%s %s waiting for %s of %s, which %s", gpus, are, target, who,
                           over ? "did not answer the others" : "does not answer the others");
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
    int32_t pid = w->late ? w->late->process->pid : w->job->members[0].process->pid;
    collect(c, f->gpu, w->late || w->ended.state == READING_OK ? FINDING_STRAGGLER : FINDING_RANKS_WAIT,
            lasting ? SEVERITY_WARNING : SEVERITY_NOTICE, w->confidence, pid, "%s", job_wait_words(w, f->over, words));
}
