/* SPDX-License-Identifier: Apache-2.0
 * The engine's public side: starts and stops the coordinator, and asks it for samples.
 */
#include "engine/engine.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "config/findings.h"
#include "engine/internal.h"
#include "insight/view/why.h"

enum { HUNG_AFTER_MS = 5000, STOP_MS = 1000 };

static void judge_past(void *user, struct snapshot *s)
{
    judge_take(user, s);
    snapshot_unref(s);
}

/* Judges what a recording has before its starting point, as if we had watched it. */
static void learn_past(struct engine *e)
{
    for (size_t i = 0; e->judge && i < e->slot_count; i++)
        if (e->slots[i].ops->past)
            e->slots[i].ops->past(e->env, e->slots[i].params, judge_past, e->judge);
}

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
    e->start_ms = MAX_OF(options->start_ms, e->hung_after_ms);
    e->show_secrets = options->show_secrets;
    e->may_rest = options->may_rest;
    int count = slots_choose(e->slots, SOURCES_MAX, options->sources, options->source_count, err);
    if (count < 0) {
        free(e);
        return NULL;
    }
    e->slot_count = (size_t)count;
    pthread_mutex_init(&e->latest_lock, NULL);
    pthread_mutex_init(&e->annotate_lock, NULL);
    pthread_mutex_init(&e->judge_lock, NULL);
    e->next_periodic = engine_now(e);
    e->asleep_ns = sample_round_asleep_ns(e->env->clock);
    e->machine = machine_new(e->env);
    e->host_look = host_look_new(e->env);
    e->judge = judge_new();
    e->faults = fault_log_new(e->env);
    learn_past(e);
    e->inbox = mailbox_new(INBOX_SIZE, NULL);
    e->spare = calloc(1, sizeof *e->spare);
    if (!e->machine || !e->host_look || !e->judge || !e->faults || !e->inbox || !e->spare ||
        pthread_create(&e->thread, NULL, coordinator_run, e) != 0) {
        error_set(err, -ENOMEM, "cannot start the sampling thread");
        machine_free(e->machine);
        host_look_free(e->host_look, 0);
        judge_free(e->judge);
        fault_log_free(e->faults);
        mailbox_free(e->inbox);
        free(e->spare);
        free(e);
        return NULL;
    }
    return e;
}

/* A zeroed message, or the spare one; NULL: out of memory. */
static struct ask *ask_new(struct engine *e)
{
    struct ask *a = calloc(1, sizeof *a);
    return a ? a : atomic_exchange(&e->spare, NULL);
}

