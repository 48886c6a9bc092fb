/* SPDX-License-Identifier: Apache-2.0
 * The coordinator: one thread that owns all state, fed by one mailbox. It starts a flight (one sample of every source) when the
 * interval is over or somebody asks, and publishes what has come when all have answered or one hangs.
 */
#include "engine/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/build.h"
#include "engine/cadence.h"
#include "host/machine.h"

enum { INBOX_SIZE = 1024, WAITERS_MAX = INBOX_SIZE, SUBSCRIBERS_MAX = 8, HUNG_AFTER_MS = 5000, POLL_MS = 20 };

struct ask {
    struct message base;
    unsigned groups;
    int64_t number; /* max age, interval or release time, in ms */
    struct mailbox *mailbox;
};

struct waiter {
    struct mailbox *reply;
    unsigned groups;
    bool waited_on; /* for a second flight already: takes what comes */
};

struct engine {
    const struct env *env;
    struct mailbox *inbox;
    pthread_t thread;
    int64_t hung_after_ms;
    bool show_secrets;

    pthread_mutex_t latest_lock; /* guards `latest` alone: a pointer that every thread may read */
    const struct snapshot *latest;

    /* Of the coordinator alone. */
    int64_t interval_ms;
    struct mono next_periodic;
    struct slot slots[SOURCES_MAX];
    size_t slot_count;
    struct roster roster;
    struct cadence cadence;
    struct machine *machine;
    uint64_t sequence;
    bool flying, flight_periodic;
    unsigned flight_groups;
    struct mono flight_start;
    struct waiter waiters[WAITERS_MAX];
    size_t waiter_count;
    struct mailbox *subscribers[SUBSCRIBERS_MAX];
    size_t subscriber_count;
    bool released;
    struct mono released_until;
    struct mailbox *release_reply;   /* waits until all sources are closed */
    struct event untold[EVENTS_MAX]; /* found in samples that were taken for requests */
    size_t untold_count;
    struct mailbox *describe_reply;
    struct buf description;
    size_t descriptions_missing;
};

static struct mono now_of(const struct engine *e)
{
    return clock_mono(e->env->clock);
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

const struct snapshot *engine_latest(struct engine *e)
{
    pthread_mutex_lock(&e->latest_lock);
    const struct snapshot *s = e->latest ? snapshot_ref(e->latest) : NULL;
    pthread_mutex_unlock(&e->latest_lock);
    return s;
}

/* A flight that began for somebody else may have read less than this waiter needs: then it waits for one more. */
static void answer_waiters(struct engine *e, const struct snapshot *s)
{
    size_t left = 0;
    for (size_t i = 0; i < e->waiter_count; i++) {
        struct waiter w = e->waiters[i];
        if ((s->groups & w.groups) == w.groups || w.waited_on) {
            mailbox_put(w.reply, (void *)snapshot_ref(s));
        } else {
            w.waited_on = true;
            e->waiters[left++] = w;
        }
    }
    e->waiter_count = left;
}

/* Of this machine, unless everything that is read comes from another one (a recording). */
static void sample_host(struct engine *e, struct host *out)
{
    const struct slot *elsewhere = NULL;
    machine_sample(e->machine, out); /* in any case: its rates are taken between two calls */
    for (size_t i = 0; i < e->slot_count; i++) {
        if (!e->slots[i].open)
            continue;
        if (!e->slots[i].ops->host)
            return;
        elsewhere = &e->slots[i];
    }
    if (elsewhere)
        *out = elsewhere->host;
}

/* An event is found once. Where that was in a sample for a request, subscribers still hear of it, with the next one of theirs. */
static void carry_events(struct engine *e, struct snapshot *s)
{
    if (!e->flight_periodic) {
        for (size_t i = 0; i < s->event_count && e->untold_count < EVENTS_MAX; i++)
            e->untold[e->untold_count++] = s->events[i];
        return;
    }
    size_t room = EVENTS_MAX - e->untold_count, moved = MIN_OF(s->event_count, room);
    memmove(s->events + e->untold_count, s->events, moved * sizeof s->events[0]);
    memcpy(s->events, e->untold, e->untold_count * sizeof s->events[0]);
    s->event_count = moved + e->untold_count;
    e->untold_count = 0;
}

static void publish(struct engine *e)
{
    struct snapshot *s = build_snapshot(e->slots, e->slot_count, &e->roster, e->sequence == 0, clock_wall(e->env->clock));
    for (size_t i = 0; i < e->slot_count; i++) {
        result_free(e->slots[i].result);
        e->slots[i].result = NULL;
    }
    e->flying = false;
    if (!s)
        return; /* out of memory: the next interval tries again; waiters keep waiting for it */
    s->sequence = ++e->sequence;
    s->taken = now_of(e);
    s->interval_s = (double)e->interval_ms / MS_PER_S;
    sample_host(e, &s->host);
    carry_events(e, s);
    if (e->flight_periodic)
        for (size_t i = 0; i < e->subscriber_count; i++)
            mailbox_put(e->subscribers[i], (void *)snapshot_ref(s));
    answer_waiters(e, s);
    set_latest(e, s);
}

/* ---- flights ---- */

static bool anybody_busy(const struct engine *e)
{
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].busy && e->slots[i].status.state != SOURCE_HUNG)
            return true;
    return false;
}

