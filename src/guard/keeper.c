/* SPDX-License-Identifier: Apache-2.0
 * A keeper's thread: look, decide, act, report; then wait for the next look or a command.
 */
#include "guard/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "guard/gamemode.h"
#include "guard/guard_target.h"

enum { SHORT_WAIT_MS = 250, RESERVE_WAIT_MS = 1000, STOP_EVICTED_MS = 1500 };
/* How long the guard's end waits for a driver call in progress: checkpointing 40 GiB took 24 s. The service's TimeoutStopSec is
 * longer. */
enum { END_WAIT_MS = 45000, END_SAID_MS = 500, END_REQUEST_MS = 20000, END_TRIES = 5 };

static void spec_free(struct guard_spec *spec)
{
    if (spec)
        spec_done(spec);
    free(spec);
}

static bool is_off(enum guard_state state)
{
    return state == GUARD_DRAINING || state == GUARD_EVICTING || state == GUARD_VERIFYING || state == GUARD_PAUSED;
}

static void keeper_publish(struct keeper *k)
{
    int64_t bytes;
    pthread_mutex_lock(&k->lock);
    struct guard_status *s = &k->status;
    if (s->state != k->policy.state || !s->since.ms)
        s->since = clock_wall(k->env->clock);
    s->state = k->policy.state;
    int64_t left = guard_resume_in_ms(&k->policy, &k->spec->limits, clock_mono(k->env->clock));
    s->resumes_at = (struct wall){left < 0 ? 0 : clock_wall(k->env->clock).ms + left};
    s->claim = k->claim.verdict;
    if (k->claim.verdict == CLAIM_NONE && is_off(k->policy.state)) /* then no program is the reason */
        keeper_why(k, s->reason);
    else
        memcpy(s->reason, k->claim.reason, sizeof s->reason);
    str_copy(s->method, sizeof s->method, str_from(k->entry.acted_count ? k->entry.acted[k->entry.acted_count - 1] : ""));
    s->pid = k->worker.pid_count ? k->worker.pids[0].pid : k->entry.pid_count ? k->entry.pids[0].pid : 0;
    s->pid_count = k->worker.pid_count;
    k->shown = k->worker;
    s->others = k->claim.others;
    memcpy(s->gpus, k->worker.gpus, sizeof s->gpus);
    s->bytes = k->entry.acted_count                                                 ? k->entry.bytes
               : k->snapshot && claim_worker_bytes(k->snapshot, &k->worker, &bytes) ? bytes
                                                                                    : -1;
    s->held = k->policy.held || k->policy.evict_wanted;
    s->throttled = k->policy.throttled;
    s->idle = k->policy.idle && k->policy.state != GUARD_RUNNING;
    s->idle_ms = k->spec->limits.idle_ms;
    int64_t unasked = k->asked_at.ns ? mono_since_ms(clock_mono(k->env->clock), k->asked_at) : 0;
    s->asked_at = (struct wall){k->asked_at.ns && s->idle_ms ? clock_wall(k->env->clock).ms - unasked : 0};
    s->simulated = k->snapshot && k->snapshot->gpu_count && k->snapshot->gpus[0].simulated;
    s->hot = k->hot;
    s->fault = k->fault;
    s->blind = (k->spec->lists_processes || k->unsure) && k->claim.verdict == CLAIM_UNKNOWN && k->policy.state != GUARD_ABSENT;
    s->gave_up = k->policy.gave_up;
    s->not_freed = k->policy.not_freed;
    s->gated = k->gate != NULL;
    s->method_count = k->spec->method_count;
    gate_count(k->gate, &s->in_flight, &s->waiting);
    pthread_mutex_unlock(&k->lock);
}

static void ring(void *keeper)
{
    mailbox_put(((struct keeper *)keeper)->bell, keeper);
}

/* ---- the loop ---- */

