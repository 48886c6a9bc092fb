/* SPDX-License-Identifier: Apache-2.0
 * Method "checkpoint": the CUDA driver moves the memory of any unmodified CUDA process into its host memory, and back. Refuses
 * processes known not to survive it; a killable helper makes each driver call, after the journal has recorded it.
 */
#include "guard/method.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "guard/cuda.h"
#include "guard/guard_target.h"

/* Checkpointing ran at 1.7 to 2 GiB/s on an H200; this much slower rate sets the minimum time limit. */
enum { POLL_MS = 50, CALL_TIMEOUT_MS = 10000, LOCK_ENDS_MS = 20000, CHECKPOINT_BYTES_PER_MS = 100 * 1024 };
/* Restoring needs slightly more than the memory held: the context itself. */
#define RESTORE_MARGIN_BYTES (256LL * 1024 * 1024)

/* Concurrent checkpoints: the host memory they will use doesn't show there yet. */
static struct {
    pthread_mutex_t lock;
    int64_t bytes;
} under_way = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The worker's only process on a GPU. */
struct target {
    struct claim_identity who;
    int64_t bytes;
};

static int refuse_process(const struct gpu *gpu, const struct process *p, struct error *err)
{
    if (p->type & PROCESS_GRAPHICS)
        return error_set(err, -EOPNOTSUPP, "pid %d draws graphics; the driver can only checkpoint pure CUDA processes", p->pid);
    if (gpu->instance_count > 0 || p->instance >= 0)
        return error_set(err, -EOPNOTSUPP, "GPU %d is divided (MIG); the driver cannot checkpoint there", gpu->index);
    return 0;
}

static int find_target(const struct method_context *c, struct target *t, struct error *err)
{
    *t = (struct target){0};
    for (size_t g = 0; c->snapshot && g < c->snapshot->gpu_count; g++) {
        const struct gpu *gpu = &c->snapshot->gpus[g];
        for (size_t i = 0; i < gpu->process_count; i++) {
            const struct process *p = &gpu->processes[i];
            if (strcmp(p->name, "nvidia-cuda-mps") == 0)
                return error_set(err, -EOPNOTSUPP, "GPU %d is shared by MPS; the driver cannot checkpoint its clients", gpu->index);
            if (!claim_has_pid(c->worker, p->pid))
                continue;
            int rc = refuse_process(gpu, p, err);
            if (rc < 0)
                return rc;
            if (t->who.pid && t->who.pid != p->pid)
                return error_set(
                    err, -EOPNOTSUPP,
                    "several processes of the worker are on GPUs (%d and %d); a checkpoint of one would hang the others",
                    t->who.pid, p->pid);
            t->who = (struct claim_identity){p->pid, p->start_key};
            t->bytes += reading_or(p->mem_bytes, 0);
        }
    }
    return t->who.pid ? 0 : error_set(err, -ESRCH, "no process of the worker is on a GPU");
}

static int64_t call_limit_ms(int64_t bytes, int64_t configured_ms)
{
    /* Too short a limit for the memory held would kill the helper in the middle of the move. */
    return MAX_OF(configured_ms, 30000 + bytes / CHECKPOINT_BYTES_PER_MS);
}

/* Locking waits for the process's pending GPU work. */
static int64_t lock_limit_ms(const struct method_context *c)
{
    int64_t configured_ms = c->settings->evict_timeout_ms;
    return configured_ms ? MIN_OF(configured_ms, CALL_TIMEOUT_MS) : CALL_TIMEOUT_MS;
}

static int call(struct method_context *c, enum cuda_call what, const char *step, struct claim_identity who, int64_t limit_ms,
                struct error *err)
{
    int rc = target_check(c->env, who, err);
    if (rc == 0)
        rc = method_note(c, step, err);
    return rc < 0 ? rc : cuda_call(c->env, what, who.pid, limit_ms, c->abandon, NULL, err);
}

/* *others: it would fit alone, but not together with the others. */
static int try_host_room(const struct method_context *c, const struct target *t, bool *others, struct error *err)
{
    pthread_mutex_lock(&under_way.lock);
    int rc = target_host_room(c->env, t->who.pid, t->bytes, err);
    *others = rc == 0 && under_way.bytes > 0;
    if (*others)
        rc = target_host_room(c->env, t->who.pid, under_way.bytes + t->bytes, err);
    if (rc == 0)
        under_way.bytes += t->bytes;
    pthread_mutex_unlock(&under_way.lock);
    return rc;
}

/* If host memory is too small for all at once, waits for the others. */
static int take_host_room(const struct method_context *c, const struct target *t, struct error *err)
{
    bool others;
    int rc;
    while ((rc = try_host_room(c, t, &others, err)) == -ENOMEM && others) {
        if (method_is_ending(c))
            return error_set(err, -ECANCELED, "the guard ends");
        poll(NULL, 0, POLL_MS);
    }
    return rc;
}

