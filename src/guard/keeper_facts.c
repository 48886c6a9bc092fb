/* SPDX-License-Identifier: Apache-2.0
 * A keeper's observations: who uses the GPUs, whether they are well, whether memory is free, which clients ask. Takes no action.
 */
#include "guard/keeper.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "guard/gamemode.h"
#include "guard/guard_target.h"
#include "guard/method.h"
#include "model/finding.h"
#include "source/fault/fault.h"

/* After unloading its models a server may keep its context, and vLLM's sleep keeps its graphs: tolerate this much. */
#define LEFT_OVER_BYTES (512LL * 1024 * 1024)
enum { WORKING_PERMILLE = 10 }; /* less is just driver overhead */
enum { LEFT_OVER_PART = 10 };

/* ---- the worker's GPUs ---- */

static void set_bit(uint64_t *bits, int i)
{
    if (i >= 0 && i < GPU_MAX)
        bits[i / 64] |= 1ULL << (i % 64);
}

static bool has_bit(const uint64_t *bits, int i)
{
    return i >= 0 && i < GPU_MAX && (bits[i / 64] >> (i % 64) & 1);
}

/* The worker is on it, bound to it, or was on it. */
static bool keeper_uses(const struct keeper *k, int gpu)
{
    return has_bit(k->worker.gpus, gpu);
}

static const struct process *worker_process(const struct keeper *k, const struct gpu *gpu, size_t *from)
{
    for (; *from < gpu->process_count; (*from)++)
        if (claim_has_pid(&k->worker, gpu->processes[*from].pid))
            return &gpu->processes[(*from)++];
    return NULL;
}

static bool worker_is_on(const struct keeper *k, const struct gpu *gpu)
{
    size_t from = 0;
    return worker_process(k, gpu, &from) != NULL;
}

static bool worker_is_anywhere(const struct keeper *k)
{
    for (size_t g = 0; k->snapshot && g < k->snapshot->gpu_count; g++)
        if (worker_is_on(k, &k->snapshot->gpus[g]))
            return true;
    return false;
}

/* A lost or unreadable card shows no processes: it still is the worker's. */
static bool cannot_be_read(const struct snapshot *s, int index)
{
    const struct gpu *gpu = snapshot_gpu(s, index);
    return !gpu || (gpu->state != GPU_ASLEEP && (gpu->state != GPU_OK || gpu->processes_state != READING_OK));
}

/* By UUID: a GPU may have had another index when that was recorded. */
static void find_again(struct keeper *k)
{
    for (size_t i = 0; i < k->entry.gpu_count; i++) {
        int at = k->entry.gpus[i].uuid[0] ? snapshot_find_gpu(k->snapshot, k->entry.gpus[i].uuid) : -1;
        if (k->entry.gpus[i].uuid[0])
            k->entry.gpus[i].gpu = at >= 0 ? k->snapshot->gpus[at].index : -1;
    }
}

/* GPUs from the configuration; else where it is; if evicted, where it was. */
static void bind_gpus(struct keeper *k)
{
    find_again(k);
    uint64_t before[ARRAY_LEN(k->worker.gpus)];
    memcpy(before, k->worker.gpus, sizeof before);
    memset(k->worker.gpus, 0, sizeof k->worker.gpus);
    for (size_t i = 0; i < k->spec->gpu_count; i++) {
        int at = snapshot_find_gpu(k->snapshot, k->spec->gpus[i]);
        if (at >= 0)
            set_bit(k->worker.gpus, k->snapshot->gpus[at].index);
    }
    if (k->spec->gpu_count)
        return;
    for (int i = 0; i < GPU_MAX; i++)
        if (has_bit(before, i) && (k->unsure || cannot_be_read(k->snapshot, i)))
            set_bit(k->worker.gpus, i);
    for (size_t g = 0; g < k->snapshot->gpu_count; g++)
        if (worker_is_on(k, &k->snapshot->gpus[g]))
            set_bit(k->worker.gpus, k->snapshot->gpus[g].index);
    if (k->policy.state != GUARD_RUNNING || k->entry.acted_count)
        for (size_t i = 0; i < k->entry.gpu_count; i++)
            if (k->entry.gpus[i].gpu >= 0)
                set_bit(k->worker.gpus, k->entry.gpus[i].gpu);
}

