/* SPDX-License-Identifier: Apache-2.0
 * The coordinator: one thread that owns all state, fed by one mailbox. It starts a round when the interval is over or a caller
 * asks: one sample of every wanted source, and the snapshot published when all have answered or one hangs.
 */
#include "engine/engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/internal.h"
#include "insight/verdict/judge.h"
#include "model/job.h"
#include "model/snapshot.h"

/* ---- cadence: which metric groups a sample reads ---- */

enum { GAME_LOAD_PERMILLE = 200, JITTER_MS = 250 };

static bool due(bool done, struct mono at, int64_t every_ms, struct mono now)
{
    /* A timer that fires slightly early must not delay a group to the next sample. */
    return !done || mono_since_ms(now, at) >= every_ms - JITTER_MS;
}

unsigned cadence_due(const struct cadence *c, bool game_runs, struct mono now)
{
    unsigned groups = GROUP_FAST;
    if (!game_runs || due(c->process_done, c->process_at, CADENCE_GAME_PROCESS_MS, now))
        groups |= GROUP_PROCESS;
    if (!c->static_done)
        groups |= GROUP_STATIC;
    if (due(c->slow_done, c->slow_at, CADENCE_SLOW_MS, now))
        groups |= GROUP_SLOW;
    if (due(c->rare_done, c->rare_at, CADENCE_RARE_MS, now))
        groups |= GROUP_RARE | GROUP_SLOW; /* some sources can read these only together */
    return groups;
}

void cadence_read(struct cadence *c, unsigned groups, struct mono now)
{
    if (groups & GROUP_STATIC)
        c->static_done = true;
    if (groups & GROUP_PROCESS) {
        c->process_done = true;
        c->process_at = now;
    }
    if (groups & GROUP_SLOW) {
        c->slow_done = true;
        c->slow_at = now;
    }
    if (groups & GROUP_RARE) {
        c->rare_done = true;
        c->rare_at = now;
    }
}

bool cadence_game_runs(const struct gpu *gpus, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < gpus[i].process_count; p++)
            if ((gpus[i].processes[p].type & PROCESS_GRAPHICS) &&
                reading_or(gpus[i].processes[p].util_permille, 0) >= GAME_LOAD_PERMILLE)
                return true;
    return false;
}

/* ---- publication ---- */

static void set_latest(struct engine *e, const struct snapshot *s)
{
    pthread_mutex_lock(&e->latest_lock);
    const struct snapshot *old = e->latest;
    e->latest = s;
    pthread_mutex_unlock(&e->latest_lock);
    snapshot_unref(old);
}

/* A round for another caller may have read less than a waiter needs: that waiter stays for one more round. */
static void answer_waiters(struct engine *e, const struct snapshot *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->waiter_count; i++) {
        struct waiter w = e->waiters[i];
        unsigned wanted = w.groups & GROUP_ALL;
        if ((s->groups & wanted) == wanted || w.waited_on) {
            mailbox_put(w.reply, (void *)snapshot_ref(s));
        } else {
            w.waited_on = true;
            e->waiters[kept++] = w;
        }
    }
    e->waiter_count = kept;
}

/* This host, unless all open sources describe another one (a recording). */
static const struct host *host_of(const struct engine *e)
{
    const struct slot *elsewhere = NULL;
    for (size_t i = 0; i < e->slot_count; i++) {
        if (!e->slots[i].open)
            continue;
        if (!e->slots[i].ops->host)
            return &e->round_host;
        elsewhere = &e->slots[i];
    }
    return elsewhere ? &elsewhere->host : &e->round_host;
}

/* A source reports each event once. If a requested sample had it, subscribers get it with the next periodic one. */
static void carry_events(struct engine *e, struct snapshot *s)
{
    if (!e->round_periodic) {
        for (size_t i = 0; i < s->event_count && e->pending_count < EVENTS_MAX; i++)
            e->pending_events[e->pending_count++] = s->events[i];
        return;
    }
    size_t room = EVENTS_MAX - e->pending_count, moved = MIN_OF(s->event_count, room);
    memmove(s->events + e->pending_count, s->events, moved * sizeof s->events[0]);
    memcpy(s->events, e->pending_events, e->pending_count * sizeof s->events[0]);
    s->event_count = moved + e->pending_count;
    e->pending_count = 0;
}

