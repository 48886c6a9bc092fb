/* SPDX-License-Identifier: Apache-2.0
 * The worker thread: opens its source for the first sample, reads the requested groups, keeps the others from before, and
 * identifies processes. Knows nothing about other sources.
 */
#include "engine/internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "host/identity.h"
#include "model/snapshot.h"
#include "source/sysfs/sysfs_card.h"

/* Room for one job and the final one that may follow it. */
enum { JOBS_MAX = 4 };

struct sample_job {
    enum job_kind kind;
    unsigned groups;
};

struct worker {
    const struct env *env;
    const struct source_ops *ops;
    char *params;
    size_t slot;
    struct mailbox *jobs, *results;
    struct mailbox *ended;            /* receives the worker itself when the thread is about to end */
    struct sample_job room[JOBS_MAX]; /* preallocated: submitting must never fail, as a caller waits for the answer */
    size_t asked;
    pthread_t thread;

    /* Owned by the thread. */
    struct source *source; /* NULL: closed */
    struct identity *identity;
    struct result *spare; /* to report out of memory */
    size_t gpu_count;
    struct gpu_id *ids;
    struct gpu *last;             /* last readings of each GPU, for groups that aren't read each time */
    struct reading *idle_mw;      /* observed idle draw of each GPU */
    struct engine_loads *read_at; /* engine loads of each GPU when its processes were read */
    unsigned known;
};

void result_free(struct result *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->gpu_count; i++)
        gpu_done(&r->gpus[i]);
    free(r->description);
    free(r);
}

/* The spare result, or else one as soon as there is memory: a caller waits for it. */
static struct result *result_without_memory(struct worker *w)
{
    struct result *r = TAKE(w->spare);
    while (!r) {
        nanosleep(&(struct timespec){.tv_nsec = 100 * NS_PER_MS}, NULL);
        r = calloc(1, sizeof *r);
    }
    r->rc = -ENOMEM;
    str_copy(r->message, sizeof r->message, STR("out of memory"));
    return r;
}

static struct result *result_new(struct worker *w, const struct sample_job *job, size_t gpu_count)
{
    struct result *r = calloc(1, sizeof *r + gpu_count * sizeof r->gpus[0]);
    if (!r) {
        r = result_without_memory(w);
        gpu_count = 0;
    }
    if (!w->spare)
        w->spare = calloc(1, sizeof *w->spare);
    r->slot = w->slot;
    r->kind = job->kind;
    r->groups = job->groups;
    r->gpu_count = gpu_count;
    r->open = w->source != NULL;
    return r;
}

static void forget_gpus(struct worker *w)
{
    for (size_t i = 0; i < w->gpu_count; i++)
        gpu_done(&w->last[i]);
    free(w->last);
    free(w->idle_mw);
    free(w->read_at);
    free(w->ids);
    w->last = NULL;
    w->idle_mw = NULL;
    w->read_at = NULL;
    w->ids = NULL;
    w->gpu_count = 0;
    w->known = 0;
}

static void close_source(struct worker *w)
{
    forget_gpus(w);
    if (w->source)
        w->ops->close(w->source);
    w->source = NULL;
}

static int list_gpus(struct worker *w, struct error *err)
{
    forget_gpus(w);
    struct gpu_id *ids = calloc(GPU_MAX, sizeof *ids);
    if (!ids)
        return error_set(err, -ENOMEM, "out of memory");
    int count = w->ops->list(w->source, ids, GPU_MAX);
    if (count < 0) {
        free(ids);
        return error_set(err, count, "cannot list the GPUs: %s", strerror(-count));
    }
    w->ids = ids;
    w->last = calloc((size_t)MAX_OF(count, 1), sizeof *w->last);
    w->idle_mw = calloc((size_t)MAX_OF(count, 1), sizeof *w->idle_mw);
    w->read_at = calloc((size_t)MAX_OF(count, 1), sizeof *w->read_at);
    if (!w->last || !w->idle_mw || !w->read_at)
        return error_set(err, -ENOMEM, "out of memory");
    w->gpu_count = (size_t)count;
    return 0;
}