void keeper_note_gpus(struct keeper *k)
{
    k->entry.gpu_count = 0;
    k->entry.bytes = 0;
    for (size_t g = 0; k->snapshot && g < k->snapshot->gpu_count; g++) {
        const struct gpu *gpu = &k->snapshot->gpus[g];
        int64_t bytes = 0;
        bool there = false;
        size_t from = 0;
        for (const struct process *p; (p = worker_process(k, gpu, &from));) {
            bytes += reading_or(p->mem_bytes, 0);
            there = true;
        }
        if (!there || k->entry.gpu_count == JOURNAL_GPUS_MAX)
            continue;
        str_copy(k->entry.gpus[k->entry.gpu_count].uuid, GPU_UUID_SIZE, str_from(gpu->id.uuid));
        k->entry.gpus[k->entry.gpu_count].gpu = gpu->index;
        k->entry.gpus[k->entry.gpu_count++].bytes = bytes;
        k->entry.bytes += bytes;
    }
}

/* ---- claims ---- */

static void set_unknown(struct keeper *k, const char *why)
{
    k->claim = (struct claim){.verdict = CLAIM_UNKNOWN, .gpu = -1, .others = k->claim.others};
    str_copy(k->claim.reason, sizeof k->claim.reason, str_from(why));
}

static bool claim_announced(struct keeper *k)
{
    struct guard_shared *shared = k->shared;
    pthread_mutex_lock(&shared->lock);
    size_t kept = 0;
    for (size_t i = 0; i < shared->announced_count; i++)
        if (target_presence(k->env, shared->announced[i]) != WORKER_GONE) /* a killed process takes its announcement along */
            shared->announced[kept++] = shared->announced[i];
    shared->announced_count = kept;
    pthread_mutex_unlock(&shared->lock);
    return kept > 0;
}

/* Processes of another PID namespace are numbers without identity: one could be the worker itself. */
static bool cannot_tell_apart(const struct keeper *k)
{
    for (size_t g = 0; g < k->snapshot->gpu_count; g++) {
        const struct gpu *gpu = &k->snapshot->gpus[g];
        if (!keeper_uses(k, gpu->index) || worker_is_on(k, gpu))
            continue;
        for (size_t i = 0; i < gpu->process_count; i++)
            if (!gpu->processes[i].start_key)
                return true;
    }
    return false;
}

static bool gpus_are_listed(const struct keeper *k)
{
    for (int i = 0; i < GPU_MAX; i++)
        if (keeper_uses(k, i) && !snapshot_gpu(k->snapshot, i))
            return false;
    return k->snapshot->gpu_count > 0;
}

/* Shares this worker's processes with the other keepers, and gets theirs. */
static void exchange_worker_pids(struct keeper *k, struct claim_signals *signals)
{
    struct guard_shared *shared = k->shared;
    size_t mine = SIZE_MAX;
    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < ARRAY_LEN(shared->workers); i++) {
        if (shared->workers[i].of == k || (!shared->workers[i].of && mine == SIZE_MAX))
            mine = i;
        for (size_t p = 0; shared->workers[i].of && shared->workers[i].of != k && p < shared->workers[i].count; p++)
            if (signals->friend_count < CLAIM_FRIENDS)
                signals->friends[signals->friend_count++] = shared->workers[i].pids[p];
    }
    if (mine != SIZE_MAX) {
        shared->workers[mine].of = k;
        shared->workers[mine].count = k->worker.pid_count;
        memcpy(shared->workers[mine].pids, k->worker.pids, k->worker.pid_count * sizeof k->worker.pids[0]);
    }
    pthread_mutex_unlock(&shared->lock);
}

void keeper_leave_others(struct keeper *k)
{
    pthread_mutex_lock(&k->shared->lock);
    for (size_t i = 0; i < ARRAY_LEN(k->shared->workers); i++)
        if (k->shared->workers[i].of == k)
            k->shared->workers[i].of = NULL;
    pthread_mutex_unlock(&k->shared->lock);
}