static void annotate(struct engine *e, struct snapshot *s)
{
    pthread_mutex_lock(&e->annotate_lock);
    for (size_t i = 0; i < e->annotate_count; i++)
        e->annotates[i].run(e->annotates[i].user, s);
    pthread_mutex_unlock(&e->annotate_lock);
}

static bool is_of_this_host(const struct engine *e, const struct gpu *gpu)
{
    const struct source_ops *ops = e->slots[e->roster.entries[gpu->index].slot].ops;
    return !ops->simulated && !ops->host && !env_is_recorded(e->env);
}

/* False for an unjudged first sample, which has nothing to compare with: it should be fast. */
static bool examines_programs(const struct engine *e)
{
    return (e->round_groups & GROUP_PROCESS) && !(e->round_groups & GROUP_LEAN) &&
           (e->round_periodic || (e->round_groups & GROUP_PAST) || e->sequence > 1);
}

static void examine_programs(struct engine *e, struct snapshot *s)
{
    bool is_here[GPU_MAX] = {false}, any = false;
    for (size_t i = 0; i < s->gpu_count && i < GPU_MAX; i++)
        any |= is_here[i] = is_of_this_host(e, &s->gpus[i]);
    if (any && examines_programs(e))
        host_look_add(e->host_look, s, is_here, e->round_groups & GROUP_PAST);
}

static void sample_round_publish(struct engine *e)
{
    expect_gpus(e);
    struct snapshot *s =
        build_snapshot(e->slots, e->slot_count, &e->roster, &e->accelerators, e->sequence == 0, clock_wall(e->env->clock));
    for (size_t i = 0; i < e->slot_count; i++) {
        result_free(e->slots[i].result);
        e->slots[i].result = NULL;
    }
    e->round_active = false;
    if (!s)
        return; /* out of memory: the coordinator tries again, and waiters keep waiting */
    s->sequence = ++e->sequence;
    s->taken = engine_now(e);
    s->interval_s = (double)e->interval_ms / MS_PER_S;
    s->host = *host_of(e);
    s->host_implausible_total = e->host_implausible_total;
    carry_events(e, s);
    annotate(e, s);
    jobs_assign(s);
    examine_programs(e, s);
    if (e->round_periodic) {
        s->suspended_ms = e->suspended_ms;
        e->suspended_ms = 0;
    }
    pthread_mutex_lock(&e->judge_lock);
    fault_log_deliver(e->faults, judge_health(e->judge), s);
    judge_set_log_unread(e->judge, fault_log_is_unread(e->faults));
    judge_take(e->judge, s);
    pthread_mutex_unlock(&e->judge_lock);
    if (e->round_periodic)
        for (size_t i = 0; i < e->subscriber_count; i++)
            mailbox_put(e->subscribers[i], (void *)snapshot_ref(s));
    answer_waiters(e, s);
    set_latest(e, s);
}

/* ---- descriptions for doctor ---- */

static void finish_description(struct engine *e)
{
    AUTO_FREE char *text = buf_take(&e->description);
    for (size_t i = 0; i < e->describing.count; i++) {
        char *copy = strdup(text ? text : "");
        if (copy)
            mailbox_put(e->describing.list[i], copy);
    }
    e->describing.count = 0;
}

static void described(struct engine *e, struct slot *s, const char *text)
{
    if (!s->describing)
        return; /* a late answer */
    s->describing = false;
    if (text && text[0])
        buf_printf(&e->description, "%s\n%s\n", s->ops->name, text);
    if (--e->descriptions_missing == 0)
        finish_description(e);
}

/* ---- rounds ---- */

static bool engine_source_busy(const struct engine *e)
{
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].busy && e->slots[i].status.state != SOURCE_HUNG)
            return true;
    return false;
}

static void sample_round_end_if_done(struct engine *e)
{
    if (!e->round_active || engine_source_busy(e))
        return;
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].busy)
            slot_hung(&e->slots[i], engine_now(e));
    sample_round_publish(e);
}

static void sample_round_ask_slots(struct engine *e, bool again)
{
    struct mono now = engine_now(e);
    if (!e->released)
        slots_check_presence(e->slots, e->slot_count, e->env, now, again);
    for (size_t i = 0; i < e->slot_count && !e->released; i++) {
        struct slot *s = &e->slots[i];
        if (s->result || !slot_wanted(e->slots, e->slot_count, i, now))
            continue;
        if (!s->worker)
            s->worker = worker_new(e->env, s->ops, s->params, e->show_secrets, i, e->inbox);
        if (!s->worker) {
            s->status.out_of_memory = true;
            str_copy(s->status.message, sizeof s->status.message, STR("out of memory, threads or file descriptors"));
            continue;
        }
        if (s->status.state == SOURCE_HUNG) /* it has answered since: this round waits for it again */
            s->status.state = SOURCE_FAILING;
        s->busy = true;
        s->asked = now;
        worker_ask(s->worker, JOB_SAMPLE, e->round_groups);
    }
}