static void check_child(struct keeper *k)
{
    int status = 0;
    if (!k->has_child || k->child.pid == 0 || !child_ended(k->env, &k->child, &status))
        return;
    k->entry.leader = (struct claim_identity){0};
    if (keeper_acted_through(k, "process"))
        return; /* an earlier guard stopped it and died before it ended: restart it when the GPU is free */
    k->entry.acted_count = 0;
    keeper_tell_end(k, status);
}

/* Clients made it reload while another program needs the GPU. */
static bool came_back_by_itself(struct keeper *k)
{
    int64_t now_bytes;
    bool wanted_off = k->policy.held || k->policy.evict_wanted || k->claim.verdict == CLAIM_SEEN || k->claim.verdict == CLAIM_SURE;
    return k->policy.state == GUARD_PAUSED && (!k->policy.not_freed || !k->entry.acted_count) && wanted_off && !k->spec->dry_run &&
           k->snapshot && claim_worker_bytes(k->snapshot, &k->worker, &now_bytes) &&
           now_bytes >= k->spec->claim.graphics_busy_bytes && now_bytes > k->entry.bytes / 2;
}

/* Servers differ in the time from agreeing to free memory to freeing it. */
static struct guard_limits limits_now(const struct keeper *k)
{
    struct guard_limits limits = k->spec->limits;
    const struct server_row *row = k->policy.method < k->spec->method_count ? k->spec->methods[k->policy.method].row : NULL;
    if (row && row->settle_ms)
        limits.verify_ms = row->settle_ms;
    return limits;
}

/* Without descriptors nothing is visible, and a blind guard is as quiet as an idle one. */
static bool lacks_descriptors(void)
{
    AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd < 0 && (errno == EMFILE || errno == ENFILE);
}

/* One look, and all steps that follow without waiting. Returns how long to wait. */
static int64_t keeper_step(struct keeper *k, int64_t max_age_ms)
{
    check_child(k);
    keeper_look(k, max_age_ms);
    if (lacks_descriptors())
        keeper_problem(k, "cannot determine who is using the GPU: out of file descriptors");
    else if ((k->spec->lists_processes || k->unsure) && k->claim.verdict == CLAIM_UNKNOWN)
        keeper_problem(k, "cannot determine who is using the GPU: %s", k->claim.reason);
    for (;;) {
        struct guard_facts facts;
        keeper_facts(k, &facts);
        enum guard_state before = k->policy.state;
        bool not_freed = k->policy.not_freed;
        struct guard_limits limits = limits_now(k);
        enum guard_action action = guard_step(&k->policy, &limits, &facts, clock_mono(k->env->clock));
        if (k->policy.state != before)
            keeper_tell_change(k, before);
        if (before == GUARD_PAUSED && not_freed && !k->policy.not_freed && facts.memory_freed)
            keeper_tell_freed_late(k);
        /* Publish long actions while they run, others when done: a reader of "running" must find everything undone, the gate
         * open, and the journal and the log consistent. */
        if (action == GUARD_DO_EVICT || action == GUARD_DO_RESUME)
            keeper_publish(k);
        keeper_act(k, action);
        if (action == GUARD_DO_NOTHING && came_back_by_itself(k)) {
            keeper_problem(k, "it loaded its memory again while paused; evicting it again (a gate in front of it prevents that)");
            guard_evict_again(&k->policy, clock_mono(k->env->clock));
            keeper_act(k, GUARD_DO_EVICT);
        }
        keeper_publish(k);
        if (k->ending)
            return 0;
        switch (k->policy.state) {
        case GUARD_EVICTING:
        case GUARD_RESUMING: continue;
        case GUARD_VERIFYING: return before == GUARD_VERIFYING ? SHORT_WAIT_MS : 0;
        case GUARD_DRAINING:
            if (before != GUARD_DRAINING)
                continue; /* maybe nothing is in flight */
            return SHORT_WAIT_MS;
        case GUARD_RESERVING:
            if (before != GUARD_RESERVING)
                continue;
            return MIN_OF(RESERVE_WAIT_MS, k->spec->interval_ms);
        case GUARD_RUNNING: {
            /* A command that wakes the keeper between the two looks must not delay the second one by an interval. */
            bool second = k->policy.seen && k->claim.verdict == CLAIM_SEEN && !k->policy.gave_up && !k->policy.forced;
            return second ? k->spec->limits.second_look_ms + 5 : k->spec->interval_ms;
        }
        case GUARD_PAUSED:
        case GUARD_ABSENT: return k->spec->interval_ms;
        }
    }
}

