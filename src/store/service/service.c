/* SPDX-License-Identifier: Apache-2.0
 * What waits to be written, the keeper's thread, and the public functions of the store's threads. The keeper collects snapshots and
 * events, hands them to the writer in batches, and saves them to disk while the writer can't write them. It never talks to the
 * database itself, so that nothing is lost while a server or a disk hangs.
 */
#include "store/service/service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/os/thread.h"
#include "base/words.h"
#include "store/service/internal.h"

/* ---- what waits to be written: a list in memory, and the queue on disk ---- */

static void backlog_init(struct backlog *b)
{
    *b = (struct backlog){.next_number = 1};
    uint64_t run = 0;
    if (getrandom(&run, sizeof run, 0) != sizeof run)
        run = (uint64_t)clock_wall(&clock_system).ms;
    b->run = (int64_t)(run >> 1 | 1); /* positive, never 0 */
}

static void item_done(struct backlog_item *item)
{
    snapshot_unref(item->snapshot);
    free(item->event);
}

static void backlog_done(struct backlog *b)
{
    for (size_t i = 0; i < b->count; i++)
        item_done(&b->items[i]);
    b->count = 0;
    queue_close(b->queue);
    b->queue = NULL;
}

static void forget_first(struct backlog *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        item_done(&b->items[i]);
    b->count -= count;
    memmove(b->items, b->items + count, b->count * sizeof b->items[0]);
}

/* Drops the oldest item that is not being written. */
static void lose_one(struct backlog *b)
{
    size_t at = 0;
    while (at < b->count - 1 && b->items[at].number <= b->given_out)
        at++;
    item_done(&b->items[at]);
    b->count--;
    memmove(b->items + at, b->items + at + 1, (b->count - at) * sizeof b->items[0]);
    b->lost++;
}

static void backlog_add(struct backlog *b, struct backlog_item item)
{
    if (b->count == BACKLOG_MEMORY_MAX)
        lose_one(b);
    item.number = b->next_number++;
    b->items[b->count++] = item;
}

static void backlog_add_snapshot(struct backlog *b, const struct snapshot *snapshot)
{
    backlog_add(b, (struct backlog_item){.snapshot = snapshot});
}

/* Take ownership. If memory is full, the oldest item is lost. */
static void backlog_add_event(struct backlog *b, struct store_event *event)
{
    backlog_add(b, (struct backlog_item){.event = event});
}

static int64_t backlog_count(const struct backlog *b)
{
    return (int64_t)b->count + (b->queue ? queue_count(b->queue) : 0);
}

/* Waiting items; lost items. */
static uint64_t backlog_lost(const struct backlog *b)
{
    return b->lost + (b->queue ? queue_dropped(b->queue) : 0);
}

/* Moves items from memory to disk: the server is unreachable, and the program may end before it is back. */
static int backlog_spill(struct backlog *b, struct error *err)
{
    if (!b->queue || b->count == 0)
        return 0;
    struct queue_item items[BACKLOG_MEMORY_MAX];
    for (size_t i = 0; i < b->count; i++)
        items[i] = (struct queue_item){
            .run = b->run, .number = b->items[i].number, .snapshot = b->items[i].snapshot, .event = b->items[i].event};
    int rc = queue_put(b->queue, items, b->count, err);
    if (rc == 0)
        forget_first(b, b->count);
    return rc;
}

/* Copies items from memory, with references of their own. */
static int copy_items(const struct backlog *b, struct queued *items)
{
    size_t count = MIN_OF(b->count, (size_t)BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct backlog_item *item = &b->items[i];
        struct store_event *event = item->event ? store_event_copy(item->event) : NULL;
        if (item->event && !event) {
            for (size_t k = 0; k < i; k++)
                queued_done(&items[k]);
            return -ENOMEM;
        }
        items[i] = (struct queued){.run = b->run, .number = item->number, .event = event};
        items[i].snapshot = item->snapshot ? (struct snapshot *)snapshot_ref(item->snapshot) : NULL;
    }
    return (int)count;
}

/* 1: a batch, 0: nothing waits, or -errno. Its items stay in the backlog until backlog_written. */
static int backlog_next(struct backlog *b, struct backlog_batch *batch, struct error *err)
{
    *batch = (struct backlog_batch){0};
    bool queued = b->queue && queue_count(b->queue);
    int count = queued ? queue_first(b->queue, batch->queued, BATCH_MAX, err) : copy_items(b, batch->queued);
    if (count < 0)
        return queued ? count : error_set(err, count, "out of memory");
    for (int i = 0; i < count; i++) {
        const struct queued *item = &batch->queued[i];
        if (item->snapshot)
            batch->snapshots[batch->snapshot_count++] = item->snapshot;
        else if (item->event)
            batch->events[batch->event_count++] = *item->event;
    }
    if (count > 0) {
        batch->count = (size_t)count;
        batch->run = batch->queued[0].run;
        batch->first = batch->queued[0].number;
        batch->number = batch->queued[count - 1].number;
    }
    b->given_out = queued ? 0 : batch->number;
    return count > 0;
}

/* The batch is no longer being written. */
static void backlog_returned(struct backlog *b)
{
    b->given_out = 0;
}

const char *batch_host(const struct backlog_batch *batch)
{
    return batch->snapshot_count ? batch->snapshots[0]->host.name : "";
}

static void batch_done(struct backlog_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        queued_done(&batch->queued[i]);
    *batch = (struct backlog_batch){0};
}

/* Forgets the items of a run up to this number: they are written. */
static int backlog_written(struct backlog *b, int64_t run, int64_t up_to, struct error *err)
{
    size_t count = 0;
    while (run == b->run && count < b->count && b->items[count].number <= up_to)
        count++;
    forget_first(b, count);
    return b->queue && queue_count(b->queue) ? queue_remove(b->queue, run, up_to, err) : 0;
}

/* ---- the keeper ---- */

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

static void service_drop_order(void *order)
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

static void *service_keeper(void *service)
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

/* ---- for users ---- */

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
