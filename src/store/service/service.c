/* SPDX-License-Identifier: Apache-2.0
 * The public functions of the store's threads.
 */
#include "store/service/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/thread.h"
#include "store/service/internal.h"

/* The inbox buffers snapshots while the keeper waits for the disk of its queue: minutes of them, or 25 s at 20 samples per
 * second. */
enum { INBOX_SIZE = 512, ORDERS_SIZE = 256, WORKS_SIZE = 4 };

static void drop_snapshot(void *item)
{
    snapshot_unref(item);
}

void service_release(struct store_service *v)
{
    if (atomic_fetch_sub(&v->users, 1) != 1)
        return;
    batch_done(&v->work.batch);
    backlog_done(&v->backlog);
    mailbox_free(v->inbox);
    mailbox_free(v->orders);
    mailbox_free(v->works);
    mailbox_free(v->answers);
    pthread_cond_destroy(&v->turn);
    pthread_mutex_destroy(&v->lock);
    free(v->url);
    free(v->queue_path);
    free(v);
}

struct store_service *store_service_new(const struct store_service_options *options, struct error *err)
{
    struct store_service *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    v->options = *options;
    v->url = strdup(options->store.url);
    v->queue_path = strdup(options->queue_path ? options->queue_path : "");
    if (!v->url || !v->queue_path) {
        free(v->url);
        free(v->queue_path);
        free(v);
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    str_copy(v->host, sizeof v->host, str_from(options->store.host ? options->store.host : ""));
    str_copy(v->machine, sizeof v->machine, str_from(options->store.machine ? options->store.machine : ""));
    str_copy(v->was, sizeof v->was, str_from(options->store.was ? options->store.was : ""));
    backlog_init(&v->backlog);
    v->used_bytes = -1;
    v->status = (struct store_status){.state = STORE_OPENING, .used_bytes = -1};
    v->status.kind = service_is_server(v) ? "postgresql" : "sqlite";
    pthread_mutex_init(&v->lock, NULL);
    condition_init(&v->turn);
    v->inbox = mailbox_new(INBOX_SIZE, drop_snapshot);
    v->orders = mailbox_new(ORDERS_SIZE, service_drop_order);
    v->works = mailbox_new(WORKS_SIZE, NULL);
    v->answers = mailbox_new(WORKS_SIZE, NULL);
    atomic_store(&v->users, 3);
    bool good = v->inbox && v->orders && v->works && v->answers;
    v->writer_runs = good && pthread_create(&v->writer, NULL, service_writer, v) == 0;
    v->keeper_runs = v->writer_runs && pthread_create(&v->keeper, NULL, service_keeper, v) == 0;
    if (v->keeper_runs)
        return v;
    error_set(err, -EAGAIN, "no memory or threads for the history database");
    atomic_fetch_sub(&v->users, !v->writer_runs + !v->keeper_runs);
    store_service_free(v, 1000);
    return NULL;
}

static void service_join(pthread_t thread, int64_t until_ms)
{
    struct timespec until = {.tv_sec = until_ms / MS_PER_S, .tv_nsec = until_ms % MS_PER_S * NS_PER_MS};
    /* A hanging database keeps its thread, which frees the rest if it ever returns. */
    if (pthread_timedjoin_np(thread, NULL, &until) != 0)
        pthread_detach(thread);
}

void store_service_free(struct store_service *v, int64_t timeout_ms)
{
    if (!v)
        return;
    int64_t until_ms = clock_wall(&clock_system).ms + timeout_ms;
    if (v->inbox)
        mailbox_close(v->inbox);
    store_service_end_questions(v);
    if (v->keeper_runs) {
        mailbox_put(v->answers, v); /* only wakes the keeper */
        service_join(v->keeper, until_ms);
    } else if (v->works) {
        mailbox_close(v->works);
    }
    /* The keeper has saved the batch of a hanging writer to disk. */
    if (v->writer_runs)
        service_join(v->writer, atomic_load(&v->gave_up) ? 0 : until_ms);
    for (size_t i = 0; i < READERS_MAX; i++) {
        pthread_mutex_lock(&v->lock);
        bool there = v->readers[i].state != READER_NONE;
        pthread_mutex_unlock(&v->lock);
        if (there)
            service_join(v->readers[i].thread, until_ms);
    }
    service_release(v);
}

struct mailbox *store_service_inbox(struct store_service *v)
{
    return v->inbox;
}

static void send_order(struct store_service *v, struct order order)
{
    struct order *o = malloc(sizeof *o);
    if (!o) {
        free(order.event);
        return;
    }
    *o = order;
    mailbox_put(v->orders, o);
}

void store_service_event(struct store_service *v, const struct store_event *event)
{
    struct store_event *kept = store_event_copy(event);
    if (kept)
        send_order(v, (struct order){.event = kept});
}

void store_service_set_limits(struct store_service *v, const struct store_limits *limits)
{
    send_order(v, (struct order){.limits = *limits});
}

void store_service_status(struct store_service *v, struct store_status *ret)
{
    pthread_mutex_lock(&v->lock);
    *ret = v->status;
    pthread_mutex_unlock(&v->lock);
}

bool store_is_troubled(const struct store_status *status)
{
    return (status->state != STORE_OK && status->state != STORE_OPENING) || status->losing;
}

const char *store_service_host(const struct store_service *v)
{
    return atomic_load(&v->is_beside) ? v->beside : v->host;
}

const char *store_state_name(enum store_state state)
{
    static const char *const names[] = {"opening", "ok", "full", "away", "failing"};
    return names[state];
}