static void keeper_facts_judge(struct keeper *k, struct claim_signals *signals)
{
    exchange_worker_pids(k, signals);
    signals->announced = claim_announced(k);
    signals->gamemode = k->spec->gamemode && k->gamemode && gamemode_active(k->gamemode);
    if (!k->self.start_key) {
        k->self.pid = (int32_t)getpid();
        target_started(k->env, k->self.pid, &k->self.start_key);
    }
    signals->self = k->self;
    k->claim = claim_judge(k->snapshot, &k->worker, &k->baseline, signals, &k->spec->claim);
    if (!k->spec->auto_evict && k->claim.verdict != CLAIM_UNKNOWN && !signals->announced) {
        k->claim.verdict = CLAIM_NONE;
        str_copy(k->claim.reason, sizeof k->claim.reason, STR("auto_evict_for_user_apps is off"));
    }
    if (signals->announced)
        return;
    char why[CLAIM_REASON_SIZE];
    snprintf(why, sizeof why, "the processes on the GPU can't be read (%s)", strerror(-k->unsure));
    if (k->unsure)
        set_unknown(k, why);
    else if (cannot_tell_apart(k))
        set_unknown(k, "the driver lists processes of another PID namespace, and the worker may be one of them; "
                       "run whirr in the host's PID namespace");
    else if (!gpus_are_listed(k))
        set_unknown(k, "the worker's GPU is not listed by any source");
}

/* Processes present at the start aren't claims; but after a restart during a pause, they are the reason for it, and so is the
 * claimant for which an earlier guard had started to drain. */
static void learn_baseline(struct keeper *k)
{
    if (!k->baseline.learned && !k->unsure && (k->entry.acted_count == 0 || k->claim.verdict == CLAIM_NONE))
        claim_learn(&k->baseline, k->snapshot, &k->worker, k->entry.claimant);
}

void keeper_look(struct keeper *k, int64_t max_age_ms)
{
    struct claim_signals signals = {0};
    const struct snapshot *fresh = k->shared->options.sample(k->shared->options.user, max_age_ms);
    snapshot_unref(k->snapshot);
    k->snapshot = fresh;
    if (k->has_child && k->child.pid && !k->child.start_key) /* no descriptor was available when it was started */
        target_started(k->env, k->child.pid, &k->child.start_key);
    if (k->has_child)
        finder_set_leader(k->finder, (struct claim_identity){k->child.pid, k->child.pid ? k->child.start_key : 0});
    k->presence = finder_look(k->finder, k->snapshot, &k->worker, &signals);
    k->unsure = signals.unsure;
    if (!k->snapshot) {
        set_unknown(k, "no source answered");
        return;
    }
    bind_gpus(k);
    if (k->entry.acted_count == 0)
        learn_baseline(k);
    keeper_facts_judge(k, &signals);
    learn_baseline(k);
    for (size_t i = 0; i < k->snapshot->event_count; i++)
        keeper_notice(k, &k->snapshot->events[i]);
}

/* ---- heat and faults of the worker's GPUs ---- */

#define HEAT_PROBLEM "its GPU is at"

int keeper_hottest(const struct keeper *k, int64_t *mdegc)
{
    int found = -1;
    int64_t now;
    for (size_t g = 0; k->snapshot && g < k->snapshot->gpu_count; g++) {
        const struct gpu *gpu = &k->snapshot->gpus[g];
        if (!keeper_uses(k, gpu->index) || !reading_get(gpu->temp_mdegc, &now) || (found >= 0 && now <= *mdegc))
            continue;
        found = gpu->index;
        *mdegc = now;
    }
    return found;
}

static void update_temperature(struct keeper *k)
{
    const struct guard_spec *spec = k->spec;
    int64_t hottest = 0;
    bool known = keeper_hottest(k, &hottest) >= 0;
    if (!spec->health || !spec->overheat) {
        k->hot = false;
        k->cool = true;
        return;
    }
    if (!known) /* unreadable: unchanged */
        return;
    bool was_hot = k->hot;
    char now[WORDS_SIZE], most[WORDS_SIZE];
    if (hottest >= spec->hot_mdegc)
        k->hot = true;
    else if (hottest < spec->cool_mdegc)
        k->hot = false;
    k->cool = hottest < spec->cool_mdegc;
    if (!k->hot && was_hot)
        keeper_problem_over(k, HEAT_PROBLEM);
    if (k->hot && !was_hot)
        keeper_problem(k, HEAT_PROBLEM " %s, the threshold is %s", words_temperature(hottest, now),
                       words_temperature(spec->hot_mdegc, most));
}

static void raise_fault(struct keeper *k, const char *what, int gpu)
{
    if (k->fault)
        return;
    k->fault = k->spec->pause_on_errors;
    keeper_problem(k, "GPU %d: %s%s", gpu, what, k->fault ? "; it is paused until `whirr guard resume`" : "");
}

