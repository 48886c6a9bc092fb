/* SPDX-License-Identifier: Apache-2.0
 * A keeper's actions: evicts and resumes through the methods, and cleans up after an earlier run. Writes the journal before each
 * step.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "guard/cuda.h"
#include "guard/guard_target.h"
#include "guard/keeper.h"
#include "host/procfs.h"

struct method_context keeper_context(struct keeper *k)
{
    return (struct method_context){
        .env = k->env,
        .settings = &k->spec->settings,
        .worker = &k->worker,
        .snapshot = k->snapshot,
        .journal = &k->journal,
        .entry = &k->entry,
        .child = k->has_child ? &k->child : NULL,
        .ending = k->finishing ? NULL : &k->ending,
        .abandon = &k->abandoned,
    };
}

bool keeper_acted_through(const struct keeper *k, const char *method)
{
    for (size_t i = 0; i < k->entry.acted_count; i++)
        if (strcmp(k->entry.acted[i], method) == 0)
            return true;
    return false;
}

static void write_journal(struct keeper *k)
{
    struct error err = {0};
    k->entry.state = k->policy.state;
    k->entry.held = k->policy.held || k->policy.evict_wanted;
    k->entry.idle = k->policy.idle;
    if (k->has_child)
        k->entry.leader = (struct claim_identity){k->child.pid, k->child.pid ? k->child.start_key : 0};
    if (journal_write(&k->journal, &k->entry, &err) < 0)
        keeper_problem(k, "%s", err.text);
}

static const struct method *find_method(const struct keeper *k, const char *name)
{
    for (size_t i = 0; i < k->spec->method_count; i++)
        if (strcmp(k->spec->methods[i].name, name) == 0)
            return &k->spec->methods[i];
    return NULL;
}

/* ---- evict ---- */

/* Records the claimant: a guard killed meanwhile must not count it as part of the baseline. */
static void note_claimant(struct keeper *k)
{
    k->entry.claimant = (struct claim_identity){0};
    for (size_t g = 0; k->claim.pid && k->snapshot && g < k->snapshot->gpu_count; g++)
        for (size_t i = 0; i < k->snapshot->gpus[g].process_count; i++) {
            const struct process *p = &k->snapshot->gpus[g].processes[i];
            if (p->pid == k->claim.pid && p->start_key)
                k->entry.claimant = (struct claim_identity){p->pid, p->start_key};
        }
}

static void note_acting(struct keeper *k, const char *method)
{
    if (!keeper_acted_through(k, method) && k->entry.acted_count < JOURNAL_METHODS_MAX)
        str_copy(k->entry.acted[k->entry.acted_count++], JOURNAL_NAME_SIZE, str_from(method));
}

static void evict(struct keeper *k)
{
    const struct method *method = &k->spec->methods[MIN_OF((size_t)k->policy.method, k->spec->method_count - 1)];
    struct error err = {0};
    keeper_look(k, 0); /* what it holds at this moment counts, not at the last look */
    if (!k->snapshot || k->unsure) {
        const char *why = k->snapshot ? strerror(-k->unsure) : "no source answered";
        snprintf(k->failure, sizeof k->failure, "%s: %s", method->name, why);
        keeper_problem(k, "cannot tell what it holds on the GPU now (%s); it is left there", why);
        k->step = STEP_FAILED;
        return;
    }
    if (k->policy.method == 0 || k->entry.gpu_count == 0)
        keeper_note_gpus(k);
    if (k->spec->dry_run) {
        log_info("would evict the worker now", LOG_TEXT("worker", k->spec->name), LOG_TEXT("method", method->name),
                 LOG_INT("mib", k->entry.bytes >> 20));
        k->step = STEP_DONE;
        return;
    }
    if (k->entry.gpu_count == 0 && k->entry.acted_count == 0 && !method->row && strcmp(method->name, "process") != 0) {
        k->step = STEP_DONE; /* it holds nothing to evict */
        return;
    }
    size_t acted_before = k->entry.acted_count;
    k->entry.step[0] = '\0';
    note_acting(k, method->name);
    write_journal(k);
    struct mono begin = clock_mono(k->env->clock);
    struct method_context c = keeper_context(k);
    int rc = method_evict(method, &c, &err);
    int64_t took = mono_since_ms(clock_mono(k->env->clock), begin);
    if (k->entry.pid_count)
        finder_remember(k->finder, k->entry.pids, k->entry.pid_count);
    k->step = rc == 0 ? STEP_DONE : STEP_FAILED;
    pthread_mutex_lock(&k->lock);
    k->status.evict_ms = took;
    k->status.failures_total += rc < 0;
    pthread_mutex_unlock(&k->lock);
    if (rc < 0) {
        /* Refused before acting, or reverted on its own: nothing to undo. */
        if (!k->entry.step[0] || (!method->row && method_find_state(method, &c, NULL) == METHOD_FOUND_RUNNING))
            k->entry.acted_count = acted_before;
        snprintf(k->failure, sizeof k->failure, "%s: %s", method->name, err.text);
        keeper_problem(k, "evicting through %s failed: %s", method->name, err.text);
    } else {
        log_info("the method was carried out", LOG_TEXT("worker", k->spec->name), LOG_TEXT("method", method->name),
                 LOG_INT("ms", took), LOG_INT("mib", k->entry.bytes >> 20));
    }
    write_journal(k);
}

