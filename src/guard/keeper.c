/* SPDX-License-Identifier: Apache-2.0
 * A keeper's thread: look, decide, act, tell; then wait for the next look or for somebody's wish.
 */
#include "guard/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "guard/target.h"

enum { WISHES_MAX = 16, SHORT_WAIT_MS = 250, RESERVE_WAIT_MS = 1000, STOP_EVICTED_MS = 1500 };
#define GIB_BYTES (1024.0 * 1024 * 1024)

struct wish {
    enum person_wish what;
    bool end;
};

/* ---- telling ---- */

static void tell(struct keeper *k, enum guard_event_kind kind, enum guard_state before, const char *text, int status)
{
    struct log_field worker = LOG_TEXT("worker", k->spec->name), state = LOG_TEXT("state", guard_state_name(k->policy.state));
    if (kind == GUARD_EVENT_PROBLEM)
        log_warn(text, worker, state);
    else
        log_info(text, worker, state);
    if (k->shared->options.event)
        k->shared->options.event(k->shared->options.user, &(struct guard_event){.kind = kind,
                                                                                .worker = k->spec->name,
                                                                                .state = k->policy.state,
                                                                                .before = before,
                                                                                .text = text,
                                                                                .exit_status = status,
                                                                                .at = clock_wall(k->env->clock)});
}