static void open_gamemode(struct keeper *k)
{
    bool wanted = k->spec->gamemode && k->spec->auto_evict;
    if (wanted && !k->gamemode)
        k->gamemode = gamemode_open(k->env);
    if (!wanted) {
        gamemode_close(k->gamemode);
        k->gamemode = NULL;
    }
}

/* Applies settings changed at run time. */
static void take_spec(struct keeper *k, struct guard_spec *fresh)
{
    struct error err = {0};
    bool evicted = k->entry.acted_count > 0;
    fresh->gate = (struct guard_gate_spec){
        .refuse = fresh->gate.refuse, .waiting_max = fresh->gate.waiting_max, .wait_ms = fresh->gate.wait_ms};
    str_copy(fresh->gate.listen, sizeof fresh->gate.listen, str_from(k->spec->gate.listen)); /* changes only with a restart */
    fresh->dry_run = fresh->dry_run && !evicted; /* an evicted worker must still come back */
    if (!fresh->dry_run && !k->journal.path[0] && k->shared->options.state_dir &&
        journal_open(&k->journal, k->shared->options.state_dir, fresh->name, &err) < 0)
        keeper_problem(k, "%s", err.text);
    finder_set_match(k->finder, &fresh->match, fresh->steam);
    gate_configure(k->gate, &fresh->gate);
    spec_free(k->spec);
    k->spec = fresh;
    open_gamemode(k);
    pthread_mutex_lock(&k->lock);
    k->status.dry_run = fresh->dry_run;
    k->status.method_count = fresh->method_count;
    pthread_mutex_unlock(&k->lock);
}

/* No guard will watch it from now on: if the GPU is free, give it its memory back first. */
static void keeper_finish(struct keeper *k)
{
    bool person = (k->policy.held || k->policy.evict_wanted) && !k->let_go;
    bool wanted_off = person || k->fault || (k->hot && k->spec->limits.hot_pauses);
    bool stopped = keeper_acted_through(k, "process"); /* don't start it just to end it */
    if (stopped || k->entry.acted_count == 0 || k->spec->dry_run || wanted_off)
        return;
    k->finishing = true;
    log_info("the guard ends and brings the worker back first", LOG_TEXT("worker", k->spec->name));
    k->spec->settings.resume_timeout_ms = MIN_OF(k->spec->settings.resume_timeout_ms, END_REQUEST_MS);
    for (int i = 0; i < END_TRIES && !k->abandoned; i++) {
        if (i)
            poll(NULL, 0, SHORT_WAIT_MS);
        keeper_look(k, 0);
        if (k->presence == WORKER_GONE)
            return;
        if (k->claim.verdict == CLAIM_UNKNOWN)
            continue; /* the next look may tell */
        if (k->claim.verdict != CLAIM_NONE || !keeper_has_room(k))
            return; /* correct: the GPU isn't free */
        if (keeper_undo_all(k))
            return;
    }
    keeper_tell(k, GUARD_EVENT_LEFT, k->policy.state, "the guard ends and could not bring the worker back");
}

/* Takes what others told the keeper; the bell only wakes it. */
static void empty_inbox(struct keeper *k)
{
    pthread_mutex_lock(&k->lock);
    struct keeper_inbox in = k->inbox;
    k->inbox = (struct keeper_inbox){0};
    pthread_mutex_unlock(&k->lock);
    k->command = in.command;
    for (size_t i = 0; i < in.event_count; i++)
        keeper_notice(k, &in.events[i]);
    if (in.spec)
        take_spec(k, in.spec);
}

