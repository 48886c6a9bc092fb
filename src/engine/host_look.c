/* SPDX-License-Identifier: Apache-2.0
 * The thread that examines processes, and how the coordinator uses its answers.
 */
#include "engine/internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/mailbox.h"
#include "host/evidence/evidence.h"
#include "insight/area/limit.h"

enum {
    ANSWER_MS = 80, /* limit of a round; it usually takes under 1 ms */
    KEPT_MS = 5000, /* how long the last answer may replace a late one */
    JOBS_MAX = 4,
    CANDIDATES_MAX = 16,
    PREPARE_PAUSE_MS = 8,
    PREPARED_LOOKS_MAX = 16, /* then wait idle for a slow driver */
    QUICK_LOOKS = 3,
    QUICK_PAUSE_MS = 5,
};

enum look_kind { LOOK_PREPARE, LOOK_AT, LOOK_STOP };

struct look_job {
    enum look_kind kind;
    bool quick;
    int64_t gap_ms;       /* since the previous round */
    size_t count, wanted; /* the first `wanted` of them are examined */
    struct evidence_target targets[EVIDENCE_TARGETS_MAX];
};

struct look_answer {
    struct mono at;
    size_t count;
    struct look_item {
        struct evidence_target target;
        struct host_evidence evidence;
    } items[];
};

struct host_look {
    const struct env *env;
    struct mailbox *jobs, *answers, *ended;
    pthread_t thread;
    bool is_running; /* the thread exists */

    /* Owned by the coordinator. */
    bool is_asked; /* an answer is pending */
    struct mono round_at;
    struct look_answer *last;
};

/* ---- the thread ---- */

static struct look_answer *answer_new(const struct look_job *job)
{
    struct look_answer *a = calloc(1, sizeof *a + job->wanted * sizeof a->items[0]);
    if (a)
        a->count = job->wanted;
    return a;
}

static void look_once(struct evidence_reader *r, const struct look_job *job, struct look_answer *a)
{
    evidence_begin(
        r, &(struct evidence_round){
               .all = job->targets, .count = job->count, .looked_at = job->wanted, .quick = job->quick, .gap_ms = job->gap_ms});
    for (size_t i = 0; i < a->count; i++) {
        a->items[i].target = job->targets[i];
        evidence_look(r, &job->targets[i], &a->items[i].evidence);
    }
}

static bool has_rates(const struct look_answer *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].evidence.state == READING_OK && a->items[i].evidence.over_ms == 0)
            return false;
    return true;
}

/* A single look shows what a process waits for, but not how long: processes without rates yet get a few more. */
static void look_and_answer(struct host_look *h, struct evidence_reader *r, const struct look_job *job)
{
    struct look_answer *a = answer_new(job);
    if (a) {
        look_once(r, job, a);
        bool again = job->quick && !has_rates(a);
        for (int i = 1; again && i < QUICK_LOOKS; i++) {
            nanosleep(&(struct timespec){.tv_nsec = QUICK_PAUSE_MS * NS_PER_MS}, NULL);
            look_once(r, job, a);
        }
        a->at = clock_mono(h->env->clock);
    }
    mailbox_put(h->answers, a ? a : calloc(1, sizeof *a));
}

/* Examines likely processes until the next job arrives, and returns that job. Only the driver knows which processes use a GPU, but
 * those with its device file open are good candidates. */
static struct look_job *look_ahead(struct host_look *h, struct evidence_reader *r)
{
    AUTO_FREE struct look_job *job = calloc(1, sizeof *job);
    AUTO_FREE struct look_answer *a = NULL;
    if (job) {
        job->quick = true;
        job->wanted = evidence_candidates(r, job->targets, CANDIDATES_MAX);
        a = answer_new(job);
    }
    struct look_job *next = NULL;
    for (int i = 0; a && a->count && i < PREPARED_LOOKS_MAX && !next; i++) {
        look_once(r, job, a);
        next = mailbox_take(h->jobs, PREPARE_PAUSE_MS);
    }
    return next ? next : mailbox_take(h->jobs, -1);
}

static void *host_look_run(void *argument)
{
    struct host_look *h = argument;
    struct evidence_reader *r = evidence_new(h->env);
    struct look_job *job = mailbox_take(h->jobs, -1);
    while (r && job && job->kind != LOOK_STOP) {
        enum look_kind kind = job->kind;
        if (kind == LOOK_AT)
            look_and_answer(h, r, job);
        free(job);
        job = kind == LOOK_PREPARE ? look_ahead(h, r) : mailbox_take(h->jobs, -1);
    }
    free(job);
    evidence_free(r);
    mailbox_put(h->ended, h);
    return NULL;
}

/* ---- the coordinator ---- */

struct host_look *host_look_new(const struct env *env)
{
    struct host_look *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->env = env;
    h->jobs = mailbox_new(JOBS_MAX, free);
    h->answers = mailbox_new(JOBS_MAX, free);
    h->ended = mailbox_new(1, NULL);
    if (h->jobs && h->answers && h->ended)
        return h;
    host_look_free(h, 0);
    return NULL;
}

