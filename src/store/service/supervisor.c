/* SPDX-License-Identifier: Apache-2.0
 * The keeper's thread: collects snapshots and events, hands them to the writer in batches, and saves them to disk while the writer
 * can't write them. It never talks to the database itself, so that nothing is lost while a server or a disk hangs.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "store/service/internal.h"

enum {
    POLL_MS = 500,
    CALM_MS = 30000, /* all is well: any message wakes the keeper */
    RETRY_FIRST_MS = 1000,
    RETRY_LAST_MS = 60000,
    RETRY_SERVER_LAST_MS = 5000, /* write soon after a server is back */
    HANGS_MS = 5000,             /* a database silent for this long is reported as hanging */
    LAST_CHANCE_MS = 700,        /* at the end, for a silent database: by then all items are on disk */
    LOSING_MS = 60000,
    MEMORY_HALF = BACKLOG_MEMORY_MAX / 2,
};

void service_drop_order(void *order)
{
    struct order *o = order;
    free(o->event);
    free(o);
}

/* message NULL: unchanged. */
static void publish(struct store_service *v, enum store_state state, const char *message)
{
    uint64_t lost = backlog_lost(&v->backlog) + mailbox_dropped(v->inbox) + v->rejected;
    struct mono now = clock_mono(&clock_system);
    if (lost > v->status.lost)
        v->lost_at = now;
    pthread_mutex_lock(&v->lock);
    v->status.state = state;
    v->status.queued = backlog_count(&v->backlog);
    v->status.written = v->written;
    v->status.lost = lost;
    v->status.losing = v->lost_at.ns && mono_since_ms(now, v->lost_at) < LOSING_MS;
    v->status.clock = v->clock;
    v->status.clean_failures = v->clean_failures_known;
    v->status.used_bytes = v->used_bytes >= 0 ? v->used_bytes : v->status.used_bytes;
    if (message)
        snprintf(v->status.message, sizeof v->status.message, "%s", message);
    pthread_mutex_unlock(&v->lock);
}

/* Logs a failure once, and its end; not once per interval. */
static void change_state(struct store_service *v, enum store_state state, const char *why)
{
    enum store_state before = v->status.state; /* only this thread writes it */
    if (state != before && state == STORE_OK && before != STORE_OPENING)
        service_log(v, LOG_INFO, "store: writing again, %lld samples waited", (long long)v->waited);
    else if (state != before && state == STORE_FULL)
        service_log(v, LOG_ERROR, "store: the disk is full, samples wait in memory until there is room (up to %d)",
                    BACKLOG_MEMORY_MAX);
    else if (state != before && (state == STORE_FAILING || state == STORE_AWAY))
        service_log(v, LOG_ERROR, "store: %s, %s", why, v->backlog.queue ? "samples wait on disk meanwhile" : "retrying");
    if (state == STORE_OK)
        v->waited = 0;
    publish(v, state, why);
}

static void retry_later(struct store_service *v)
{
    int64_t max_ms = service_is_server(v) ? RETRY_SERVER_LAST_MS : RETRY_LAST_MS;
    v->retry_ms = v->retry_ms ? MIN_OF(2 * v->retry_ms, max_ms) : RETRY_FIRST_MS;
    v->retry_at = (struct mono){clock_mono(&clock_system).ns + v->retry_ms * NS_PER_MS};
}

static bool may_try(const struct store_service *v)
{
    return v->retry_ms == 0 || clock_mono(&clock_system).ns >= v->retry_at.ns;
}

static enum store_state state_of(int rc)
{
    return rc == -ENOSPC ? STORE_FULL : rc == -ENOTCONN ? STORE_AWAY : STORE_FAILING;
}

static void take_orders(struct store_service *v)
{
    for (struct order *o; (o = mailbox_take(v->orders, 0)) != NULL;) {
        if (o->event)
            backlog_add_event(&v->backlog, TAKE(o->event));
        else
            v->options.store.limits = o->limits;
        service_drop_order(o);
    }
}

static void open_queue(struct store_service *v)
{
    if (!v->queue_path[0])
        return;
    struct error err = {0};
    if (queue_open(v->queue_path, v->options.queue_bytes, &v->backlog.queue, &err) == 0)
        return;
    service_log(v, LOG_WARNING, "store: %s; while the server is away, samples wait in memory", err.text);
}

/* Gives an idle writer the next batch, if there is one. */
static void give_work(struct store_service *v)
{
    struct work *w = &v->work;
    struct error err = {0};
    bool opening = v->status.state == STORE_OPENING && !v->closing;
    if (v->busy || !may_try(v) || (backlog_count(&v->backlog) == 0 && !opening))
        return;
    int rc = backlog_next(&v->backlog, &w->batch, &err);
    if (rc < 0) {
        service_log(v, LOG_WARNING, "store: the queue cannot be read: %s", err.text);
        retry_later(v);
        return;
    }
    w->limits = v->options.store.limits;
    w->clean = v->clean_next && !v->closing;
    v->clean_next = false;
    v->busy = true;
    v->busy_since = clock_mono(&clock_system);
    mailbox_put(v->works, w);
}