static int open_gate(struct keeper *k, struct error *err)
{
    int rc = k->spec->gate.listen[0] ? gate_new(&k->spec->gate, k->spec->settings.url, &k->gate, err) : 0;
    gate_set_bell(k->gate, ring, k);
    return rc;
}

/* The worker was released and is wanted again: first finish what its last keeper has in progress. */
static void await_predecessor(struct keeper *k)
{
    struct error err = {0};
    if (!k->before)
        return;
    keeper_free(TAKE(k->before));
    if (open_gate(k, &err) < 0)
        keeper_problem(k, "%s", err.text);
}

static void *keeper_run(void *argument)
{
    struct keeper *k = argument;
    await_predecessor(k);
    open_gamemode(k);
    bool known;
    while (!(known = keeper_reconcile(k)) && !k->ending) /* commands wait until the worker's state is known */
        mailbox_take(k->bell, k->spec->interval_ms);
    if (!known)
        keeper_tell(k, GUARD_EVENT_LEFT, k->policy.state, "the guard ends and never learned what an earlier one had done");
    int64_t wait_ms = 0;
    for (;;) {
        struct mono begin = clock_mono(k->env->clock);
        mailbox_take(k->bell, MAX_OF(wait_ms, 0));
        if (k->ending)
            break;
        empty_inbox(k);
        /* In a stable state a sample made for another caller suffices; in a transition it must be new. */
        bool rest = k->policy.state == GUARD_RUNNING || k->policy.state == GUARD_PAUSED || k->policy.state == GUARD_ABSENT;
        begin = clock_mono(k->env->clock);
        wait_ms = keeper_step(k, rest && !k->policy.seen ? MIN_OF(SHORT_WAIT_MS, k->spec->interval_ms / 4) : 0);
        if (wait_ms == k->spec->interval_ms) /* the interval counts from look to look */
            wait_ms = MAX_OF(wait_ms - mono_since_ms(clock_mono(k->env->clock), begin), 1);
    }
    keeper_finish(k);
    k->ended = true;
    mailbox_put(k->done, k);
    return NULL;
}

/* ---- lifetime ---- */

static int start_child(struct keeper *k, const char *const *command, struct error *err)
{
    struct journal_entry before;
    k->has_child = true;
    k->child = (struct child){.argv = command};
    int rc = journal_read(&k->journal, &before, err);
    if (rc < 0 && rc != -ENOENT && rc != -EBADMSG)
        return rc; /* it may be running already */
    if (rc == 0) {
        enum worker_presence there = target_presence(k->env, before.leader);
        if (there == WORKER_UNKNOWN)
            return error_set(err, -EIO, "cannot tell whether process %d of an earlier guard still runs", before.leader.pid);
        if (there == WORKER_ALIVE) {
            k->child.pid = before.leader.pid;
            k->child.start_key = before.leader.start_key;
            k->child.adopted = true;
            log_info("the worker of an earlier guard still runs and is guarded again", LOG_TEXT("worker", k->spec->name),
                     LOG_INT("pid", k->child.pid));
            return 0;
        }
        for (size_t i = 0; i < before.acted_count; i++)
            if (strcmp(before.acted[i], "process") == 0)
                return 0; /* it was stopped for another program: start it when the GPU is free */
        journal_write(&k->journal, &(struct journal_entry){.state = GUARD_RUNNING}, NULL);
    }
    return child_start(k->env, &k->child, err);
}

static void keep_item(void *item)
{
    (void)item;
}