static int open_source(struct worker *w, struct error *err)
{
    int rc = w->ops->open(w->env, w->params, &w->source, err);
    if (rc < 0) {
        w->source = NULL;
        return rc;
    }
    rc = list_gpus(w, err);
    if (rc < 0)
        close_source(w);
    return rc;
}

/* Copies the groups that this sample did not read from the previous one. */
static void keep_groups(struct gpu *now, const struct gpu *before, unsigned read)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (!(metric_table[i].group & read) && now->metric[i].state == READING_UNREAD)
            now->metric[i] = before->metric[i];
    if (!(read & GROUP_STATIC))
        for (size_t i = 0; i < PROPERTY_COUNT; i++)
            if (now->property[i].state == READING_UNREAD)
                now->property[i] = before->property[i];
    if (!(read & GROUP_PROCESS) && now->processes_state == READING_UNREAD) {
        struct gpu lists;
        if (gpu_copy(&lists, before) < 0)
            return;
        now->processes_state = before->processes_state;
        now->processes = TAKE(lists.processes);
        now->process_count = now->process_capacity = lists.process_count;
        now->processes_hidden = before->processes_hidden;
        now->processes_left_out = before->processes_left_out;
        lists.process_count = 0;
        gpu_done(&lists);
    }
}

static void copy_identity(struct process *to, const struct process *from)
{
    process_done(to);
    process_copy(to, from);
}

/* Copies identities to an instance: its processes are among those of its GPU, which are identified already. */
static void share_identities(const struct gpu *gpu, size_t index)
{
    struct gpu *instance = &gpu->instances[index];
    for (size_t i = 0; i < instance->process_count; i++)
        for (size_t k = 0; k < gpu->process_count; k++)
            if (gpu->processes[k].pid == instance->processes[i].pid && gpu->processes[k].instance == (int32_t)index)
                copy_identity(&instance->processes[i], &gpu->processes[k]);
}

/* Remembers the processes as read, then scales the shown ones to the GPU's present load and attributes its power. */
static void add_power(struct worker *w, size_t position, unsigned groups, struct gpu *out)
{
    gpu_done(&w->last[position]);
    if (gpu_copy(&w->last[position], out) < 0)
        w->last[position] = (struct gpu){0};
    if (groups & GROUP_PROCESS)
        engine_loads_note(out, &w->read_at[position]);
    else
        shares_follow(out, &w->read_at[position]);
    attribute_power(out, &w->idle_mw[position]);
}

/* Samples one GPU; returns the number of impossible readings. */
static unsigned read_gpu(struct worker *w, size_t position, unsigned groups, struct gpu *out)
{
    w->ops->sample(w->source, position, groups, out);
    out->id = w->ids[position];
    str_copy(out->source, sizeof out->source, str_from(out->source[0] ? out->source : w->ops->name));
    out->simulated = out->simulated || w->ops->simulated;
    if (out->state != GPU_OK)
        return 0;
    unsigned implausible = gpu_drop_implausible(out);
    board_limit_lanes(out);
    keep_groups(out, &w->last[position], groups);
    for (unsigned i = 0; i < METRIC_GROUPS; i++)
        out->group_read[i] = groups & 1u << i ? clock_mono(w->env->clock) : w->last[position].group_read[i];
    gpu_mark_absent(out, groups, READING_UNSUPPORTED);
    /* Processes of a simulated or recorded host are not on this one. */
    if ((groups & GROUP_PROCESS) && !w->ops->simulated && !w->ops->host)
        for (size_t i = 0; i < out->process_count; i++) {
            identity_fill(w->identity, &out->processes[i]);
            process_drop_implausible(&out->processes[i]); /* values from the kernel */
        }
    if (groups & GROUP_PROCESS)
        gpu_mark_shares_absent(out, READING_UNSUPPORTED);
    add_power(w, position, groups, out);
    if ((groups & GROUP_FAST) && !w->ops->host) /* a recording has its own value */
        out->effective_permille = gpu_effective_load(out);
    for (size_t i = 0; i < out->instance_count; i++) {
        struct gpu *instance = &out->instances[i];
        str_copy(instance->source, sizeof instance->source, str_from(out->source));
        instance->simulated = out->simulated;
        gpu_mark_absent(instance, groups, READING_UNSUPPORTED);
        share_identities(out, i);
    }
    memcpy(w->last[position].metric, out->metric, sizeof out->metric);
    return implausible;
}

