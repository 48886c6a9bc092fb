/* SPDX-License-Identifier: Apache-2.0
 * Tries out a method.
 */
#include "guard/guard.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "guard/find.h"
#include "guard/method.h"
#include "model/finding.h"

enum { VERIFY_MS = 5000, VERIFY_STEP_MS = 100, ROOM_MS = 60000, RESUME_AGAIN = 5 };
#define LEFT_OVER_BYTES (512LL * 1024 * 1024)

struct probe {
    const struct guard_options *options;
    struct finder *finder;
    struct claim_worker worker;
    const struct snapshot *snapshot;
    struct journal journal;
    struct journal_entry entry;
    int unsure; /* -errno: some process was unreadable in the last look */
};

static enum worker_presence probe_look(struct probe *p)
{
    struct claim_signals signals = {0};
    snapshot_unref(p->snapshot);
    p->snapshot = p->options->sample(p->options->user, -1);
    enum worker_presence there = finder_look(p->finder, p->snapshot, &p->worker, &signals);
    p->unsure = signals.unsure;
    return there;
}

static int64_t since(const struct probe *p, struct mono begin)
{
    return mono_since_ms(clock_mono(p->options->env->clock), begin);
}

static int64_t held_on(const struct probe *p, const struct gpu *gpu)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < gpu->process_count; i++)
        if (claim_has_pid(&p->worker, gpu->processes[i].pid))
            bytes += reading_or(gpu->processes[i].mem_bytes, 0);
    return bytes;
}

static void note_gpus(struct probe *p)
{
    for (size_t g = 0; g < p->snapshot->gpu_count && p->entry.gpu_count < JOURNAL_GPUS_MAX; g++) {
        int64_t bytes = held_on(p, &p->snapshot->gpus[g]);
        if (bytes == 0)
            continue;
        p->entry.gpus[p->entry.gpu_count].gpu = p->snapshot->gpus[g].index;
        p->entry.gpus[p->entry.gpu_count++].bytes = bytes;
    }
}

/* Why no work may be placed on one of the worker's GPUs; NULL: it may. */
static const struct finding *forbids(const struct probe *p)
{
    const struct finding *found = NULL;
    for (size_t i = 0; p->snapshot && !found && i < p->entry.gpu_count; i++)
        if (snapshot_gpu(p->snapshot, p->entry.gpus[i].gpu))
            found = verdict_forbids(p->snapshot->verdict, p->entry.gpus[i].gpu);
    return found;
}

static bool has_room(const struct probe *p)
{
    if (forbids(p))
        return false;
    for (size_t i = 0; i < p->entry.gpu_count; i++) {
        const struct gpu *gpu = p->snapshot ? snapshot_gpu(p->snapshot, p->entry.gpus[i].gpu) : NULL;
        int64_t free_bytes;
        if (!gpu || !reading_get(gpu->mem_free_bytes, &free_bytes) ||
            free_bytes + held_on(p, gpu) < checkpoint_restore_bytes(p->entry.gpus[i].bytes))
            return false;
    }
    return true;
}

/* Another program may have taken the memory meanwhile. A restore without enough memory can never be repeated: better leave it
 * evicted. */
static int wait_for_room(struct probe *p, struct error *err)
{
    struct mono begin = clock_mono(p->options->env->clock);
    while (!has_room(p)) {
        if (since(p, begin) >= ROOM_MS)
            return error_set(err, -ENOMEM, "%s", forbids(p) ? forbids(p)->headline : "something else took the memory meanwhile");
        poll(NULL, 0, VERIFY_STEP_MS);
        probe_look(p);
    }
    return 0;
}

static void wait_until_free(struct probe *p, const struct method *method, struct probe_result *r)
{
    int64_t limit_ms = method->row && method->row->settle_ms ? method->row->settle_ms : VERIFY_MS;
    struct mono begin = clock_mono(p->options->env->clock);
    for (;;) {
        probe_look(p);
        r->left_bytes = -1;
        if (p->snapshot && !p->unsure)
            claim_worker_bytes(p->snapshot, &p->worker, &r->left_bytes);
        r->freed = r->left_bytes >= 0 && r->left_bytes <= MAX_OF(r->bytes / 10, MIN_OF(LEFT_OVER_BYTES, r->bytes / 2));
        r->verify_ms = since(p, begin);
        if (r->freed || r->verify_ms >= limit_ms)
            return;
        poll(NULL, 0, VERIFY_STEP_MS);
    }
}