void ask_free(struct engine *e, struct ask *a)
{
    *a = (struct ask){0};
    free(atomic_exchange(&e->spare, a));
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

void engine_end_waits(struct engine *e)
{
    struct ask *a = e ? ask_new(e) : NULL;
    if (!a)
        return;
    a->base.kind = MESSAGE_END_WAITS;
    mailbox_put(e->inbox, a);
}

/* Lets all workers close their sources in parallel, within STOP_MS in total. True: a thread was abandoned, because a driver may
 * hang in any call. */
static bool stop_workers(struct engine *e)
{
    bool abandoned = false;
    struct mono start = clock_mono(&clock_system);
    for (size_t i = 0; i < e->slot_count; i++)
        if (e->slots[i].worker)
            worker_ask(e->slots[i].worker, JOB_STOP, 0);
    for (size_t i = 0; i < e->slot_count; i++) {
        bool hung = e->slots[i].busy && e->slots[i].status.state == SOURCE_HUNG;
        int64_t left_ms = STOP_MS - mono_since_ms(clock_mono(&clock_system), start);
        abandoned |= !worker_free(e->slots[i].worker, hung ? 0 : MAX_OF(left_ms, 0));
        result_free(e->slots[i].result);
    }
    return abandoned;
}

bool engine_free(struct engine *e)
{
    if (!e)
        return false;
    struct ask *stop = ask_new(e);
    if (!stop)
        return true; /* out of memory: abandon everything */
    stop->base.kind = MESSAGE_STOP;
    mailbox_put(e->inbox, stop);
    pthread_join(e->thread, NULL);
    bool abandoned = stop_workers(e);
    judge_free(e->judge);
    fault_log_free(e->faults);
    machine_free(e->machine);
    bool examiner_abandoned = host_look_free(e->host_look, STOP_MS);
    snapshot_unref(e->latest);
    buf_done(&e->description);
    if (!abandoned) { /* otherwise, a hung thread may still put its result into the mailbox */
        struct message *m;
        while ((m = mailbox_take(e->inbox, 0)))
            free_message(m);
        mailbox_free(e->inbox);
    }
    free(e->spare);
    pthread_mutex_destroy(&e->latest_lock);
    pthread_mutex_destroy(&e->annotate_lock);
    pthread_mutex_destroy(&e->judge_lock);
    free(e);
    return abandoned || examiner_abandoned;
}

const struct snapshot *engine_latest(struct engine *e)
{
    pthread_mutex_lock(&e->latest_lock);
    const struct snapshot *s = e->latest ? snapshot_ref(e->latest) : NULL;
    pthread_mutex_unlock(&e->latest_lock);
    return s;
}

void engine_set_findings(struct engine *e, const struct config *config)
{
    struct finding_settings settings;
    config_findings(config, &settings);
    judge_set_settings(engine_lock_judge(e), &settings);
    engine_unlock_judge(e);
}

struct judge *engine_lock_judge(struct engine *e)
{
    pthread_mutex_lock(&e->judge_lock);
    return e->judge;
}

struct why *engine_why(struct engine *e, const struct snapshot *s)
{
    const struct judge *j = engine_lock_judge(e);
    struct why *why = why_explain_usual(s, judge_recent(j), judge_usual(j));
    engine_unlock_judge(e);
    return why;
}

struct fault_log *engine_fault_log(struct engine *e)
{
    return e->faults;
}

void engine_unlock_judge(struct engine *e)
{
    pthread_mutex_unlock(&e->judge_lock);
}

void engine_add_annotate(struct engine *e, engine_annotate_fn *annotate, void *user)
{
    pthread_mutex_lock(&e->annotate_lock);
    if (e->annotate_count < ENGINE_ANNOTATES_MAX)
        e->annotates[e->annotate_count++] = (struct annotate){annotate, user};
    pthread_mutex_unlock(&e->annotate_lock);
}

void engine_remove_annotate(struct engine *e, const void *user)
{
    size_t kept = 0;
    pthread_mutex_lock(&e->annotate_lock);
    for (size_t i = 0; i < e->annotate_count; i++)
        if (e->annotates[i].user != user)
            e->annotates[kept++] = e->annotates[i];
    e->annotate_count = kept;
    pthread_mutex_unlock(&e->annotate_lock);
}

void engine_keep_fresh(struct engine *e)
{
    static const int64_t fresh_ms = 15000;
    atomic_store(&e->fresh_until, clock_mono(e->env->clock).ns + fresh_ms * NS_PER_MS);
}

static bool send_message(struct engine *e, enum message_kind kind, unsigned groups, int64_t number, struct mailbox *mailbox)
{
    struct ask *a = ask_new(e);
    if (!a)
        return false;
    *a = (struct ask){{kind}, groups, number, mailbox};
    if (mailbox_offer(e->inbox, a))
        return true;
    ask_free(e, a);
    return false;
}

/* Requests a sample; false: no answer will come. */
static bool request(struct engine *e, unsigned groups, int64_t max_age_ms, struct mailbox *reply)
{
    if (send_message(e, MESSAGE_REQUEST, groups, max_age_ms, reply))
        return true;
    const struct snapshot *s = engine_latest(e); /* too many concurrent requests: the latest will do */
    if (s)
        mailbox_put(reply, (void *)s);
    return s != NULL;
}

void engine_request(struct engine *e, unsigned groups, int64_t max_age_ms, struct mailbox *reply)
{
    request(e, groups, max_age_ms, reply);
}

/* The coordinator may still answer into this mailbox: ask it to forget and free it. */
static void give_up(struct engine *e, struct mailbox *reply)
{
    struct ask *a = ask_new(e);
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
    bool asked = reply && request(e, groups, max_age_ms, reply);
    const struct snapshot *s = asked ? mailbox_take(reply, timeout_ms) : NULL;
    if (s || !asked)
        mailbox_free(reply);
    else
        give_up(e, reply);
    s = s ? s : engine_latest(e);
    errno = asked ? ETIMEDOUT : ENOMEM;
    return s;
}

int engine_subscribe(struct engine *e, struct mailbox *to)
{
    return send_message(e, MESSAGE_SUBSCRIBE, 0, 0, to) ? 0 : -ENOSPC;
}

void engine_set_interval(struct engine *e, int64_t interval_ms)
{
    send_message(e, MESSAGE_INTERVAL, 0, interval_ms, NULL);
}

int engine_release(struct engine *e, int64_t for_ms, int64_t timeout_ms)
{
    struct mailbox *reply = mailbox_new(1, NULL);
    if (!reply || !send_message(e, MESSAGE_RELEASE, 0, for_ms, reply)) {
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
    if (!send_message(e, MESSAGE_DESCRIBE, 0, 0, reply)) {
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