/* Samples this host, even while showing a recording: rates need two calls. */
static void sample_machine(struct engine *e)
{
    enum { GLANCE_MS = 4500 };
    expect_ports(e);
    if (e->round_groups & GROUP_GLANCE)
        machine_glance(e->machine, GLANCE_MS, &e->round_host);
    else
        machine_sample(e->machine, &e->round_host);
    learn_ports(e);
    e->host_implausible_total += host_drop_implausible(&e->round_host);
}

/* Whether any source reads this host: its log and programs say nothing about simulated or recorded GPUs. */
static bool reads_this_host(const struct engine *e)
{
    bool here = false;
    for (size_t i = 0; i < e->slot_count; i++)
        here |= !e->slots[i].ops->simulated && !e->slots[i].ops->host;
    return here;
}

/* Asks every wanted source; publishes the snapshot when all have answered or one hangs. */
static void sample_round_start(struct engine *e, unsigned groups, bool periodic)
{
    for (size_t i = 0; i < e->waiter_count; i++)
        groups |= e->waiters[i].groups;
    e->round_active = true;
    e->round_periodic = periodic;
    e->round_groups = groups;
    if ((groups & GROUP_PAST) && e->sequence == 0 && !env_is_recorded(e->env) && reads_this_host(e))
        host_look_prepare(e->host_look);
    sample_round_ask_slots(e, false);
    sample_machine(e); /* while they answer */
    if (reads_this_host(e))
        fault_log_read(e->faults);
    sample_round_end_if_done(e);
}

static void sample_round_give_up_hung(struct engine *e)
{
    struct mono now = engine_now(e);
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].busy && e->slots[i].status.state != SOURCE_HUNG &&
            mono_since_ms(now, e->slots[i].asked) >= engine_patience_ms(e, &e->slots[i])) {
            slot_hung(&e->slots[i], now);
            described(e, &e->slots[i], e->slots[i].status.message);
        }
    sample_round_end_if_done(e);
}

static bool game_runs(struct engine *e)
{
    return e->latest && cadence_game_runs(e->latest->gpus, e->latest->gpu_count);
}

static bool has_reader(const struct engine *e, struct mono now)
{
    return !e->may_rest || e->waiter_count > 0 || now.ns < atomic_load(&e->fresh_until);
}

int64_t sample_round_asleep_ns(const struct clock *clock)
{
    enum { TRIES = 10 };
    for (int left = TRIES;; left--) {
        struct mono before = clock_mono(clock), boot = clock_boot(clock);
        if (left == 0 || mono_since_ms(clock_mono(clock), before) < MS_PER_S)
            return boot.ns - before.ns;
    }
}

/* Whether the host was suspended since the last periodic sample: limits, clocks and fan modes may have changed. */
static bool has_resumed(struct engine *e)
{
    enum { SUSPEND_MIN_MS = 3000 };
    int64_t asleep = sample_round_asleep_ns(e->env->clock), before = e->asleep_ns;
    e->asleep_ns = asleep;
    if (asleep - before < SUSPEND_MIN_MS * (int64_t)NS_PER_MS)
        return false;
    e->suspended_ms += (asleep - before) / NS_PER_MS;
    return true;
}

/* Asks every wanted source; publishes the snapshot when all have answered or one hangs. */
/* starts one if the interval is over */
static void sample_round_periodic(struct engine *e)
{
    struct mono now = engine_now(e);
    if (e->interval_ms <= 0 || now.ns < e->next_periodic.ns)
        return;
    if (e->round_active) {
        e->round_periodic = true; /* a sample in progress serves both */
    } else {
        unsigned groups = has_resumed(e) ? GROUP_ALL : cadence_due(&e->cadence, game_runs(e), now);
        cadence_read(&e->cadence, groups, now);
        sample_round_start(e, groups | (has_reader(e, now) ? 0 : GROUP_UNSEEN), true);
    }
    e->next_periodic.ns += e->interval_ms * NS_PER_MS;
    if (e->next_periodic.ns < now.ns) /* the host slept, or the interval was changed */
        e->next_periodic.ns = now.ns + e->interval_ms * NS_PER_MS;
}

