/* SPDX-License-Identifier: Apache-2.0
 * Giving way: the guard's own judgment and policy, with the caller's functions as the only method; and the other side, requesting
 * room.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/answers.h"
#include "base/cleanup.h"
#include "guard/claim.h"
#include "lib/handle.h"

enum { STEP_EVERY_MS = 5000, POLL_MS = 200 };

struct whirr_guard {
    struct whirr *w;
    struct whirr_guard_events events;
    void *user;
    struct claim_worker worker;
    struct claim_baseline baseline;
    struct claim_limits limits;
    struct guard_policy policy;
    enum step_result step; /* result of the last request to the caller */
    int64_t held_bytes;    /* the memory it held while it was running */
};

int whirr_guard_new(struct whirr *w, const int *gpus, size_t gpu_count, const struct whirr_guard_events *events, void *user,
                    struct whirr_guard **ret)
{
    struct error err = {0};
    int use = handle_use(w, events && ret && (gpus || !gpu_count));
    if (use)
        return use;
    struct whirr_guard *g = calloc(1, sizeof *g);
    if (!g)
        error_set(&err, -ENOMEM, "out of memory");
    else if (events->size < sizeof *events || !events->should_evict || !events->may_return)
        error_set(&err, -EINVAL, "whirr_guard_events needs its size and both functions");
    for (size_t i = 0; !err.code && i < gpu_count; i++) {
        if (gpus[i] < 0 || gpus[i] >= GPU_MAX)
            error_set(&err, -ENODEV, "there is no GPU %d", gpus[i]);
        else
            g->worker.gpus[gpus[i] / 64] |= UINT64_C(1) << gpus[i] % 64;
    }
    if (err.code) {
        free(g);
        return handle_fail(w, &err);
    }
    g->w = w;
    g->events = *events;
    g->user = user;
    g->limits = claim_limits_default;
    g->limits.reserve_bytes = w->cli.settings->worker.reserve_bytes;
    *ret = g;
    return 0;
}

void whirr_guard_free(struct whirr_guard *g)
{
    free(g);
}

int whirr_guard_is_out(const struct whirr_guard *g)
{
    if (!g)
        return -EBADF;
    return g->policy.state == GUARD_PAUSED || g->policy.state == GUARD_RESERVING || g->policy.state == GUARD_RESUMING;
}

/* ---- facts ---- */

static void add_process(struct whirr_guard *g, const struct process *p)
{
    if (g->worker.pid_count < CLAIM_WORKER_PIDS)
        g->worker.pids[g->worker.pid_count++] = (struct claim_identity){p->pid, p->start_key};
}

static bool is_mine(const struct whirr_guard *g, int32_t pid)
{
    for (size_t i = 0; i < g->worker.pid_count; i++)
        if (g->worker.pids[i].pid == pid)
            return true;
    return false;
}

/* Finds this process and its descendants on the GPUs. Repeats, because a parent may be listed after its children. */
static void find_family(struct whirr_guard *g, const struct snapshot *s)
{
    struct process self = {.pid = (int32_t)getpid()};
    for (size_t i = 0; i < s->gpu_count; i++)
        for (size_t k = 0; k < s->gpus[i].process_count; k++)
            if (s->gpus[i].processes[k].pid == self.pid)
                self.start_key = s->gpus[i].processes[k].start_key;
    g->worker.pid_count = 0;
    add_process(g, &self);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < s->gpu_count; i++)
            for (size_t k = 0; k < s->gpus[i].process_count; k++) {
                const struct process *p = &s->gpus[i].processes[k];
                if (p->parent && is_mine(g, p->parent) && !is_mine(g, p->pid) && g->worker.pid_count < CLAIM_WORKER_PIDS) {
                    add_process(g, p);
                    more = true;
                }
            }
    }
}

/* A guard that names no GPUs is bound to all whose memory counts. */
static bool is_bound(const struct whirr_guard *g, const struct snapshot *s, const struct gpu *gpu)
{
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(g->worker.gpus); i++)
        any |= g->worker.gpus[i] != 0;
    if (!any)
        return snapshot_counts_memory(s, gpu);
    return gpu->index < GPU_MAX && g->worker.gpus[gpu->index / 64] & UINT64_C(1) << gpu->index % 64;
}

static bool enough_is_free(const struct whirr_guard *g, const struct snapshot *s)
{
    int64_t free_bytes = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (is_bound(g, s, &s->gpus[i]))
            free_bytes += reading_or(s->gpus[i].mem_free_bytes, 0);
    return free_bytes >= g->held_bytes + g->limits.reserve_bytes;
}

