/* SPDX-License-Identifier: Apache-2.0
 * The trace, line by line: jobs by their fence, and what each waited for on its ring.
 */
#include "host/gpu_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { JOBS_MAX = 1 << 14, RINGS_MAX = 64, BACK_MAX = 512 };

struct queue_job {
    uint64_t fence;
    int32_t tid, ring;
    char name[QUEUE_NAME_SIZE];
    int64_t queued_ns, begun_ns, done_ns; /* begun: on the ring, after the one before it; 0: not yet */
};

struct queue_ring {
    char device[QUEUE_NAME_SIZE], name[QUEUE_RING_SIZE];
    int64_t free_ns; /* when its last job was done */
};

struct queue_trace {
    struct queue_job *jobs;
    size_t count;
    struct queue_ring rings[RINGS_MAX];
    size_t ring_count;
    struct queue_look *ret;
};

/* ---- lines ---- */

struct queue_line {
    int32_t tid;
    struct str name, event, rest;
    int64_t at_ns;
};

/* "glxgears:cs0-4242  [003] .....  81.250000: EVENT: rest"; with a thread group in between: "(   4242)". */
static bool parse_line(struct str line, struct queue_line *ret)
{
    struct str head, word, stamp = {0};
    int64_t tid, us;
    line = str_trim(line);
    if (!line.len || line.at[0] == '#' || !str_cut(&line, '[', &head))
        return false;
    head = str_trim(head);
    const char *group = memrchr(head.at, '(', head.len);
    if (group && str_ends(head, ")"))
        head = str_trim((struct str){head.at, (size_t)(group - head.at)});
    const char *dash = head.len ? memrchr(head.at, '-', head.len) : NULL;
    if (!dash || !str_to_i64((struct str){dash + 1, (size_t)(head.at + head.len - dash - 1)}, &tid) || tid < 0 || tid > INT32_MAX)
        return false;
    while (str_word(&line, &word))
        if (str_ends(word, ":")) {
            stamp = (struct str){word.at, word.len - 1};
            break;
        }
    if (!str_to_scaled(stamp, 1000000, &us) || !str_word(&line, &word) || !str_ends(word, ":"))
        return false;
    *ret = (struct queue_line){.tid = (int32_t)tid,
                               .name = {head.at, (size_t)(dash - head.at)},
                               .event = {word.at, word.len - 1},
                               .rest = line,
                               .at_ns = us * 1000};
    return true;
}

/* The value after "key=", up to a comma or a space. */
static struct str value_of(struct str text, const char *key)
{
    size_t len = strlen(key);
    const char *at = text.len ? memmem(text.at, text.len, key, len) : NULL;
    if (!at)
        return (struct str){0};
    struct str value = {at + len, text.len - (size_t)(at + len - text.at)};
    size_t end = 0;
    while (end < value.len && value.at[end] != ',' && value.at[end] != ' ')
        end++;
    return (struct str){value.at, end};
}

/* Newest first: few are under way at a time. A fence of old kernels is an address, which is used again. */
static struct queue_job *job_of(const struct queue_trace *t, struct str fence)
{
    uint64_t wanted = str_hash(fence);
    for (size_t i = t->count; fence.len && i > 0 && t->count - i < BACK_MAX; i--)
        if (t->jobs[i - 1].fence == wanted)
            return &t->jobs[i - 1];
    return NULL;
}

static int32_t ring_of(struct queue_trace *t, struct str device, struct str name)
{
    for (size_t i = 0; i < t->ring_count; i++)
        if (str_is(device, t->rings[i].device) && str_is(name, t->rings[i].name))
            return (int32_t)i;
    if (t->ring_count == RINGS_MAX)
        return -1;
    struct queue_ring *r = &t->rings[t->ring_count++];
    str_copy_clean(r->device, sizeof r->device, device);
    str_copy_clean(r->name, sizeof r->name, name);
    return (int32_t)t->ring_count - 1;
}

/* ---- waits ---- */