/* ---- resume ---- */

bool keeper_undo_all(struct keeper *k)
{
    bool all = true;
    for (size_t i = k->entry.acted_count; all && i-- > 0;) {
        struct error err = {0};
        const struct method *method = find_method(k, k->entry.acted[i]);
        struct method other;
        if (!method && method_resolve(k->entry.acted[i], &other, NULL) == 0)
            method = &other; /* it was configured when it acted */
        if (!method) {
            keeper_problem(k, "the method '%s' that took it off the GPU is no longer configured", k->entry.acted[i]);
            continue;
        }
        struct method_context c = keeper_context(k);
        if (method_resume(method, &c, &err) < 0) {
            all = false;
            keeper_problem(k, "bringing it back through %s failed: %s; retrying later", method->name, err.text);
        } else {
            k->entry.acted_count = i;
            write_journal(k);
        }
    }
    return all;
}

static void resume(struct keeper *k)
{
    if (k->spec->dry_run) {
        log_info("would bring the worker back now", LOG_TEXT("worker", k->spec->name));
        k->step = STEP_DONE;
        return;
    }
    write_journal(k);
    struct mono begin = clock_mono(k->env->clock);
    bool all = keeper_undo_all(k);
    if (all && k->gate && !gate_await_worker(k->gate, k->spec->settings.resume_timeout_ms, &k->ending) && !k->ending)
        keeper_problem(k, "it was brought back, but its port does not answer yet");
    k->step = all ? STEP_DONE : STEP_FAILED;
    keeper_look(k, 0); /* what it holds now */
    pthread_mutex_lock(&k->lock);
    k->status.resume_ms = mono_since_ms(clock_mono(k->env->clock), begin);
    k->status.resumes_total += all;
    k->status.failures_total += !all;
    pthread_mutex_unlock(&k->lock);
}

/* The driver shows what it held before, so it runs, whatever a server did or didn't do. (A locked process holds its memory,
 * too.) */
static bool holds_all_again(struct keeper *k)
{
    int64_t now;
    for (size_t i = 0; i < k->entry.acted_count; i++) {
        const struct method *method = find_method(k, k->entry.acted[i]);
        if (!method || !method->row)
            return false;
    }
    keeper_look(k, 0);
    return k->snapshot && k->entry.bytes > 0 && claim_worker_bytes(k->snapshot, &k->worker, &now) &&
           now >= k->entry.bytes - k->entry.bytes / 10;
}