/* Starts the thread on demand: most commands have nothing to read. */
static bool host_look_start(struct host_look *h)
{
    if (!h->is_running)
        h->is_running = pthread_create(&h->thread, NULL, host_look_run, h) == 0;
    return h->is_running;
}

bool host_look_free(struct host_look *h, int64_t timeout_ms)
{
    if (!h)
        return false;
    struct look_job *stop = h->is_running ? calloc(1, sizeof *stop) : NULL;
    if (stop) {
        stop->kind = LOOK_STOP;
        mailbox_put(h->jobs, stop);
    }
    if (h->is_running && (!stop || !mailbox_take(h->ended, timeout_ms))) {
        pthread_detach(h->thread);
        return true; /* the thread still uses all of it */
    }
    if (h->is_running)
        pthread_join(h->thread, NULL);
    mailbox_free(h->jobs);
    mailbox_free(h->answers);
    mailbox_free(h->ended);
    free(h->last);
    free(h);
    return false;
}

void host_look_prepare(struct host_look *h)
{
    struct look_job *job = h->is_running ? NULL : calloc(1, sizeof *job);
    if (!job)
        return;
    job->kind = LOOK_PREPARE;
    if (host_look_start(h))
        mailbox_put(h->jobs, job);
    else
        free(job);
}

/* ---- choosing processes ---- */

static bool job_has(const struct look_job *job, const struct process *p)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->targets[i].pid == p->pid && job->targets[i].start_key == p->start_key)
            return true;
    return false;
}

static void job_add(struct look_job *job, const struct gpu *gpu, bool wanted)
{
    for (size_t i = 0; i < gpu->process_count && job->count < EVIDENCE_TARGETS_MAX; i++) {
        const struct process *p = &gpu->processes[i];
        if (!p->visible || p->pid <= 0 || job_has(job, p) || (wanted && !limit_wants_host(gpu, p)))
            continue;
        job->targets[job->count++] = (struct evidence_target){p->pid, p->start_key};
        job->wanted += wanted;
    }
}

/* Lists the processes to examine first, then the others. */
static void job_fill(struct look_job *job, const struct snapshot *s, const bool *is_here)
{
    for (int wanted = 1; wanted >= 0; wanted--)
        for (size_t g = 0; g < s->gpu_count; g++)
            if (is_here[g] && s->gpus[g].state == GPU_OK)
                job_add(job, &s->gpus[g], wanted);
}

/* ---- merging into the snapshot ---- */

/* The NUMA node of a GPU; sysfs says -1 on a host without nodes. */
static struct reading node_of(const struct env *env, const struct gpu *gpu)
{
    char path[96];
    int64_t node;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", gpu->id.pci_address);
    if (!gpu->id.pci_address[0] || file_read_i64(env, path, &node) < 0 || node < 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok(node);
}

static void add_evidence(struct gpu *gpu, const struct look_answer *a, struct reading node)
{
    for (size_t i = 0; i < gpu->process_count; i++) {
        struct process *p = &gpu->processes[i];
        for (size_t k = 0; k < a->count; k++) {
            const struct look_item *item = &a->items[k];
            if (item->target.pid == p->pid && item->target.start_key == p->start_key && process_evidence(p)) {
                *p->host = item->evidence;
                p->host->gpu_node = node;
            }
        }
    }
    for (size_t i = 0; i < gpu->instance_count; i++)
        add_evidence(&gpu->instances[i], a, node);
}

static void keep_answer(struct host_look *h, struct look_answer *a)
{
    if (!a)
        return;
    free(h->last);
    h->last = a;
    h->is_asked = false;
}

/* Takes the answer that came too late for its round. */
static void take_late(struct host_look *h)
{
    struct look_answer *a;
    while (h->is_asked && (a = mailbox_take(h->answers, 0)))
        keep_answer(h, a);
}

void host_look_add(struct host_look *h, struct snapshot *s, const bool *is_here, bool quick)
{
    struct look_job *job = calloc(1, sizeof *job);
    if (!job)
        return;
    job->kind = LOOK_AT;
    job->quick = quick;
    struct mono now = clock_mono(h->env->clock);
    job->gap_ms = h->round_at.ns ? mono_since_ms(now, h->round_at) : 0;
    h->round_at = now;
    job_fill(job, s, is_here);
    bool wanted = job->wanted > 0;
    take_late(h);
    if (wanted && !h->is_asked && host_look_start(h)) {
        mailbox_put(h->jobs, job);
        job = NULL;
        h->is_asked = true;
        keep_answer(h, mailbox_take(h->answers, ANSWER_MS));
    }
    free(job);
    if (!wanted || !h->last || mono_since_ms(clock_mono(h->env->clock), h->last->at) > KEPT_MS)
        return;
    for (size_t g = 0; g < s->gpu_count; g++)
        if (is_here[g])
            add_evidence(&s->gpus[g], h->last, node_of(h->env, &s->gpus[g]));
}