static void take_answer(struct store_service *v)
{
    struct work *w = &v->work;
    struct error err = {0};
    bool wrote = w->batch.count > 0;
    if (v->status.state != STORE_OK) /* before the written ones are removed */
        v->waited = MAX_OF(v->waited, backlog_count(&v->backlog));
    v->busy = false;
    v->written += w->written;
    v->rejected = w->rejected;
    v->clock = w->clock;
    v->clean_failures_known = w->clean_failures;
    v->used_bytes = w->used_bytes;
    int rc = w->written_to ? backlog_written(&v->backlog, w->batch.run, w->written_to, &err) : 0;
    backlog_returned(&v->backlog);
    batch_done(&w->batch);
    if (rc == 0 && w->rc < 0) {
        rc = w->rc;
        err = w->err;
    }
    if (rc < 0) {
        change_state(v, state_of(rc), err.text);
        retry_later(v);
        return;
    }
    v->retry_ms = 0;
    if (wrote || v->status.state == STORE_OPENING)
        change_state(v, STORE_OK, w->notice);
}

static void take_answers(struct store_service *v)
{
    for (void *item; (item = mailbox_take(v->answers, 0)) != NULL;)
        if (item == &v->work) /* else only a wakeup */
            take_answer(v);
}

/* A hanging database reports nothing: publish how long it has been silent, anew each time. */
static void watch_writer(struct store_service *v)
{
    char why[96], time[WORDS_SIZE];
    int64_t silent_ms = v->busy ? mono_since_ms(clock_mono(&clock_system), v->busy_since) : 0;
    if (silent_ms < HANGS_MS || v->status.state == STORE_FULL)
        return;
    snprintf(why, sizeof why, "the %s has not answered for %s", service_is_server(v) ? "server" : "database file",
             words_duration(silent_ms / MS_PER_S * MS_PER_S, time));
    change_state(v, service_is_server(v) ? STORE_AWAY : STORE_FAILING, why);
}

/* Saves items to disk while nothing can be written, or if they come faster than they can be written. */
static int spill(struct store_service *v)
{
    struct error err = {0};
    bool waits = v->status.state != STORE_OK || v->backlog.count > MEMORY_HALF || (v->busy && v->late);
    if (!waits || !v->backlog.queue || v->backlog.count == 0)
        return 0;
    int rc = backlog_spill(&v->backlog, &err);
    if (rc < 0)
        service_log(v, LOG_WARNING, "store: the queue cannot be written: %s", err.text);
    return rc;
}

/* Whether the keeper must also wake by time: for a retry, a hanging database, the end of a loss. */
static bool time_matters(const struct store_service *v)
{
    return v->busy || v->closing || v->retry_ms || v->status.losing || v->status.state != STORE_OK;
}

static void wait_for_message(struct store_service *v)
{
    struct pollfd fds[] = {{.fd = mailbox_fd(v->inbox), .events = POLLIN},
                           {.fd = mailbox_fd(v->orders), .events = POLLIN},
                           {.fd = mailbox_fd(v->answers), .events = POLLIN}};
    poll(fds, ARRAY_LEN(fds), time_matters(v) ? POLL_MS : CALM_MS);
}

/* After a disk hung for a while, more may have come than memory holds: save the items in memory to disk first. */
static void take_snapshots(struct store_service *v)
{
    int rc = 0;
    for (const struct snapshot *s; (s = mailbox_take(v->inbox, 0)) != NULL;) {
        if (v->backlog.count == BACKLOG_MEMORY_MAX && rc == 0)
            rc = spill(v);
        backlog_add_snapshot(&v->backlog, s);
        v->clean_next = true;
    }
}

static void check_closing(struct store_service *v)
{
    if (!v->closing && mailbox_closed(v->inbox)) {
        v->closing = true;
        v->closing_since = clock_mono(&clock_system);
        v->retry_ms = 0; /* one last try */
        take_snapshots(v);
        take_orders(v);
    }
    v->late = v->closing && mono_since_ms(clock_mono(&clock_system), v->closing_since) >= LAST_CHANCE_MS;
}

/* Whether everything at the end is written, saved to disk, or lost for good. */
static bool is_over(struct store_service *v)
{
    if (!v->closing)
        return false;
    return v->busy ? v->late && v->backlog.queue : backlog_count(&v->backlog) == 0 || !may_try(v);
}

void *service_keeper(void *service)
{
    struct store_service *v = service;
    open_queue(v);
    do {
        take_answers(v);
        take_snapshots(v);
        take_orders(v);
        check_closing(v);
        give_work(v);
        watch_writer(v);
        spill(v);
        publish(v, v->status.state, NULL);
        if (is_over(v))
            break;
        wait_for_message(v);
    } while (true);
    atomic_store(&v->gave_up, v->busy);
    mailbox_close(v->works);
    service_release(v);
    return NULL;
}