static bool ask_slots(struct engine *e)
{
    bool asked = false;
    struct mono now = now_of(e);
    for (size_t i = 0; i < e->slot_count && !e->released; i++) {
        struct slot *s = &e->slots[i];
        slot_look(s, e->env, now);
        if (s->result || !slot_wanted(e->slots, e->slot_count, i, now))
            continue;
        if (!s->worker)
            s->worker = worker_new(e->env, s->ops, s->params, e->show_secrets, i, e->inbox);
        if (!s->worker)
            continue;
        s->busy = true;
        s->asked = now;
        worker_ask(s->worker, JOB_SAMPLE, e->flight_groups);
        asked = true;
    }
    return asked;
}

static void start_flight(struct engine *e, unsigned groups, bool periodic)
{
    for (size_t i = 0; i < e->waiter_count; i++)
        groups |= e->waiters[i].groups;
    e->flying = true;
    e->flight_periodic = periodic;
    e->flight_groups = groups;
    e->flight_start = now_of(e);
    ask_slots(e);
    if (!anybody_busy(e))
        publish(e);
}

static void give_up_hung(struct engine *e)
{
    struct mono now = now_of(e);
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].busy && mono_since_ms(now, e->slots[i].asked) >= e->hung_after_ms)
            slot_hung(&e->slots[i], now);
    if (e->flying && !anybody_busy(e))
        publish(e);
}

static bool game_runs(struct engine *e)
{
    return e->latest && cadence_game_runs(e->latest->gpus, e->latest->gpu_count);
}

static void periodic(struct engine *e)
{
    struct mono now = now_of(e);
    if (e->interval_ms <= 0 || now.ns < e->next_periodic.ns)
        return;
    if (e->flying) {
        e->flight_periodic = true; /* a sample under way serves both */
    } else {
        unsigned groups = cadence_due(&e->cadence, game_runs(e), now);
        cadence_read(&e->cadence, groups, now);
        start_flight(e, groups, true);
    }
    e->next_periodic.ns += e->interval_ms * NS_PER_MS;
    if (e->next_periodic.ns < now.ns) /* the machine slept, or the interval was changed */
        e->next_periodic.ns = now.ns + e->interval_ms * NS_PER_MS;
}

/* ---- messages ---- */

static void finish_description(struct engine *e)
{
    char *text = buf_take(&e->description);
    if (e->describe_reply && text)
        mailbox_put(e->describe_reply, text);
    else
        free(text);
    e->describe_reply = NULL;
}

static void close_slot(struct engine *e, struct slot *s)
{
    if (!s->worker || !s->open || s->busy)
        return;
    s->busy = true;
    s->asked = now_of(e);
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
    slot_answered(s, r, now_of(e));
    if (e->released)
        s->status.state = SOURCE_RELEASED;
    if (e->released || s->status.state == SOURCE_SET_ASIDE)
        close_slot(e, s); /* a fresh start when it is tried again */
    if (opened && s->open) {
        retire_fallbacks(e, s);
        if (!(r->known & GROUP_STATIC))
            e->cadence.static_done = false;
    }
    if (e->flying)
        ask_slots(e); /* a fallback may be wanted now */
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
        if (r->description && r->description[0])
            buf_printf(&e->description, "%s\n%s\n", s->ops->name, r->description);
        s->busy = false;
        result_free(r);
        if (e->descriptions_missing && --e->descriptions_missing == 0)
            finish_description(e);
    }
    if (e->release_reply && !anybody_busy(e)) {
        mailbox_put(e->release_reply, e->release_reply);
        e->release_reply = NULL;
    }
    if (e->flying && !anybody_busy(e))
        publish(e);
}

/* A program is not run for each request: whoever asks gets the last periodic sample, and sees its age. */
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
    bool fresh = s && (s->groups & a->groups) == a->groups && mono_since_ms(now_of(e), s->taken) <= a->number;
    if (fresh || (s && only_periodic(e))) {
        mailbox_put(a->mailbox, (void *)snapshot_ref(s));
        return;
    }
    if (e->waiter_count < WAITERS_MAX)
        e->waiters[e->waiter_count++] = (struct waiter){a->mailbox, a->groups, false};
    if (!e->flying)
        start_flight(e, a->groups, false);
}