/* ---- requests, and what the workers answer ---- */

enum { POLL_MS = 20 };

/* Drops the caller if the list is full: it waits until its own timeout. */
static void replies_add(struct replies *r, struct mailbox *reply)
{
    if (reply && r->count < WAITERS_MAX)
        r->list[r->count++] = reply;
}

static void replies_remove(struct replies *r, const struct mailbox *reply)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i] != reply)
            r->list[kept++] = r->list[i];
    r->count = kept;
}

static void finish_release(struct engine *e)
{
    if (engine_source_busy(e))
        return;
    for (size_t i = 0; i < e->releasing.count; i++)
        mailbox_put(e->releasing.list[i], e->releasing.list[i]);
    e->releasing.count = 0;
}

static void close_slot(struct engine *e, struct slot *s)
{
    if (!s->worker || !s->open || s->busy)
        return;
    s->busy = true;
    s->asked = engine_now(e);
    worker_ask(s->worker, JOB_CLOSE, 0);
}

static void retire_fallbacks(struct engine *e, const struct slot *working)
{
    for (size_t i = 0; i < e->slot_count; i++) {
        struct slot *s = &e->slots[i];
        if (s->by_name || !s->ops->instead_of || strcmp(s->ops->instead_of, working->ops->name) != 0)
            continue;
        close_slot(e, s);
        s->status.state = SOURCE_OFF;
        s->status.gpu_count = 0;
        snprintf(s->status.message, sizeof s->status.message, "not needed: %s is in use", working->ops->name);
    }
}

static void on_sample(struct engine *e, struct slot *s, struct result *r)
{
    bool opened = !s->open;
    slot_answered(s, r, engine_now(e));
    if (e->released)
        s->status.state = SOURCE_RELEASED;
    if (e->released || s->status.state == SOURCE_SET_ASIDE)
        close_slot(e, s); /* start fresh on the next try */
    if (opened && s->open) {
        retire_fallbacks(e, s);
        if (!(r->known & GROUP_STATIC))
            e->cadence.static_done = false;
    }
    if (e->round_active)
        sample_round_ask_slots(e, true); /* a fallback may be needed now */
}

static void on_result(struct engine *e, struct result *r)
{
    struct slot *s = &e->slots[r->slot];
    if (r->kind == JOB_SAMPLE) {
        on_sample(e, s, r);
    } else if (r->kind == JOB_CLOSE) {
        s->busy = false;
        s->open = false;
        s->known = 0;
        result_free(r);
    } else {
        s->busy = false;
        described(e, s, r->description);
        result_free(r);
    }
    finish_release(e);
    sample_round_end_if_done(e);
}

/* Whether a source runs an external program, which requests must not do: they get the last periodic sample, with its age. */
static bool only_periodic(const struct engine *e)
{
    for (size_t i = 0; i < e->slot_count && e->interval_ms > 0; i++)
        if (e->slots[i].open && e->slots[i].ops->periodic_only)
            return true;
    return false;
}

static void on_request(struct engine *e, const struct ask *a)
{
    const struct snapshot *s = e->latest;
    unsigned wanted = a->groups & GROUP_ALL;
    bool fresh = s && (s->groups & wanted) == wanted && mono_since_ms(engine_now(e), s->taken) <= a->number;
    if (fresh || (s && only_periodic(e))) {
        mailbox_put(a->mailbox, (void *)snapshot_ref(s));
        return;
    }
    if (e->waiter_count < WAITERS_MAX)
        e->waiters[e->waiter_count++] = (struct waiter){a->mailbox, a->groups, false};
    if (!e->round_active)
        sample_round_start(e, a->groups, false);
}

static void on_release(struct engine *e, const struct ask *a)
{
    e->released = a->number > 0;
    e->released_until.ns = engine_now(e).ns + a->number * NS_PER_MS;
    for (size_t i = 0; i < e->slot_count; i++) {
        struct slot *s = &e->slots[i];
        if (!e->released) {
            if (s->status.state == SOURCE_RELEASED)
                s->status.state = SOURCE_OFF;
            continue;
        }
        s->status.state = SOURCE_RELEASED;
        str_copy(s->status.message, sizeof s->status.message, STR("released on request"));
        close_slot(e, s);
    }
    replies_add(&e->releasing, a->mailbox);
    finish_release(e);
}

