/* SPDX-License-Identifier: Apache-2.0
 * The writer's thread: opens, writes, waits when it must, cleans up.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/service_internal.h"

enum {
    LOOK_MS = 500,
    RETRY_FIRST_MS = 1000,
    RETRY_LAST_MS = 60000,
    RETRY_SERVER_LAST_MS = 5000, /* a server that is back should not be kept waiting */
    CLEAN_BUDGET_MS = 100,
    SPILL_AT = BACKLOG_MEMORY_MAX / 2, /* while a long queue is written, what comes meanwhile joins it */
};

void service_drop_order(void *item)
{
    struct order *o = item;
    free(o->event);
    free(o);
}

static void say(struct store_service *v, enum log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void say(struct store_service *v, enum log_level level, const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (v->options.say)
        v->options.say(v->options.user, level, text);
}

/* message NULL: as it was. */
static void publish(struct store_service *v, enum store_state state, const char *message)
{
    int64_t used = -1;
    if (v->store)
        store_used_bytes(v->store, &used, NULL);
    pthread_mutex_lock(&v->lock);
    v->status.state = state;
    v->status.queued = backlog_count(&v->backlog);
    v->status.written = v->written;
    v->status.lost = backlog_lost(&v->backlog) + mailbox_dropped(v->inbox) + (v->store ? store_rejected(v->store) : 0);
    v->status.used_bytes = used >= 0 ? used : v->status.used_bytes;
    if (message)
        snprintf(v->status.message, sizeof v->status.message, "%s", message);
    pthread_mutex_unlock(&v->lock);
}

/* A failure is told once, and when it is over; not once an interval. */
static void change_state(struct store_service *v, enum store_state state, const struct error *err)
{
    enum store_state before = v->status.state; /* only this thread writes it */
    if (state != before && state == STORE_OK && before != STORE_OPENING)
        say(v, LOG_INFO, "store: writing again, %lld samples waited", (long long)backlog_count(&v->backlog));
    else if (state != before && state == STORE_FULL)
        say(v, LOG_ERROR, "store: the disk is full, samples wait in memory until there is room (up to %d)", BACKLOG_MEMORY_MAX);
    else if (state != before && (state == STORE_FAILING || state == STORE_AWAY))
        say(v, LOG_ERROR, "store: %s, %s", err->text, v->backlog.queue ? "samples wait on disk meanwhile" : "retrying");
    publish(v, state, state == STORE_OK ? "" : err ? err->text : "");
}

static void retry_later(struct store_service *v)
{
    int64_t most = service_is_server(v) ? RETRY_SERVER_LAST_MS : RETRY_LAST_MS;
    v->retry_ms = v->retry_ms ? MIN_OF(2 * v->retry_ms, most) : RETRY_FIRST_MS;
    v->retry_at = (struct mono){clock_mono(&clock_system).ns + v->retry_ms * NS_PER_MS};
}

static bool may_try(const struct store_service *v)
{
    return v->retry_ms == 0 || clock_mono(&clock_system).ns >= v->retry_at.ns;
}

static void close_store(struct store_service *v)
{
    store_close(v->store);
    v->store = NULL;
    v->confirmed_run = 0;
}

static enum store_state state_of(int rc)
{
    return rc == -ENOSPC ? STORE_FULL : rc == -ENOTCONN ? STORE_AWAY : STORE_FAILING;
}

/* A damaged file must not stop the history of tomorrow. */
static void move_aside(struct store_service *v, const struct error *why)
{
    char moved[640];
    struct error err = {0};
    close_store(v);
    atomic_fetch_add(&v->epoch, 1);
    if (store_move_aside(v->url, clock_wall(v->options.clock), moved, sizeof moved, &err) == 0)
        say(v, LOG_ERROR, "store: the file is damaged (%s); it was moved to '%s' and a new one is started", why->text, moved);
    else
        say(v, LOG_ERROR, "store: the file is damaged (%s), but %s", why->text, err.text);
}

static bool open_store(struct store_service *v)
{
    if (v->store)
        return true;
    struct error err = {0};
    const struct store_options options = {
        .env = v->options.store.env, .url = v->url, .host = v->host, .limits = v->options.store.limits};
    int rc = store_open(&options, &v->store, &err);
    if (rc == -EUCLEAN && !service_is_server(v)) {
        move_aside(v, &err);
        rc = store_open(&options, &v->store, &err);
    }
    if (rc < 0) {
        change_state(v, state_of(rc), &err);
        retry_later(v);
        return false;
    }
    atomic_fetch_add(&v->epoch, 1);
    return true;
}

static void take_orders(struct store_service *v)
{
    for (struct order *o; (o = mailbox_take(v->orders, 0)) != NULL;) {
        if (o->event) {
            backlog_add_event(&v->backlog, TAKE(o->event));
        } else {
            v->options.store.limits = o->limits;
            if (v->store)
                store_set_limits(v->store, &o->limits);
        }
        service_drop_order(o);
    }
}

static void open_queue(struct store_service *v)
{
    if (!v->queue_path[0] || v->backlog.queue)
        return;
    struct error err = {0};
    if (queue_open(v->queue_path, v->options.queue_bytes, &v->backlog.queue, &err) == 0)
        return;
    say(v, LOG_WARNING, "store: %s; while the server is away, samples wait in memory", err.text);
    v->queue_path[0] = '\0';
}

static void failed(struct store_service *v, int rc, const struct error *err)
{
    if (rc == -EUCLEAN && !service_is_server(v))
        move_aside(v, err);
    else if (service_is_server(v) || (rc != -ENOSPC && rc != -EBUSY))
        close_store(v);
    change_state(v, state_of(rc), err);
    retry_later(v);
}

/* After a connection was lost: was the last transaction committed? 1: the batch is still to be written. */
static int confirm(struct store_service *v, struct error *err)
{
    const char *host = v->host[0] ? v->host : batch_host(&v->batch);
    if (!service_is_server(v) || v->confirmed_run == v->batch.run || !host[0])
        return 1;
    int64_t last;
    int rc = store_last_number(v->store, host, v->batch.run, &last, err);
    if (rc < 0)
        return rc;
    v->confirmed_run = v->batch.run;
    bool some = last >= v->batch.first;
    rc = some ? backlog_written(&v->backlog, v->batch.run, last, err) : 0;
    return rc < 0 ? rc : !some;
}

/* True when something was written, or found to be, and more may be. */
static bool write_some(struct store_service *v)
{
    if (backlog_count(&v->backlog) == 0 || !may_try(v) || !open_store(v))
        return false;
    struct error err = {0};
    struct batch *batch = &v->batch;
    int rc = backlog_next(&v->backlog, batch, &err);
    bool wanted = rc == 1;
    if (wanted)
        rc = confirm(v, &err);
    if (wanted && rc == 1) {
        rc = store_write_numbered(v->store, batch->snapshots, batch->snapshot_count, batch->events, batch->event_count,
                                  service_is_server(v) ? batch->run : 0, batch->number, &err);
        if (rc == 0) {
            v->written += batch->snapshot_count;
            rc = backlog_written(&v->backlog, batch->run, batch->number, &err);
        }
    }
    batch_done(batch);
    if (rc < 0) {
        failed(v, rc, &err);
        return false;
    }
    v->retry_ms = 0;
    if (wanted && v->status.state != STORE_OK)
        change_state(v, STORE_OK, NULL);
    return wanted && backlog_count(&v->backlog) > 0;
}

/* While nothing can be written, what came goes to the disk. */
static void spill(struct store_service *v)
{
    struct error err = {0};
    if (v->status.state == STORE_OK || !v->backlog.queue || v->backlog.count == 0)
        return;
    if (backlog_spill(&v->backlog, &err) < 0)
        say(v, LOG_WARNING, "store: the queue cannot be written: %s", err.text);
}

static void take_inbox(struct store_service *v, const struct snapshot *first)
{
    for (const struct snapshot *s = first; s; s = mailbox_take(v->inbox, 0))
        backlog_add_snapshot(&v->backlog, s);
}

/* Writes what waits. A long queue takes minutes: meanwhile samples keep coming, and people want to see it shrink. */
static void write_all(struct store_service *v)
{
    struct error err = {0};
    struct mono told = clock_mono(&clock_system);
    while (write_some(v)) {
        take_inbox(v, mailbox_take(v->inbox, 0));
        take_orders(v);
        if (v->backlog.queue && v->backlog.count >= SPILL_AT && backlog_spill(&v->backlog, &err) < 0)
            say(v, LOG_WARNING, "store: the queue cannot be written: %s", err.text);
        if (mono_since_ms(clock_mono(&clock_system), told) < LOOK_MS)
            continue;
        publish(v, v->status.state, NULL);
        told = clock_mono(&clock_system);
    }
}

static void clean_some(struct store_service *v)
{
    struct mono begin = clock_mono(&clock_system);
    struct error err = {0};
    int more = v->store && v->status.state == STORE_OK;
    while (more == 1 && mono_since_ms(clock_mono(&clock_system), begin) < CLEAN_BUDGET_MS)
        more = store_clean(v->store, clock_wall(v->options.clock), &err);
    if (more == -EUCLEAN && !service_is_server(v)) {
        move_aside(v, &err);
    } else if (more == -ENOTCONN) {
        failed(v, more, &err);
    } else if (more < 0 && more != -ENOSPC && more != -EBUSY) {
        say(v, LOG_WARNING, "store: cleaning up failed: %s", err.text);
    }
}

void *service_writer(void *arg)
{
    struct store_service *v = arg;
    open_queue(v);
    if (open_store(v))
        publish(v, STORE_OK, "");
    for (bool open = true; open;) {
        const struct snapshot *s = mailbox_take(v->inbox, LOOK_MS);
        bool came = s != NULL;
        take_inbox(v, s);
        take_orders(v);
        open = !mailbox_closed(v->inbox);
        if (!open)
            v->retry_ms = 0; /* the last chance */
        bool due = backlog_count(&v->backlog) > 0;
        write_all(v);
        spill(v);
        if (came && open)
            clean_some(v);
        if (due)
            publish(v, v->status.state, NULL);
    }
    close_store(v);
    service_release(v);
    return NULL;
}