static int try_method(struct probe *p, const struct guard_spec *spec, const struct method *method, struct probe_result *r,
                      struct error *err)
{
    struct method_context c = {.env = p->options->env,
                               .settings = &spec->settings,
                               .worker = &p->worker,
                               .snapshot = p->snapshot,
                               .journal = &p->journal,
                               .entry = &p->entry};
    r->method = method->name;
    p->entry = (struct journal_entry){.state = GUARD_EVICTING, .acted_count = 1, .bytes = r->bytes};
    str_copy(p->entry.acted[0], JOURNAL_NAME_SIZE, str_from(method->name));
    note_gpus(p);
    if (forbids(p)) /* it couldn't be resumed: leave it alone */
        return error_set(err, -EBUSY, "%s: a worker that leaves this GPU is not brought back", forbids(p)->headline);
    struct mono begin = clock_mono(p->options->env->clock);
    int rc = method_evict(method, &c, err);
    r->evict_ms = since(p, begin);
    if (rc < 0 && !p->entry.step[0])
        return rc; /* refused: nothing was done */
    if (rc == 0)
        wait_until_free(p, method, r);
    struct error back = {0}, *said = rc < 0 ? &back : err;
    int resumed = wait_for_room(p, said);
    c.snapshot = p->snapshot;
    begin = clock_mono(p->options->env->clock);
    if (resumed == 0)
        resumed = method_resume(method, &c, said);
    for (int i = 0; i < RESUME_AGAIN && resumed < 0 && resumed != -ENOMEM && resumed != -ESRCH; i++) {
        poll(NULL, 0, VERIFY_STEP_MS); /* nothing else will resume it */
        resumed = method_resume(method, &c, said);
    }
    r->resume_ms = since(p, begin);
    r->resumed = resumed == 0;
    if (r->resumed)
        journal_write(&p->journal, &(struct journal_entry){.state = GUARD_RUNNING}, NULL);
    return rc < 0 ? rc : resumed;
}

int guard_probe(const struct guard_options *options, struct guard_spec *spec, struct probe_result *ret, struct error *err)
{
    *ret = (struct probe_result){.left_bytes = -1};
    AUTO_FREE struct probe *p = calloc(1, sizeof *p);
    if (!p || !(p->finder = finder_new(options->env, &spec->match, false)))
        return error_set(err, -ENOMEM, "out of memory");
    p->options = options;
    int rc = options->state_dir ? journal_open(&p->journal, options->state_dir, spec->name, err) : 0;
    enum worker_presence there = rc == 0 ? probe_look(p) : WORKER_ALIVE;
    if (there == WORKER_GONE)
        rc = error_set(err, -ESRCH, "the worker '%s' is not running", spec->name);
    else if (there == WORKER_UNKNOWN || p->unsure)
        rc = error_set(err, p->unsure ? p->unsure : -EIO, "the processes of the worker '%s' can't be read (%s)", spec->name,
                       strerror(p->unsure ? -p->unsure : EIO));
    if (rc == 0 && !p->snapshot)
        rc = error_set(err, -EIO, "no source answered");
    if (rc == 0 && !claim_worker_bytes(p->snapshot, &p->worker, &ret->bytes))
        rc = error_set(err, -EIO, "the driver does not say how much memory the worker holds");
    ret->pid = p->worker.pid_count ? p->worker.pids[p->worker.pid_count - 1].pid : 0;
    for (size_t i = 0; rc == 0 && i < spec->method_count; i++) {
        rc = try_method(p, spec, &spec->methods[i], ret, err);
        bool refused = rc < 0 && !p->entry.step[0] && i + 1 < spec->method_count;
        if (!refused)
            break;
        rc = 0;
    }
    snapshot_unref(p->snapshot);
    finder_free(p->finder);
    return rc;
}