/* An event is in one sample only, maybe one made for another caller: so it can arrive twice. */
void keeper_notice(struct keeper *k, const struct event *e)
{
    if (!k->spec->health || e->gpu_index < 0 || !keeper_uses(k, e->gpu_index) || e->at.ms <= k->noticed.ms)
        return;
    const struct fault_info *xid = e->kind == EVENT_DRIVER_FAULT ? xid_find(e->code) : NULL;
    char what[192];
    if (xid && fault_stops_gpu(xid->class)) {
        snprintf(what, sizeof what, "XID %lld: %s", (long long)e->code, xid->what);
        raise_fault(k, what, e->gpu_index);
        k->noticed = e->at;
    } else if (e->kind == EVENT_GPU_LOST) {
        raise_fault(k, "the GPU is lost", e->gpu_index);
        k->noticed = e->at;
    }
}

static void look_for_faults(struct keeper *k)
{
    for (size_t g = 0; g < k->snapshot->gpu_count; g++) {
        const struct gpu *gpu = &k->snapshot->gpus[g];
        int64_t ecc;
        if (!keeper_uses(k, gpu->index) || gpu->index >= GPU_MAX)
            continue;
        if (gpu->state == GPU_LOST)
            raise_fault(k, "the GPU is lost", gpu->index);
        if (!reading_get(gpu->ecc_uncorrected, &ecc))
            continue;
        if (k->ecc_known[gpu->index] && ecc > k->ecc_before[gpu->index])
            raise_fault(k, "memory errors that could not be corrected", gpu->index);
        k->ecc_known[gpu->index] = true;
        k->ecc_before[gpu->index] = ecc;
    }
}

static void check_health(struct keeper *k)
{
    update_temperature(k);
    if (k->spec->health)
        look_for_faults(k);
}

/* ---- memory ---- */

static bool is_freed(const struct keeper *k)
{
    if (k->spec->dry_run)
        return true;
    if (!k->snapshot || k->unsure || k->claim.verdict == CLAIM_UNKNOWN)
        return false;
    int64_t left;
    if (!claim_worker_bytes(k->snapshot, &k->worker, &left))
        return !worker_is_anywhere(k);
    return left <= MAX_OF(k->entry.bytes / LEFT_OVER_PART, LEFT_OVER_BYTES);
}

/* Whether each of the worker's GPUs has enough memory and no fault that forbids placing work, unless a person resumes it. A
 * restore without enough memory can never be repeated: unknown counts as no. */
bool keeper_has_room(const struct keeper *k)
{
    if (k->spec->dry_run)
        return true;
    for (size_t i = 0; i < k->entry.gpu_count; i++) {
        int64_t free_bytes, here = 0, bytes = k->entry.gpus[i].bytes;
        const struct gpu *gpu = k->snapshot ? snapshot_gpu(k->snapshot, k->entry.gpus[i].gpu) : NULL;
        if (!gpu || !reading_get(gpu->mem_free_bytes, &free_bytes))
            return false;
        if (!k->policy.forced && verdict_forbids(k->snapshot->verdict, gpu->index))
            return false;
        size_t from = 0; /* memory that it still holds need not be free */
        for (const struct process *p; (p = worker_process(k, gpu, &from));)
            here += reading_or(p->mem_bytes, 0);
        if (bytes > 0 && free_bytes + here < checkpoint_restore_bytes(bytes))
            return false;
    }
    return k->snapshot != NULL;
}

void keeper_unreserve(struct keeper *k)
{
    pthread_mutex_lock(&k->shared->lock);
    for (size_t g = 0; g < GPU_MAX; g++)
        if (k->shared->resuming[g] == k)
            k->shared->resuming[g] = NULL;
    pthread_mutex_unlock(&k->shared->lock);
}

/* The GPUs it returns to; any, if unknown. */
static bool comes_back_to(const struct keeper *k, size_t gpu)
{
    for (size_t i = 0; i < k->entry.gpu_count; i++)
        if (k->entry.gpus[i].gpu == (int)gpu)
            return true;
    return k->entry.gpu_count == 0;
}