static void add_wait(struct queue_trace *t, const struct queue_job *waiter, const struct queue_job *holder, int64_t ns)
{
    struct queue_look *l = t->ret;
    struct queue_pair *p = NULL;
    if (ns <= 0)
        return;
    for (size_t i = 0; i < l->count && !p; i++)
        if (l->pairs[i].waiter == waiter->tid && l->pairs[i].holder == holder->tid &&
            strcmp(l->pairs[i].ring, t->rings[holder->ring].name) == 0 &&
            strcmp(l->pairs[i].device, t->rings[holder->ring].device) == 0)
            p = &l->pairs[i];
    if (!p && l->count == QUEUE_PAIRS_MAX)
        return;
    if (!p) {
        p = &l->pairs[l->count++];
        *p = (struct queue_pair){.waiter = waiter->tid, .holder = holder->tid};
        memcpy(p->waiter_name, waiter->name, sizeof p->waiter_name);
        memcpy(p->holder_name, holder->name, sizeof p->holder_name);
        memcpy(p->device, t->rings[holder->ring].device, sizeof p->device);
        memcpy(p->ring, t->rings[holder->ring].name, sizeof p->ring);
    }
    p->waited_ns += ns;
    p->jobs++;
}

/* A job is done: since it was queued, others had its ring. */
static void finish(struct queue_trace *t, struct queue_job *job, int64_t at_ns)
{
    if (job->done_ns || !job->begun_ns)
        return;
    struct queue_ring *ring = &t->rings[job->ring];
    job->done_ns = at_ns;
    job->begun_ns = MIN_OF(MAX_OF(job->begun_ns, ring->free_ns), at_ns);
    ring->free_ns = MAX_OF(ring->free_ns, at_ns);
    t->ret->jobs++;
    for (size_t i = t->count; i > 0 && t->count - i < BACK_MAX; i--) {
        const struct queue_job *other = &t->jobs[i - 1];
        if (other != job && other->done_ns && other->ring == job->ring)
            add_wait(t, job, other, MIN_OF(job->begun_ns, other->done_ns) - MAX_OF(job->queued_ns, other->begun_ns));
    }
}

static void take_event(struct queue_trace *t, const struct queue_line *l)
{
    struct str fence = value_of(l->rest, "fence=");
    bool queued = str_is(l->event, "drm_sched_job_queue") || str_is(l->event, "drm_sched_job");
    bool run = str_is(l->event, "drm_sched_job_run") || str_is(l->event, "drm_run_job");
    bool done = str_is(l->event, "drm_sched_job_done") || str_is(l->event, "drm_sched_process_job");
    struct queue_job *job = queued ? NULL : job_of(t, fence);
    if (run && job && !job->begun_ns)
        job->begun_ns = l->at_ns;
    else if (done && job)
        finish(t, job, l->at_ns);
    if (!queued || !fence.len || t->count == JOBS_MAX)
        return;
    int32_t ring = ring_of(t, value_of(l->rest, "dev="), value_of(l->rest, "ring="));
    if (ring < 0)
        return;
    job = &t->jobs[t->count++];
    *job = (struct queue_job){.fence = str_hash(fence), .tid = l->tid, .ring = ring, .queued_ns = l->at_ns};
    str_copy_clean(job->name, sizeof job->name, l->name);
}

static int by_wait(const void *a, const void *b)
{
    const struct queue_pair *one = a, *other = b;
    return (one->waited_ns < other->waited_ns) - (one->waited_ns > other->waited_ns);
}

int queue_judge(struct str trace, struct queue_look *ret)
{
    *ret = (struct queue_look){0};
    AUTO_FREE struct queue_job *jobs = calloc(JOBS_MAX, sizeof *jobs);
    AUTO_FREE struct queue_trace *t = calloc(1, sizeof *t);
    struct str line;
    struct queue_line parsed;
    int64_t lost;
    if (!jobs || !t)
        return -ENOMEM;
    *t = (struct queue_trace){.jobs = jobs, .ret = ret};
    while (str_cut(&trace, '\n', &line))
        if (parse_line(line, &parsed))
            take_event(t, &parsed);
        else if (str_contains(line, "[LOST ") && str_to_i64(value_of(line, "[LOST "), &lost) && lost > 0)
            ret->lost += lost;
    qsort(ret->pairs, ret->count, sizeof ret->pairs[0], by_wait);
    return 0;
}