static int worker_prepare(struct worker *w, unsigned *groups, struct error *err)
{
    int rc = 0;
    if (!w->source)
        rc = open_source(w, err);
    else if (w->ops->changed && w->ops->changed(w->source)) {
        *groups |= w->known; /* a new GPU needs all groups */
        rc = list_gpus(w, err);
    }
    if (rc == 0 && w->ops->refresh)
        rc = w->ops->refresh(w->source, *groups, err);
    return rc;
}

static void do_sample(struct worker *w, const struct sample_job *job)
{
    struct error err = {0};
    unsigned groups = job->groups;
    int rc = worker_prepare(w, &groups, &err);
    struct result *r = result_new(w, job, rc < 0 ? 0 : w->gpu_count);
    r->groups = groups;
    if (rc < 0) {
        r->rc = rc;
        str_copy(r->message, sizeof r->message, str_from(err.text[0] ? err.text : strerror(-rc)));
    } else if (r->rc == 0) {
        for (size_t i = 0; i < w->gpu_count; i++)
            r->implausible += read_gpu(w, i, groups, &r->gpus[i]);
        if (groups & GROUP_PROCESS)
            identity_sweep(w->identity);
        w->known |= groups & GROUP_ALL;
        if (w->ops->driver)
            w->ops->driver(w->source, &r->driver);
        if (w->ops->host)
            w->ops->host(w->source, &r->host);
        if (w->ops->events)
            r->event_count = w->ops->events(w->source, r->events, EVENTS_MAX);
    }
    r->known = w->known;
    r->open = w->source != NULL;
    mailbox_put(w->results, r);
}

static void do_describe(struct worker *w, const struct sample_job *job)
{
    struct result *r = result_new(w, job, 0);
    struct buf text = BUF(256 * 1024);
    if (w->source && w->ops->describe)
        w->ops->describe(w->source, &text);
    r->description = buf_take(&text);
    mailbox_put(w->results, r);
}

static void *worker_run(void *argument)
{
    struct worker *w = argument;
    for (;;) {
        struct sample_job *job = mailbox_take(w->jobs, -1);
        if (!job)
            continue;
        enum job_kind kind = job->kind;
        switch (kind) {
        case JOB_SAMPLE: do_sample(w, job); break;
        case JOB_DESCRIBE: do_describe(w, job); break;
        case JOB_CLOSE:
            close_source(w);
            mailbox_put(w->results, result_new(w, job, 0));
            break;
        case JOB_STOP: close_source(w); break;
        }
        if (kind == JOB_STOP) {
            mailbox_put(w->ended, w);
            return NULL;
        }
    }
}

/* Call only after the thread has ended. */
static void destroy(struct worker *w)
{
    mailbox_free(w->jobs);
    mailbox_free(w->ended);
    identity_free(w->identity);
    free(w->spare);
    free(w->params);
    free(w);
}

struct worker *worker_new(const struct env *env, const struct source_ops *ops, const char *params, bool show_secrets, size_t slot,
                          struct mailbox *results)
{
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    *w = (struct worker){.env = env, .ops = ops, .slot = slot, .results = results};
    w->params = strdup(params);
    w->jobs = mailbox_new(JOBS_MAX, NULL);
    w->ended = mailbox_new(1, NULL);
    w->identity = identity_new(env, show_secrets);
    w->spare = calloc(1, sizeof *w->spare);
    if (!w->params || !w->jobs || !w->ended || !w->identity || !w->spare || pthread_create(&w->thread, NULL, worker_run, w) != 0) {
        destroy(w);
        return NULL;
    }
    return w;
}

void worker_ask(struct worker *w, enum job_kind kind, unsigned groups)
{
    struct sample_job *job = &w->room[w->asked++ % JOBS_MAX];
    *job = (struct sample_job){kind, groups};
    mailbox_put(w->jobs, job);
}

bool worker_free(struct worker *w, int64_t timeout_ms)
{
    if (!w)
        return true;
    if (!mailbox_take(w->ended, timeout_ms)) {
        pthread_detach(w->thread);
        return false; /* the thread still uses all of it */
    }
    pthread_join(w->thread, NULL);
    destroy(w);
    return true;
}