struct keeper *keeper_new(struct guard_shared *shared, struct guard_spec *spec, const char *const *command, struct keeper *before,
                          struct error *err)
{
    struct keeper *k = calloc(1, sizeof *k);
    if (k) {
        k->finder = finder_new(shared->options.env, &spec->match, spec->steam);
        k->bell = mailbox_new(1, keep_item);
        k->done = mailbox_new(1, keep_item);
    }
    if (!k || !k->finder || !k->bell || !k->done) {
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
    if (!before && open_gate(k, err) < 0)
        goto failed;
    if (command && start_child(k, command, err) < 0)
        goto failed;
    k->before = before;
    return k;
failed:
    if (k) {
        gate_free(k->gate);
        finder_free(k->finder);
        mailbox_free(k->bell);
        mailbox_free(k->done);
    }
    free(k);
    spec_free(spec);
    return NULL;
}

int keeper_start(struct keeper *k, struct error *err)
{
    int rc = pthread_create(&k->thread, NULL, keeper_run, k);
    k->started = rc == 0;
    return rc ? error_set(err, -rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

/* The last command wins; but a RESUME followed by a RELEASE still counts. */
void keeper_take_command(struct keeper *k, enum guard_command command)
{
    pthread_mutex_lock(&k->lock);
    if (command && !(command == COMMAND_RELEASE && k->inbox.command == COMMAND_RESUME))
        k->inbox.command = command;
    pthread_mutex_unlock(&k->lock);
    ring(k);
}

/* The first event of a fault suffices; more than fit add nothing. */
void keeper_tell_event(struct keeper *k, const struct event *event)
{
    pthread_mutex_lock(&k->lock);
    if (k->inbox.event_count < KEEPER_EVENTS_MAX)
        k->inbox.events[k->inbox.event_count++] = *event;
    pthread_mutex_unlock(&k->lock);
    ring(k);
}

void keeper_set_spec(struct keeper *k, struct guard_spec *spec)
{
    pthread_mutex_lock(&k->lock);
    struct guard_spec *older = k->inbox.spec;
    k->inbox.spec = spec;
    pthread_mutex_unlock(&k->lock);
    spec_free(older);
    ring(k);
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
        /* A worker whose memory is evicted is stuck in the driver and can't handle a polite signal. */
        if (k->entry.acted_count)
            k->child.stop_timeout_ms = STOP_EVICTED_MS;
        struct error err = {0};
        if (child_stop(k->env, &k->child, &err) < 0) {
            keeper_tell(k, GUARD_EVENT_LEFT, k->policy.state, "the guard ends, and its worker may go on: %s", err.text);
            return;
        }
        k->entry = (struct journal_entry){.state = GUARD_RUNNING};
        journal_write(&k->journal, &k->entry, NULL);
    } else if (k->entry.acted_count && !k->spec->dry_run && k->policy.state != GUARD_ABSENT) {
        log_warn("the guard ends, and the worker stays off the GPU; the next guard of it brings it back",
                 LOG_TEXT("worker", k->spec->name), LOG_TEXT("method", k->entry.acted[k->entry.acted_count - 1]));
    }
}

void keeper_end(struct keeper *k)
{
    k->ending = true;
    ring(k);
}

bool keeper_ended(const struct keeper *k)
{
    return k->ended;
}

/* Let a driver call in progress finish; leave one that hangs to its helper, and to the next guard. */
static void keeper_join(struct keeper *k)
{
    keeper_end(k);
    if (!mailbox_take(k->done, END_SAID_MS)) {
        log_info("waiting for the current step to end", LOG_TEXT("worker", k->status.name));
        if (!mailbox_take(k->done, END_WAIT_MS)) {
            log_warn("the current step doesn't end and is left alone; the worker's next guard repairs it",
                     LOG_TEXT("worker", k->status.name));
            k->abandoned = true;
        }
    }
    pthread_join(k->thread, NULL);
}

void keeper_free(struct keeper *k)
{
    if (!k)
        return;
    if (k->started)
        keeper_join(k);
    keeper_free(k->before); /* never started */
    keeper_leave_others(k);
    leave(k);
    gate_free(k->gate);
    keeper_unreserve(k);
    snapshot_unref(k->snapshot);
    gamemode_close(k->gamemode);
    finder_free(k->finder);
    mailbox_free(k->bell);
    mailbox_free(k->done);
    pthread_mutex_destroy(&k->lock);
    spec_free(k->inbox.spec);
    spec_free(k->spec);
    free(k);
}