/* Methods that acted before the last one failed must not leave the worker partly evicted. */
static void open_gate(struct keeper *k)
{
    if (k->policy.state == GUARD_RUNNING && k->entry.acted_count && !k->spec->dry_run && !keeper_undo_all(k) &&
        !holds_all_again(k)) {
        struct guard_policy kept = k->policy;
        guard_restore(&k->policy, GUARD_PAUSED, clock_mono(k->env->clock));
        k->policy.not_freed = true;
        k->policy.leave_ms = kept.leave_ms;
    }
    if (k->policy.state == GUARD_RUNNING) {
        k->entry.acted_count = 0;
        k->entry.claimant = (struct claim_identity){0};
    }
    if (k->policy.state == GUARD_ABSENT) {
        k->entry.acted_count = k->entry.item_count = k->entry.pid_count = k->entry.gpu_count = 0;
        finder_remember(k->finder, NULL, 0);
    }
    if (k->policy.gave_up)
        keeper_problem(k, "no method could take it off the GPU, so it keeps running (%s)", k->failure);
}

/* Its own server unloaded it, and still answers requests that need no model. */
static bool server_answers(const struct keeper *k)
{
    bool server = k->policy.state == GUARD_PAUSED && k->entry.acted_count > 0;
    for (size_t i = 0; i < k->entry.acted_count; i++) {
        const struct method *method = find_method(k, k->entry.acted[i]);
        server &= method && method->row;
    }
    return server;
}

/* Clients pass while it runs, one at a time while it is hot, and wait otherwise. */
static void set_gate(struct keeper *k)
{
    bool runs = k->policy.state == GUARD_RUNNING || k->policy.state == GUARD_ABSENT;
    bool asleep = k->policy.idle && !runs;
    if (k->gate && !k->spec->dry_run)
        gate_set(k->gate, asleep                ? (server_answers(k) ? GATE_READS : GATE_ASLEEP)
                          : !runs               ? GATE_CLOSED
                          : k->policy.throttled ? GATE_ONE
                                                : GATE_OPEN);
}

void keeper_act(struct keeper *k, enum guard_action action)
{
    set_gate(k);
    if (action != GUARD_DO_NOTHING && action != GUARD_DO_LOOK_AGAIN)
        k->step = STEP_PENDING;
    switch (action) {
    case GUARD_DO_EVICT: evict(k); return;
    case GUARD_DO_RESUME: resume(k); break;
    case GUARD_DO_OPEN_GATE:
        open_gate(k);
        set_gate(k);
        break;
    case GUARD_DO_DRAIN: note_claimant(k); break;
    case GUARD_DO_NOTHING:
    case GUARD_DO_LOOK_AGAIN:
    case GUARD_DO_VERIFY:
    case GUARD_DO_RESERVE: break;
    case GUARD_DO_THROTTLE:
    case GUARD_DO_UNTHROTTLE: keeper_tell_throttle(k); break;
    }
    if (k->policy.state != GUARD_RESERVING && action != GUARD_DO_RESERVE)
        keeper_unreserve(k);
    if (action != GUARD_DO_NOTHING && action != GUARD_DO_LOOK_AGAIN)
        write_journal(k);
}

/* ---- after a restart ---- */

/* A temporary shortage: the question remains unanswered. */
static bool is_shortage(int rc)
{
    return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -EAGAIN;
}

/* A worker that was left locked or checkpointed without a journal entry. Negative: unknown for now. */
static int found_checkpointed(struct keeper *k, struct error *err)
{
    struct claim_identity who = k->has_child ? (struct claim_identity){k->child.pid, k->child.start_key} : k->spec->match.leader;
    enum cuda_process_state state = CUDA_PROCESS_RUNNING;
    int rc = find_method(k, "checkpoint") && who.pid ? target_started(k->env, who.pid, &who.start_key) : -ESRCH;
    if (rc < 0)
        return rc == -ESRCH ? 0 : error_set(err, rc, "cannot read process %d: %s", who.pid, strerror(-rc));
    rc = cuda_call(k->env, CUDA_GET_STATE, who.pid, 3000, &k->abandoned, &state, err);
    if (rc < 0 || (state != CUDA_PROCESS_LOCKED && state != CUDA_PROCESS_CHECKPOINTED))
        return is_shortage(rc) ? rc : 0;
    note_acting(k, "checkpoint");
    k->entry.pids[0] = who;
    k->entry.pid_count = 1;
    /* What it held is no longer known, but it is in host memory now, so that is an upper bound. */
    char path[64], text[8192];
    struct proc_status host = {.vm_rss_bytes = 0};
    snprintf(path, sizeof path, "/proc/%d/status", who.pid);
    ssize_t len = file_read_head(k->env, path, text, sizeof text);
    if (len > 0)
        proc_status_parse((struct str){text, (size_t)len}, &host);
    k->entry.gpus[0].gpu = 0;
    k->entry.gpus[0].bytes = k->entry.bytes = MAX_OF(host.vm_rss_bytes, 1);
    k->entry.gpu_count = 1;
    keeper_problem(k, "process %d was found %s, and the journal doesn't say why", who.pid, cuda_process_state_name(state));
    return 1;
}

