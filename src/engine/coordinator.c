/* SPDX-License-Identifier: Apache-2.0
 * The coordinator: one thread that owns all state, fed by one mailbox. It starts a round when the interval is over or a caller
 * asks.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/internal.h"

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

void description_without(struct engine *e, struct slot *s)
{
    described(e, s, s->status.message);
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