/* Only one worker at a time resumes on a GPU: the memory that it found free must still be free when it returns. */
static bool reserve(struct keeper *k, bool room)
{
    if (!room) {
        keeper_unreserve(k); /* let a worker with smaller needs go first */
        return false;
    }
    bool all = true;
    pthread_mutex_lock(&k->shared->lock);
    for (size_t g = 0; g < GPU_MAX; g++)
        all &= !k->shared->resuming[g] || k->shared->resuming[g] == k || !comes_back_to(k, g);
    for (size_t g = 0; all && g < GPU_MAX; g++)
        if (comes_back_to(k, g))
            k->shared->resuming[g] = k;
    pthread_mutex_unlock(&k->shared->lock);
    return all;
}

static bool is_drained(struct keeper *k)
{
    if (k->spec->dry_run || k->policy.method >= k->spec->method_count)
        return true;
    size_t in_flight, waiting;
    uint64_t asked;
    gate_count(k->gate, &in_flight, &waiting);
    if (k->policy.idle) /* a page that only watches doesn't keep it loaded */
        gate_asked(k->gate, &asked, &in_flight);
    if (in_flight)
        return false;
    struct method_context c = keeper_context(k);
    struct error err = {0};
    return method_busy(&k->spec->methods[k->policy.method], &c, &err) != 1;
}

/* ---- client requests ---- */

static bool is_working(const struct keeper *k)
{
    for (size_t g = 0; k->snapshot && g < k->snapshot->gpu_count; g++) {
        size_t from = 0;
        for (const struct process *p; (p = worker_process(k, &k->snapshot->gpus[g], &from));)
            if (reading_or(p->util_permille, 0) >= WORKING_PERMILLE)
                return true;
    }
    return false;
}

/* How long no client has asked for it. A worker that holds nothing isn't idle: it has nothing to free. */
static int64_t unasked_ms(struct keeper *k, struct mono now)
{
    uint64_t asked;
    size_t asking;
    int64_t bytes;
    gate_asked(k->gate, &asked, &asking);
    bool nothing = !k->snapshot || !claim_worker_bytes(k->snapshot, &k->worker, &bytes) || bytes < LEFT_OVER_BYTES;
    if (!k->asked_at.ns || asked != k->asked_before || asking || nothing || is_working(k) || k->policy.state != GUARD_RUNNING)
        k->asked_at = now;
    k->asked_before = asked;
    return mono_since_ms(now, k->asked_at);
}

/* A client waits at the gate; or it came another way, and its server reloaded on its own. */
static bool client_asks(struct keeper *k)
{
    size_t in_flight, waiting;
    int64_t bytes;
    gate_count(k->gate, &in_flight, &waiting);
    bool loaded = k->policy.state == GUARD_PAUSED && !k->policy.not_freed && k->snapshot &&
                  claim_worker_bytes(k->snapshot, &k->worker, &bytes) && bytes > LEFT_OVER_BYTES && bytes > k->entry.bytes / 2;
    return k->policy.idle && (waiting > 0 || (loaded && !k->spec->dry_run));
}

/* A worker that we stopped ourselves, or that a command may have stopped, isn't gone. */
static enum worker_presence presence(const struct keeper *k)
{
    if (k->presence != WORKER_GONE)
        return k->presence;
    if (keeper_acted_through(k, "process"))
        return WORKER_ALIVE;
    return keeper_acted_through(k, "command") ? WORKER_UNKNOWN : WORKER_GONE;
}

void keeper_facts(struct keeper *k, struct guard_facts *facts)
{
    struct mono now = clock_mono(k->env->clock);
    if (k->snapshot && (!k->health_at.ns || mono_since_ms(now, k->health_at) >= k->spec->health_interval_ms)) {
        check_health(k);
        k->health_at = now;
    }
    if (k->command == COMMAND_RESUME || k->command == COMMAND_RELEASE)
        k->fault = false;
    *facts = (struct guard_facts){
        .claim = k->claim.verdict,
        .worker = presence(k),
        .drained = k->policy.state == GUARD_DRAINING && is_drained(k),
        .step = k->step,
        .memory_freed =
            (k->policy.state == GUARD_VERIFYING || (k->policy.state == GUARD_PAUSED && k->policy.not_freed)) && is_freed(k),
        .hot = k->hot,
        .cool = k->cool,
        .fault = k->fault,
        .unasked_ms = k->spec->limits.idle_ms ? unasked_ms(k, now) : 0,
        .asked = client_asks(k),
        .command = k->command,
    };
    if (k->policy.state == GUARD_RESERVING)
        facts->memory_enough = reserve(k, keeper_has_room(k));
    k->command = COMMAND_NONE;
}