static bool still_evicted(struct keeper *k)
{
    bool evicted = false;
    for (size_t i = 0; i < k->entry.acted_count; i++) {
        struct error err = {0};
        const struct method *method = find_method(k, k->entry.acted[i]);
        struct method other;
        if (!method && method_resolve(k->entry.acted[i], &other, NULL) == 0)
            method = &other;
        struct method_context c = keeper_context(k);
        enum method_found found = method ? method_find_state(method, &c, &err) : METHOD_FOUND_UNKNOWN;
        log_debug("found after a restart", LOG_TEXT("worker", k->spec->name), LOG_TEXT("method", k->entry.acted[i]),
                  LOG_INT("found", found));
        evicted |= found != METHOD_FOUND_RUNNING;
    }
    return evicted;
}

/* The worker has all its memory, but an earlier guard had started to evict it. If no program needs the GPU any more, the first
 * look ends that. */
static void go_on_draining(struct keeper *k)
{
    enum guard_state was = k->entry.state;
    if (was != GUARD_DRAINING && was != GUARD_EVICTING && was != GUARD_VERIFYING)
        return;
    guard_restore(&k->policy, GUARD_DRAINING, clock_mono(k->env->clock));
    k->policy.held = k->entry.held;
    keeper_tell(k, GUARD_EVENT_STATE, GUARD_RUNNING, "an earlier guard had begun to take it off the GPU; continuing");
}

bool keeper_reconcile(struct keeper *k)
{
    struct error err = {0};
    struct mono now = clock_mono(k->env->clock);
    guard_restore(&k->policy, GUARD_RUNNING, now);
    if (k->spec->dry_run)
        return true;
    struct claim_identity leader =
        k->has_child ? (struct claim_identity){k->child.pid, k->child.start_key} : (struct claim_identity){0};
    int rc = journal_read(&k->journal, &k->entry, &err);
    if (rc < 0 && rc != -ENOENT)
        keeper_problem(k, "%s%s", err.text, rc == -EBADMSG ? "" : "; until its journal can be read, the worker is left as it is");
    if (rc < 0 && rc != -ENOENT && rc != -EBADMSG)
        return false;
    if (k->has_child)
        k->entry.leader = leader;
    if (k->entry.pid_count)
        finder_remember(k->finder, k->entry.pids, k->entry.pid_count);
    int evicted = k->entry.acted_count ? still_evicted(k) : found_checkpointed(k, &err);
    if (evicted < 0) {
        keeper_problem(k, "%s; until that works, the worker is left as it is", err.text);
        return false;
    }
    if (evicted) {
        guard_restore(&k->policy, GUARD_PAUSED, now);
        k->policy.held = k->entry.held;
        k->policy.idle = k->entry.idle && k->spec->limits.idle_ms;
        keeper_tell(k, GUARD_EVENT_STATE, GUARD_RUNNING, "an earlier guard left it off the GPU; it comes back when %s",
                    k->policy.idle ? "a request arrives" : "the GPU is free");
    } else {
        k->entry.acted_count = 0;
        k->entry.step[0] = '\0';
        go_on_draining(k);
    }
    write_journal(k);
    return true;
}