static void on_release(struct engine *e, const struct ask *a)
{
    e->released = a->number > 0;
    e->released_until.ns = now_of(e).ns + a->number * NS_PER_MS;
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
    e->release_reply = a->mailbox;
    if (a->mailbox && !anybody_busy(e)) {
        mailbox_put(a->mailbox, a->mailbox);
        e->release_reply = NULL;
    }
}

static void on_describe(struct engine *e, const struct ask *a)
{
    e->describe_reply = a->mailbox;
    e->description = BUF(1024 * 1024);
    for (size_t i = 0; i < e->slot_count; i++) {
        struct slot *s = &e->slots[i];
        if (!s->worker || !s->open || s->busy)
            continue;
        s->busy = true;
        s->asked = now_of(e);
        worker_ask(s->worker, JOB_DESCRIBE, 0);
        e->descriptions_missing++;
    }
    if (e->descriptions_missing == 0)
        finish_description(e);
}

/* Somebody stopped waiting for a reply; its mailbox is ours to free. */
static void forget(struct engine *e, struct mailbox *reply)
{
    size_t left = 0;
    for (size_t i = 0; i < e->waiter_count; i++)
        if (e->waiters[i].reply != reply)
            e->waiters[left++] = e->waiters[i];
    e->waiter_count = left;
    if (e->release_reply == reply)
        e->release_reply = NULL;
    if (e->describe_reply == reply)
        e->describe_reply = NULL;
    mailbox_free(reply);
}

/* False: stop. */
static bool on_message(struct engine *e, struct message *m)
{
    struct ask *a = (struct ask *)m;
    switch (m->kind) {
    case MESSAGE_RESULT: on_result(e, (struct result *)m); return true;
    case MESSAGE_REQUEST: on_request(e, a); break;
    case MESSAGE_SUBSCRIBE:
        if (e->subscriber_count < SUBSCRIBERS_MAX)
            e->subscribers[e->subscriber_count++] = a->mailbox;
        break;
    case MESSAGE_INTERVAL:
        e->interval_ms = a->number;
        e->next_periodic = now_of(e);
        break;
    case MESSAGE_RELEASE: on_release(e, a); break;
    case MESSAGE_DESCRIBE: on_describe(e, a); break;
    case MESSAGE_FORGET: forget(e, a->mailbox); break;
    case MESSAGE_STOP: free(a); return false;
    }
    free(a);
    return true;
}

/* How long the coordinator may sleep. With another clock than the system's nobody knows: look again soon. */
static int64_t wait_ms(const struct engine *e)
{
    if (e->env->clock != &clock_system)
        return POLL_MS;
    int64_t wait = 3600 * MS_PER_S;
    struct mono now = now_of(e);
    if (e->interval_ms > 0)
        wait = MIN_OF(wait, mono_since_ms(e->next_periodic, now) + 1);
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].busy && e->slots[i].status.state != SOURCE_HUNG)
            wait = MIN_OF(wait, e->hung_after_ms - mono_since_ms(now, e->slots[i].asked) + 1);
    if (e->released)
        wait = MIN_OF(wait, mono_since_ms(e->released_until, now) + 1);
    return MAX_OF(wait, 1);
}

static void end_release(struct engine *e)
{
    if (!e->released || now_of(e).ns < e->released_until.ns)
        return;
    struct ask open_again = {.number = 0};
    on_release(e, &open_again);
    e->next_periodic = now_of(e);
}

static void *run(void *argument)
{
    struct engine *e = argument;
    for (;;) {
        struct message *m = mailbox_take(e->inbox, wait_ms(e));
        if (m && !on_message(e, m))
            return NULL;
        end_release(e);
        give_up_hung(e);
        periodic(e);
        if (e->waiter_count && !e->flying)
            start_flight(e, 0, false);
    }
}

/* ---- the public side ---- */

struct engine *engine_new(const struct engine_options *options, struct error *err)
{
    struct engine *e = calloc(1, sizeof *e);
    if (!e) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    e->env = options->env;
    e->interval_ms = options->interval_ms;
    e->hung_after_ms = options->hung_after_ms ? options->hung_after_ms : HUNG_AFTER_MS;
    e->show_secrets = options->show_secrets;
    int count = slots_choose(e->slots, SOURCES_MAX, options->sources, options->source_count, err);
    if (count < 0) {
        free(e);
        return NULL;
    }
    e->slot_count = (size_t)count;
    pthread_mutex_init(&e->latest_lock, NULL);
    e->next_periodic = now_of(e);
    e->machine = machine_new(e->env);
    e->inbox = mailbox_new(INBOX_SIZE, NULL);
    if (!e->machine || !e->inbox || pthread_create(&e->thread, NULL, run, e) != 0) {
        error_set(err, -ENOMEM, "cannot start the sampling thread");
        machine_free(e->machine);
        mailbox_free(e->inbox);
        free(e);
        return NULL;
    }
    return e;
}