static struct guard_facts collect_facts(struct whirr_guard *g, const struct snapshot *s, struct claim *claim)
{
    static const struct claim_signals none;
    find_family(g, s);
    if (!g->baseline.learned)
        claim_learn(&g->baseline, s, &g->worker, (struct claim_identity){0});
    *claim = claim_judge(s, &g->worker, &g->baseline, &none, &g->limits);
    int64_t held;
    if (g->policy.state == GUARD_RUNNING && claim_worker_bytes(s, &g->worker, &held))
        g->held_bytes = held;
    return (struct guard_facts){
        .claim = claim->verdict,
        .worker = WORKER_ALIVE,
        .drained = true, /* should_evict() returns only when the work is drained */
        .step = g->step,
        /* Trusts the caller: a driver context remains, but it is small. */
        .memory_freed = g->policy.state == GUARD_VERIFYING,
        .memory_enough = enough_is_free(g, s),
        .cool = true,
    };
}

/* ---- acting ---- */

/* Calls the caller's function. True: the next step runs at once, with the result among its facts. */
static bool act(struct whirr_guard *g, enum guard_action action, const struct claim *claim)
{
    if (action == GUARD_DO_EVICT)
        g->step = g->events.should_evict(g->user, claim->reason) == 0 ? STEP_DONE : STEP_FAILED;
    else if (action == GUARD_DO_RESUME)
        g->step = g->events.may_return(g->user) == 0 ? STEP_DONE : STEP_FAILED;
    return action == GUARD_DO_EVICT || action == GUARD_DO_RESUME || action == GUARD_DO_DRAIN || action == GUARD_DO_VERIFY ||
           action == GUARD_DO_RESERVE;
}

int whirr_guard_step(struct whirr_guard *g)
{
    struct guard_limits limits = guard_limits_default;
    struct error err = {0};
    int use = handle_use(g ? g->w : NULL, true);
    if (use)
        return use;
    limits.methods = 1;
    for (int round = 0; round < 8; round++) {
        struct claim claim;
        AUTO_SNAPSHOT const struct snapshot *s = session_sample(g->w->session, GROUP_QUICK, &err);
        if (!s)
            return handle_fail(g->w, &err);
        struct guard_facts facts = collect_facts(g, s, &claim);
        enum guard_action action = guard_step(&g->policy, &limits, &facts, clock_mono(&clock_system));
        g->step = STEP_PENDING;
        if (!act(g, action, &claim))
            return action == GUARD_DO_LOOK_AGAIN ? (int)limits.second_look_ms : STEP_EVERY_MS;
    }
    return STEP_EVERY_MS;
}

/* ---- requesting room ---- */

static bool gave_way(const json_t *worker)
{
    const char *state = json_string_value(json_object_get(worker, "state"));
    return state && (strcmp(state, "paused") == 0 || strcmp(state, "absent") == 0 || strcmp(state, "reserving") == 0);
}

static size_t announce(struct whirr *w, const char *path, char *problem, size_t size)
{
    char body[64];
    size_t asked;
    snprintf(body, sizeof body, "{\"pid\": %d}", (int)getpid());
    json_decref(guard_ask(&w->cli, "POST", path, body, &asked, problem, size));
    return asked;
}

/* Whether all workers have given way. */
static bool all_gave_way(struct whirr *w)
{
    char problem[256];
    size_t asked, i;
    json_t *worker, *workers = guard_ask(&w->cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    bool all = true;
    json_array_foreach(workers, i, worker) all &= gave_way(worker);
    json_decref(workers);
    return all;
}

int whirr_room_ask(struct whirr *w, int64_t wait_ms)
{
    char problem[512] = "";
    struct error err = {0};
    struct mono begin = clock_mono(&clock_system);
    int use = handle_use(w, true);
    if (use)
        return use;
    size_t guards = announce(w, "/api/guard/announce", problem, sizeof problem);
    if (!guards && !all_gave_way(w)) { /* there are workers in the way, but no guard took the request */
        error_set(&err, -EPERM, "%s", problem);
        return handle_fail(w, &err);
    }
    w->announced = guards > 0;
    while (guards) {
        if (all_gave_way(w))
            return 1;
        if (mono_since_ms(clock_mono(&clock_system), begin) >= wait_ms)
            return 0;
        pause_ms(POLL_MS);
    }
    return 1;
}

int whirr_room_done(struct whirr *w)
{
    char problem[256];
    int use = handle_use(w, true);
    if (use)
        return use;
    if (w->announced)
        announce(w, "/api/guard/unannounce", problem, sizeof problem);
    w->announced = false;
    return 0;
}