static void on_describe(struct engine *e, const struct ask *a)
{
    replies_add(&e->describing, a->mailbox);
    if (e->descriptions_missing)
        return; /* one is in progress */
    e->description = BUF(1024 * 1024);
    for (size_t i = 0; i < e->slot_count; i++) {
        struct slot *s = &e->slots[i];
        if (!s->worker || !s->open || s->busy)
            continue;
        s->busy = s->describing = true;
        s->asked = engine_now(e);
        worker_ask(s->worker, JOB_DESCRIBE, 0);
        e->descriptions_missing++;
    }
    if (e->descriptions_missing == 0)
        finish_description(e);
}

/* The caller stopped waiting: drop and free its mailbox. */
static void coordinator_forget(struct engine *e, struct mailbox *reply)
{
    size_t left = 0;
    for (size_t i = 0; i < e->waiter_count; i++)
        if (e->waiters[i].reply != reply)
            e->waiters[left++] = e->waiters[i];
    e->waiter_count = left;
    replies_remove(&e->releasing, reply);
    replies_remove(&e->describing, reply);
    mailbox_free(reply);
}

static void close_replies(struct replies *r)
{
    for (size_t i = 0; i < r->count; i++)
        mailbox_close(r->list[i]);
    r->count = 0;
}

static void end_waits(struct engine *e)
{
    for (size_t i = 0; i < e->waiter_count; i++)
        mailbox_close(e->waiters[i].reply);
    e->waiter_count = 0;
    close_replies(&e->releasing);
    close_replies(&e->describing);
    e->waits_ended = true;
}

/* Handles one message; false: stop. */
static bool on_message(struct engine *e, struct message *m)
{
    struct ask *a = (struct ask *)m;
    if (e->waits_ended && (m->kind == MESSAGE_REQUEST || m->kind == MESSAGE_RELEASE || m->kind == MESSAGE_DESCRIBE)) {
        mailbox_close(a->mailbox);
        ask_free(e, a);
        return true;
    }
    switch (m->kind) {
    case MESSAGE_RESULT: on_result(e, (struct result *)m); return true;
    case MESSAGE_REQUEST: on_request(e, a); break;
    case MESSAGE_SUBSCRIBE:
        if (e->subscriber_count < SUBSCRIBERS_MAX)
            e->subscribers[e->subscriber_count++] = a->mailbox;
        break;
    case MESSAGE_INTERVAL:
        e->interval_ms = a->number;
        e->next_periodic = engine_now(e);
        break;
    case MESSAGE_RELEASE: on_release(e, a); break;
    case MESSAGE_DESCRIBE: on_describe(e, a); break;
    case MESSAGE_FORGET: coordinator_forget(e, a->mailbox); break;
    case MESSAGE_END_WAITS: end_waits(e); break;
    case MESSAGE_STOP: ask_free(e, a); return false;
    }
    ask_free(e, a);
    return true;
}

/* How long the coordinator may sleep. With another clock than the system's that is unknown: wake up soon. */
static int64_t wait_ms(const struct engine *e)
{
    if (e->env->clock != &clock_system)
        return POLL_MS;
    int64_t wait = 3600 * MS_PER_S;
    struct mono now = engine_now(e);
    if (e->interval_ms > 0)
        wait = MIN_OF(wait, mono_since_ms(e->next_periodic, now) + 1);
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].busy && e->slots[i].status.state != SOURCE_HUNG)
            wait = MIN_OF(wait, engine_patience_ms(e, &e->slots[i]) - mono_since_ms(now, e->slots[i].asked) + 1);
    if (e->released)
        wait = MIN_OF(wait, mono_since_ms(e->released_until, now) + 1);
    if (e->waiter_count && !e->round_active) /* the last round had no memory for a snapshot */
        wait = MIN_OF(wait, POLL_MS);
    return MAX_OF(wait, 1);
}

static void end_release(struct engine *e)
{
    if (!e->released || engine_now(e).ns < e->released_until.ns)
        return;
    struct ask open_again = {.number = 0};
    on_release(e, &open_again);
    e->next_periodic = engine_now(e);
}

void *coordinator_run(void *engine)
{
    struct engine *e = engine;
    for (;;) {
        struct message *m = mailbox_take(e->inbox, wait_ms(e));
        if (m && !on_message(e, m))
            return NULL;
        end_release(e);
        sample_round_give_up_hung(e);
        sample_round_periodic(e);
        if (e->waiter_count && !e->round_active)
            sample_round_start(e, 0, false);
    }
}