static void free_message(struct message *m)
{
    if (m->kind == MESSAGE_RESULT) {
        result_free((struct result *)m);
        return;
    }
    if (m->kind == MESSAGE_FORGET)
        mailbox_free(((struct ask *)m)->mailbox);
    free(m);
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    struct ask *stop = calloc(1, sizeof *stop);
    if (!stop)
        return;
    stop->base.kind = MESSAGE_STOP;
    mailbox_put(e->inbox, stop);
    pthread_join(e->thread, NULL);
    bool left_behind = false;
    for (size_t i = 0; i < e->slot_count; i++) {
        bool hung = e->slots[i].busy && e->slots[i].status.state == SOURCE_HUNG;
        left_behind |= hung;
        worker_free(e->slots[i].worker, hung);
        result_free(e->slots[i].result);
    }
    machine_free(e->machine);
    snapshot_unref(e->latest);
    buf_done(&e->description);
    if (!left_behind) { /* a hung thread may still put its result into the mailbox */
        struct message *m;
        while ((m = mailbox_take(e->inbox, 0)))
            free_message(m);
        mailbox_free(e->inbox);
    }
    pthread_mutex_destroy(&e->latest_lock);
    free(e);
}

static bool send_ask(struct engine *e, enum message_kind kind, unsigned groups, int64_t number, struct mailbox *mailbox)
{
    struct ask *a = malloc(sizeof *a);
    if (!a)
        return false;
    *a = (struct ask){{kind}, groups, number, mailbox};
    if (mailbox_offer(e->inbox, a))
        return true;
    free(a);
    return false;
}

void engine_request(struct engine *e, unsigned groups, int64_t max_age_ms, struct mailbox *reply)
{
    if (send_ask(e, MESSAGE_REQUEST, groups, max_age_ms, reply))
        return;
    const struct snapshot *s = engine_latest(e); /* too many ask at once: the latest will do */
    if (s)
        mailbox_put(reply, (void *)s);
}

/* The coordinator may still answer into this mailbox: it is asked to forget and free it. */
static void give_up(struct engine *e, struct mailbox *reply)
{
    struct ask *a = malloc(sizeof *a);
    if (!a)
        return;
    *a = (struct ask){.base = {MESSAGE_FORGET}, .mailbox = reply};
    mailbox_put(e->inbox, a);
}

static void drop_snapshot(void *item)
{
    snapshot_unref(item);
}

const struct snapshot *engine_sample(struct engine *e, unsigned groups, int64_t max_age_ms, int64_t timeout_ms)
{
    struct mailbox *reply = mailbox_new(1, drop_snapshot);
    if (!reply)
        return engine_latest(e);
    engine_request(e, groups, max_age_ms, reply);
    const struct snapshot *s = mailbox_take(reply, timeout_ms);
    if (s) {
        mailbox_free(reply);
        return s;
    }
    give_up(e, reply);
    return engine_latest(e);
}

int engine_subscribe(struct engine *e, struct mailbox *to)
{
    return send_ask(e, MESSAGE_SUBSCRIBE, 0, 0, to) ? 0 : -ENOSPC;
}

void engine_set_interval(struct engine *e, int64_t interval_ms)
{
    send_ask(e, MESSAGE_INTERVAL, 0, interval_ms, NULL);
}

int engine_release(struct engine *e, int64_t for_ms, int64_t timeout_ms)
{
    struct mailbox *reply = mailbox_new(1, NULL);
    if (!reply || !send_ask(e, MESSAGE_RELEASE, 0, for_ms, reply)) {
        mailbox_free(reply);
        return -EAGAIN;
    }
    if (!mailbox_take(reply, timeout_ms)) {
        give_up(e, reply);
        return -ETIMEDOUT;
    }
    mailbox_free(reply);
    return 0;
}

void engine_describe(struct engine *e, struct buf *out, int64_t timeout_ms)
{
    struct mailbox *reply = mailbox_new(1, free);
    if (!reply)
        return;
    if (!send_ask(e, MESSAGE_DESCRIBE, 0, 0, reply)) {
        mailbox_free(reply);
        return;
    }
    char *text = mailbox_take(reply, timeout_ms);
    if (!text) {
        give_up(e, reply);
        return;
    }
    buf_text(out, text);
    free(text);
    mailbox_free(reply);
}