static void give_host_room_back(const struct target *t)
{
    pthread_mutex_lock(&under_way.lock);
    under_way.bytes -= t->bytes;
    pthread_mutex_unlock(&under_way.lock);
}

static int checkpoint(struct method_context *c, const struct target *t, struct error *err)
{
    c->entry->pids[0] = t->who;
    c->entry->pid_count = 1;
    c->entry->bytes = t->bytes;
    int64_t limit_ms = call_limit_ms(t->bytes, c->settings->evict_timeout_ms);
    /* The driver refuses to lock again a process that an earlier guard left locked. */
    enum cuda_process_state state = CUDA_PROCESS_RUNNING;
    int rc = cuda_call(c->env, CUDA_GET_STATE, t->who.pid, CALL_TIMEOUT_MS, c->abandon, &state, err);
    if (rc == 0 && state == CUDA_PROCESS_FAILED)
        rc = error_set(err, -EIO, "the driver reports that an earlier checkpoint of pid %d failed; restart the worker", t->who.pid);
    if (rc == 0 && state == CUDA_PROCESS_RUNNING)
        rc = call(c, CUDA_LOCK, "lock", t->who, lock_limit_ms(c), err);
    if (rc < 0)
        return rc;
    if (method_is_ending(c))
        rc = error_set(err, -ECANCELED, "the guard ends");
    else
        rc = call(c, CUDA_CHECKPOINT, "checkpoint", t->who, limit_ms, err);
    if (rc < 0) {
        /* It still runs where it was: unlock it. Why the checkpoint failed matters more than an unlock error. */
        struct error ignored = {0};
        call(c, CUDA_UNLOCK, "unlock again", t->who, CALL_TIMEOUT_MS, &ignored);
    }
    return rc;
}

static int evict(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    struct target t;
    int rc = find_target(c, &t, err);
    if (rc == 0)
        rc = target_check(c->env, t.who, err);
    if (rc == 0)
        rc = take_host_room(c, &t, err);
    if (rc < 0)
        return rc;
    rc = checkpoint(c, &t, err);
    give_host_room_back(&t);
    return rc;
}

static int resume(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    if (c->entry->pid_count == 0)
        return error_set(err, -ESRCH, "it is not known which process was checkpointed");
    struct claim_identity who = c->entry->pids[0];
    int rc = target_check(c->env, who, err);
    enum cuda_process_state state;
    if (rc == 0)
        rc = cuda_call(c->env, CUDA_GET_STATE, who.pid, CALL_TIMEOUT_MS, c->abandon, &state, err);
    if (rc < 0)
        return rc;
    if (state == CUDA_PROCESS_RUNNING)
        return 0;
    if (state == CUDA_PROCESS_FAILED)
        return error_set(err, -EIO, "the driver reports that the checkpoint of pid %d failed; restart the worker", who.pid);
    if (state == CUDA_PROCESS_CHECKPOINTED)
        rc = call(c, CUDA_RESTORE, "restore", who, call_limit_ms(c->entry->bytes, c->settings->resume_timeout_ms), err);
    return rc < 0 ? rc : call(c, CUDA_UNLOCK, "unlock", who, CALL_TIMEOUT_MS, err);
}

/* A lock outlives the guard that requested it, and could take effect after its successor found the process running: without
 * waiting, the process would stay locked forever. A helper that hangs ends on its own. */
static void await_lock(const struct method_context *c)
{
    struct mono begin = clock_mono(c->env->clock);
    while (strcmp(c->entry->step, "lock") == 0 && c->entry->pid_count && !method_is_ending(c) &&
           cuda_is_under_way(c->env, CUDA_LOCK, c->entry->pids[0].pid) &&
           mono_since_ms(clock_mono(c->env->clock), begin) < LOCK_ENDS_MS)
        poll(NULL, 0, POLL_MS);
}

static enum method_found method_checkpoint_find(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method;
    enum cuda_process_state state;
    await_lock(c);
    if (c->entry->pid_count == 0 || target_check(c->env, c->entry->pids[0], err) < 0 ||
        cuda_call(c->env, CUDA_GET_STATE, c->entry->pids[0].pid, CALL_TIMEOUT_MS, c->abandon, &state, err) < 0)
        return METHOD_FOUND_UNKNOWN;
    return state == CUDA_PROCESS_RUNNING ? METHOD_FOUND_RUNNING : METHOD_FOUND_EVICTED;
}

int64_t checkpoint_restore_bytes(int64_t bytes)
{
    return bytes + RESTORE_MARGIN_BYTES;
}

const struct method_ops method_checkpoint = {
    .name = "checkpoint",
    .evict = evict,
    .resume = resume,
    .find = method_checkpoint_find,
};