void keeper_tell(struct keeper *k, enum guard_event_kind kind, enum guard_state before, const char *format, ...)
{
    char text[GUARD_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tell(k, kind, before, text, 0);
}

/* Said once, not at every look: the same problem again is only counted. */
void keeper_problem(struct keeper *k, const char *format, ...)
{
    char text[GUARD_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&k->lock);
    bool again = strcmp(k->status.problem, text) == 0;
    str_copy(k->status.problem, sizeof k->status.problem, str_from(text));
    pthread_mutex_unlock(&k->lock);
    if (!again)
        tell(k, GUARD_EVENT_PROBLEM, k->policy.state, text, 0);
}

static double gib(int64_t bytes)
{
    return (double)bytes / GIB_BYTES;
}

static void tell_paused(struct keeper *k, enum guard_state before)
{
    struct mono now = clock_mono(k->env->clock);
    if (before == GUARD_RESERVING || before == GUARD_RESUMING) {
        keeper_tell(k, GUARD_EVENT_STATE, before, "stays paused: %s", k->claim.reason);
        return;
    }
    if (k->policy.not_freed) {
        keeper_tell(k, GUARD_EVENT_STATE, before, "paused");
        keeper_problem(k, "it was asked to free its memory and said yes, but the driver shows that it still holds it");
        return;
    }
    pthread_mutex_lock(&k->lock);
    k->status.evictions_total++;
    k->status.problem[0] = '\0';
    pthread_mutex_unlock(&k->lock);
    keeper_tell(k, GUARD_EVENT_STATE, before, "paused; %.1f GiB of GPU memory were given back %.1f s after the decision",
                gib(k->entry.bytes), (double)mono_since_ms(now, k->acted_at) / 1000);
}

/* The story, one sentence a step. */
static void tell_change(struct keeper *k, enum guard_state before)
{
    const char *why = k->policy.held           ? "a person holds it"
                      : k->policy.evict_wanted ? "a person wants it off the GPU"
                      : k->fault               ? "its GPU has a fault"
                      : k->hot                 ? "its GPU is too hot"
                                               : k->claim.reason;
    switch (k->policy.state) {
    case GUARD_DRAINING:
        k->acted_at = clock_mono(k->env->clock);
        keeper_tell(k, GUARD_EVENT_STATE, before, "gives its GPU up: %s", why);
        break;
    case GUARD_EVICTING:
        keeper_tell(k, GUARD_EVENT_STATE, before, "taking it off the GPU through %s",
                    k->policy.way < k->spec->way_count ? k->spec->ways[k->policy.way].name : "?");
        break;
    case GUARD_PAUSED: tell_paused(k, before); break;
    case GUARD_RESERVING:
        keeper_tell(k, GUARD_EVENT_STATE, before, "%s; waiting for %.1f GiB of free GPU memory", k->claim.reason,
                    gib(k->entry.bytes));
        break;
    case GUARD_RESUMING: keeper_tell(k, GUARD_EVENT_STATE, before, "bringing it back"); break;
    case GUARD_RUNNING:
        keeper_tell(k, GUARD_EVENT_STATE, before,
                    before == GUARD_RESUMING ? "runs again"
                    : before == GUARD_ABSENT ? "is there"
                                             : "goes on");
        break;
    case GUARD_ABSENT:
        if (before != GUARD_RUNNING)
            keeper_problem(k, "the worker ended while it was %s", guard_state_name(before));
        keeper_tell(k, GUARD_EVENT_STATE, before, "is not there");
        break;
    case GUARD_VERIFYING: keeper_tell(k, GUARD_EVENT_STATE, before, "asking the driver whether the memory is free"); break;
    }
}

/* What was said loudly before turned out well, only late: a model that worked was unloaded when it had ended. */
static void tell_freed_late(struct keeper *k)
{
    pthread_mutex_lock(&k->lock);
    k->status.evictions_total++;
    k->status.problem[0] = '\0';
    pthread_mutex_unlock(&k->lock);
    keeper_tell(k, GUARD_EVENT_STATE, GUARD_PAUSED, "its memory is free now, %.1f s after the decision",
                (double)mono_since_ms(clock_mono(k->env->clock), k->acted_at) / 1000);
}

static void publish(struct keeper *k)
{
    int64_t bytes;
    pthread_mutex_lock(&k->lock);
    struct guard_status *s = &k->status;
    if (s->state != k->policy.state || !s->since.ms)
        s->since = clock_wall(k->env->clock);
    s->state = k->policy.state;
    s->claim = k->claim.verdict;
    memcpy(s->reason, k->claim.reason, sizeof s->reason);
    str_copy(s->way, sizeof s->way, str_from(k->entry.acted_count ? k->entry.acted[k->entry.acted_count - 1] : ""));
    s->pid = k->worker.pid_count ? k->worker.pids[0].pid : k->entry.pid_count ? k->entry.pids[0].pid : 0;
    s->pid_count = k->worker.pid_count;
    k->shown = k->worker;
    s->others = k->claim.others;
    memcpy(s->gpus, k->worker.gpus, sizeof s->gpus);
    s->bytes = k->entry.acted_count                                                 ? k->entry.bytes
               : k->snapshot && claim_worker_bytes(k->snapshot, &k->worker, &bytes) ? bytes
                                                                                    : 0;
    s->held = k->policy.held || k->policy.evict_wanted;
    s->throttled = k->policy.throttled;
    s->hot = k->hot;
    s->fault = k->fault;
    s->gave_up = k->policy.gave_up;
    s->not_freed = k->policy.not_freed;
    s->gated = k->gate != NULL;
    gate_count(k->gate, &s->in_flight, &s->waiting);
    pthread_mutex_unlock(&k->lock);
}

/* ---- the loop ---- */

static void check_child(struct keeper *k)
{
    int status = 0;
    if (!k->has_child || k->child.pid == 0 || !child_ended(k->env, &k->child, &status))
        return;
    k->entry.leader = (struct claim_identity){0};
    k->entry.acted_count = 0;
    tell(k, GUARD_EVENT_ENDED, k->policy.state, status ? "the worker ended with an error" : "the worker ended", status);
}

/* Clients made it load again while somebody needs the GPU. */
static bool came_back_by_itself(struct keeper *k)
{
    int64_t now_bytes;
    bool wanted_off = k->policy.held || k->policy.evict_wanted || k->claim.verdict == CLAIM_SEEN || k->claim.verdict == CLAIM_SURE;
    return k->policy.state == GUARD_PAUSED && (!k->policy.not_freed || !k->entry.acted_count) && wanted_off && !k->spec->dry_run &&
           k->snapshot && claim_worker_bytes(k->snapshot, &k->worker, &now_bytes) &&
           now_bytes >= k->spec->claim.graphics_busy_bytes && now_bytes > k->entry.bytes / 2;
}

/* Servers take different times from their yes to free memory. */
static struct guard_limits limits_now(const struct keeper *k)
{
    struct guard_limits limits = k->spec->limits;
    const struct http_way *row = k->policy.way < k->spec->way_count ? k->spec->ways[k->policy.way].row : NULL;
    if (row && row->settle_ms)
        limits.verify_ms = row->settle_ms;
    return limits;
}

/* One look, and all steps that follow from it without waiting. Returns how long to wait. */
static int64_t step(struct keeper *k, int64_t max_age_ms)
{
    check_child(k);
    keeper_look(k, max_age_ms);
    if (k->spec->lists_processes && k->claim.verdict == CLAIM_UNKNOWN)
        keeper_problem(k, "it cannot be told who uses the GPU: %s", k->claim.reason);
    for (;;) {
        struct guard_facts facts;
        keeper_facts(k, &facts);
        enum guard_state before = k->policy.state;
        bool not_freed = k->policy.not_freed;
        struct guard_limits limits = limits_now(k);
        enum guard_action action = guard_step(&k->policy, &limits, &facts, clock_mono(k->env->clock));
        if (k->policy.state != before)
            tell_change(k, before);
        if (before == GUARD_PAUSED && not_freed && !k->policy.not_freed && facts.memory_freed)
            tell_freed_late(k);
        publish(k);
        keeper_act(k, action);
        if (action == GUARD_DO_NOTHING && came_back_by_itself(k)) {
            keeper_problem(k, "it loaded its memory again while paused; evicting it again (a gate in front of it prevents that)");
            guard_evict_again(&k->policy, clock_mono(k->env->clock));
            keeper_act(k, GUARD_DO_EVICT);
        }
        publish(k);
        switch (k->policy.state) {
        case GUARD_EVICTING:
        case GUARD_RESUMING: continue;
        case GUARD_VERIFYING: return before == GUARD_VERIFYING ? SHORT_WAIT_MS : 0;
        case GUARD_DRAINING:
            if (before != GUARD_DRAINING)
                continue; /* perhaps nothing is in flight */
            return SHORT_WAIT_MS;
        case GUARD_RESERVING:
            if (before != GUARD_RESERVING)
                continue;
            return MIN_OF(RESERVE_WAIT_MS, k->spec->interval_ms);
        case GUARD_RUNNING: {
            /* Somebody who wakes the keeper between the two looks must not put the second one off by an interval. */
            bool second = k->policy.seen && k->claim.verdict == CLAIM_SEEN && !k->policy.gave_up && !k->policy.forced;
            return second ? k->spec->limits.second_look_ms + 5 : k->spec->interval_ms;
        }
        case GUARD_PAUSED:
        case GUARD_ABSENT: return k->spec->interval_ms;
        }
    }
}

static void *run(void *argument)
{
    struct keeper *k = argument;
    if (k->spec->gamemode && k->spec->auto_evict)
        k->gamemode = gamemode_open(k->env);
    keeper_reconcile(k);
    int64_t wait_ms = 0;
    for (;;) {
        struct mono begin = clock_mono(k->env->clock);
        struct wish *w = wait_ms > 0 ? mailbox_take(k->wishes, wait_ms) : mailbox_take(k->wishes, 0);
        bool end = w && w->end;
        k->wish = w ? w->what : WISH_NONE;
        free(w);
        if (end)
            return NULL;
        /* At rest the sample of somebody else is good enough; in the middle of something it must be new. */
        bool rest = k->policy.state == GUARD_RUNNING || k->policy.state == GUARD_PAUSED || k->policy.state == GUARD_ABSENT;
        begin = clock_mono(k->env->clock);
        wait_ms = step(k, rest && !k->policy.seen ? MIN_OF(SHORT_WAIT_MS, k->spec->interval_ms / 4) : 0);
        if (wait_ms == k->spec->interval_ms) /* the interval goes from look to look */
            wait_ms = MAX_OF(wait_ms - mono_since_ms(clock_mono(k->env->clock), begin), 1);
    }
}

/* ---- life ---- */

static int start_child(struct keeper *k, const char *const *command, struct error *err)
{
    struct journal_entry before;
    k->has_child = true;
    k->child = (struct child){.argv = command};
    if (journal_read(&k->journal, &before, NULL) == 0) {
        if (before.leader.pid && target_alive(k->env, before.leader)) {
            k->child.pid = before.leader.pid;
            k->child.start_key = before.leader.start_key;
            k->child.adopted = true;
            log_info("the worker of an earlier guard still runs and is guarded again", LOG_TEXT("worker", k->spec->name),
                     LOG_INT("pid", k->child.pid));
            return 0;
        }
        for (size_t i = 0; i < before.acted_count; i++)
            if (strcmp(before.acted[i], "process") == 0)
                return 0; /* it was stopped for somebody: it is started when the GPU is free */
        journal_write(&k->journal, &(struct journal_entry){.state = GUARD_RUNNING}, NULL);
    }
    return child_start(k->env, &k->child, err);
}

struct keeper *keeper_new(struct guard_shared *shared, struct guard_spec *spec, const char *const *command, struct error *err)
{
    struct keeper *k = calloc(1, sizeof *k);
    if (k) {
        k->finder = finder_new(shared->options.env, &spec->match, spec->steam);
        k->wishes = mailbox_new(WISHES_MAX, free);
    }
    if (!k || !k->finder || !k->wishes) {
        error_set(err, -ENOMEM, "out of memory");
        goto failed;
    }
    k->shared = shared;
    k->spec = spec;
    k->env = shared->options.env;
    k->cool = true;
    pthread_mutex_init(&k->lock, NULL);
    str_copy(k->status.name, sizeof k->status.name, str_from(spec->name));
    k->status.dry_run = spec->dry_run;
    k->status.state = GUARD_ABSENT;
    k->policy.state = GUARD_ABSENT;
    if (shared->options.state_dir && !spec->dry_run && journal_open(&k->journal, shared->options.state_dir, spec->name, err) < 0)
        goto failed;
    if (spec->gate.listen[0] && gate_new(&spec->gate, spec->settings.url, &k->gate, err) < 0)
        goto failed;
    if (command && start_child(k, command, err) < 0)
        goto failed;
    return k;
failed:
    if (k) {
        gate_free(k->gate);
        finder_free(k->finder);
        mailbox_free(k->wishes);
    }
    free(k);
    spec_done(spec);
    free(spec);
    return NULL;
}

int keeper_start(struct keeper *k, struct error *err)
{
    int rc = pthread_create(&k->thread, NULL, run, k);
    k->started = rc == 0;
    return rc ? error_set(err, -rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

static void put(struct keeper *k, struct wish wish)
{
    struct wish *w = malloc(sizeof *w);
    if (!w)
        return;
    *w = wish;
    mailbox_put(k->wishes, w);
}

void keeper_wish(struct keeper *k, enum person_wish wish)
{
    put(k, (struct wish){.what = wish});
}

void keeper_status(struct keeper *k, struct guard_status *ret)
{
    pthread_mutex_lock(&k->lock);
    *ret = k->status;
    pthread_mutex_unlock(&k->lock);
}

static void leave(struct keeper *k)
{
    if (k->has_child && k->child.pid) {
        /* One whose memory is away waits in the driver and cannot listen to a polite signal. */
        if (k->entry.acted_count)
            k->child.stop_timeout_ms = STOP_EVICTED_MS;
        child_stop(k->env, &k->child, NULL);
        k->entry = (struct journal_entry){.state = GUARD_RUNNING};
        journal_write(&k->journal, &k->entry, NULL);
    } else if (k->entry.acted_count && !k->spec->dry_run && k->policy.state != GUARD_ABSENT) {
        log_warn("the guard ends, and the worker stays off the GPU; the next guard of it brings it back",
                 LOG_TEXT("worker", k->spec->name), LOG_TEXT("way", k->entry.acted[k->entry.acted_count - 1]));
    }
}

void keeper_free(struct keeper *k)
{
    if (!k)
        return;
    if (k->started) {
        put(k, (struct wish){.end = true});
        pthread_join(k->thread, NULL);
    }
    leave(k);
    gate_free(k->gate);
    if (k->reserved)
        pthread_mutex_unlock(&k->shared->resuming);
    snapshot_unref(k->snapshot);
    gamemode_close(k->gamemode);
    finder_free(k->finder);
    mailbox_free(k->wishes);
    pthread_mutex_destroy(&k->lock);
    spec_done(k->spec);
    free(k->spec);
    free(k);
}
