/* SPDX-License-Identifier: Apache-2.0
 * The writer's and the reader's thread.
 */
#include "store/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

enum {
    INBOX_SIZE = 64,
    ORDERS_SIZE = 256,
    JOBS_SIZE = 128,
    WAITING_MAX = 240, /* snapshots kept in memory while nothing can be written: 20 minutes at the usual interval */
    BATCH_MAX = 64,
    EVENTS_MAX_WAITING = 512,
    LOOK_MS = 500,
    RETRY_FIRST_MS = 1000,
    RETRY_LAST_MS = 60000,
    CLEAN_BUDGET_MS = 100,
};

struct order {
    bool is_limits;
    struct store_limits limits;
    struct store_event event; /* its texts lie behind the struct */
    char texts[];
};

struct job {
    store_job_fn *run;
    void *arg;
};

struct store_service {
    struct store_service_options options;
    char url[512], host[HOST_NAME_SIZE];
    struct mailbox *inbox, *orders, *jobs;
    pthread_t writer, reader;
    bool writer_runs, reader_runs;
    _Atomic unsigned epoch; /* changes when the file is another one */
    _Atomic int users;      /* threads and the owner: the last one frees */

    pthread_mutex_t lock; /* guards `status` alone */
    struct store_status status;

    /* The writer's own. */
    struct store *store;
    const struct snapshot *waiting[WAITING_MAX];
    size_t waiting_count;
    struct order *events[EVENTS_MAX_WAITING];
    size_t event_count;
    uint64_t written, lost;
    struct mono retry_at;
    int64_t retry_ms;
};

static void drop_snapshot(void *item)
{
    snapshot_unref(item);
}

static void release(struct store_service *v)
{
    if (atomic_fetch_sub(&v->users, 1) != 1)
        return;
    for (size_t i = 0; i < v->waiting_count; i++)
        snapshot_unref(v->waiting[i]);
    for (size_t i = 0; i < v->event_count; i++)
        free(v->events[i]);
    mailbox_free(v->inbox);
    mailbox_free(v->orders);
    mailbox_free(v->jobs);
    pthread_mutex_destroy(&v->lock);
    free(v);
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

/* ---- the writer ---- */

/* message NULL: as it was. */
static void publish(struct store_service *v, enum store_state state, const char *message)
{
    int64_t used = -1;
    if (v->store)
        store_used_bytes(v->store, &used, NULL);
    pthread_mutex_lock(&v->lock);
    v->status.state = state;
    v->status.queued = (int64_t)v->waiting_count;
    v->status.written = v->written;
    v->status.lost = v->lost + mailbox_dropped(v->inbox) + (v->store ? store_rejected(v->store) : 0);
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
        say(v, LOG_INFO, "store: writing again, %zu samples waited", v->waiting_count);
    else if (state != before && state == STORE_FULL)
        say(v, LOG_ERROR, "store: the disk is full, samples wait in memory until there is room (up to %d)", WAITING_MAX);
    else if (state != before && state == STORE_FAILING)
        say(v, LOG_ERROR, "store: %s, retrying", err->text);
    publish(v, state, state == STORE_OK ? "" : err ? err->text : "");
}

static void retry_later(struct store_service *v)
{
    v->retry_ms = v->retry_ms ? MIN_OF(2 * v->retry_ms, (int64_t)RETRY_LAST_MS) : RETRY_FIRST_MS;
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
    if (rc == -EUCLEAN) {
        move_aside(v, &err);
        rc = store_open(&options, &v->store, &err);
    }
    if (rc < 0) {
        change_state(v, rc == -ENOSPC ? STORE_FULL : STORE_FAILING, &err);
        retry_later(v);
        return false;
    }
    atomic_fetch_add(&v->epoch, 1);
    return true;
}

static void keep(struct store_service *v, const struct snapshot *s)
{
    if (v->waiting_count == WAITING_MAX) {
        snapshot_unref(v->waiting[0]);
        memmove(v->waiting, v->waiting + 1, (WAITING_MAX - 1) * sizeof v->waiting[0]);
        v->waiting_count--;
        v->lost++;
    }
    v->waiting[v->waiting_count++] = s;
}

static void take_orders(struct store_service *v)
{
    for (struct order *o; (o = mailbox_take(v->orders, 0)) != NULL;) {
        if (o->is_limits) {
            v->options.store.limits = o->limits;
            if (v->store)
                store_set_limits(v->store, &o->limits);
            free(o);
        } else if (v->event_count == EVENTS_MAX_WAITING) {
            free(o);
            v->lost++;
        } else {
            v->events[v->event_count++] = o;
        }
    }
}

static void written(struct store_service *v, size_t snapshots, size_t events)
{
    for (size_t i = 0; i < snapshots; i++)
        snapshot_unref(v->waiting[i]);
    for (size_t i = 0; i < events; i++)
        free(v->events[i]);
    v->waiting_count -= snapshots;
    v->event_count -= events;
    memmove(v->waiting, v->waiting + snapshots, v->waiting_count * sizeof v->waiting[0]);
    memmove(v->events, v->events + events, v->event_count * sizeof v->events[0]);
    v->written += snapshots;
    v->retry_ms = 0;
}

/* True when something was written and more may be. */
static bool write_some(struct store_service *v)
{
    if ((v->waiting_count == 0 && v->event_count == 0) || !may_try(v) || !open_store(v))
        return false;
    struct store_event events[BATCH_MAX];
    size_t snapshots = MIN_OF(v->waiting_count, (size_t)BATCH_MAX), event_count = MIN_OF(v->event_count, (size_t)BATCH_MAX);
    for (size_t i = 0; i < event_count; i++)
        events[i] = v->events[i]->event;
    struct error err = {0};
    int rc = store_write(v->store, v->waiting, snapshots, events, event_count, &err);
    if (rc == 0) {
        if (v->status.state != STORE_OK)
            change_state(v, STORE_OK, NULL);
        written(v, snapshots, event_count);
        return v->waiting_count || v->event_count;
    }
    if (rc == -EUCLEAN)
        move_aside(v, &err);
    else if (rc != -ENOSPC && rc != -EBUSY)
        close_store(v);
    change_state(v, rc == -ENOSPC ? STORE_FULL : STORE_FAILING, &err);
    retry_later(v);
    return false;
}

static void clean_some(struct store_service *v)
{
    struct mono begin = clock_mono(&clock_system);
    struct error err = {0};
    int more = v->store && v->status.state == STORE_OK;
    while (more == 1 && mono_since_ms(clock_mono(&clock_system), begin) < CLEAN_BUDGET_MS)
        more = store_clean(v->store, clock_wall(v->options.clock), &err);
    if (more == -EUCLEAN) {
        move_aside(v, &err);
    } else if (more < 0 && more != -ENOSPC && more != -EBUSY) {
        say(v, LOG_WARNING, "store: cleaning up failed: %s", err.text);
    }
}

static void *run_writer(void *arg)
{
    struct store_service *v = arg;
    bool open = true;
    write_some(v); /* opens, when an event was sent already */
    if (may_try(v) && open_store(v))
        publish(v, STORE_OK, "");
    while (open) {
        const struct snapshot *s = mailbox_take(v->inbox, LOOK_MS);
        bool came = s != NULL;
        for (; s; s = mailbox_take(v->inbox, 0))
            keep(v, s);
        take_orders(v);
        open = !mailbox_closed(v->inbox);
        bool due = v->waiting_count || v->event_count;
        while (write_some(v))
            ;
        if (came && open)
            clean_some(v);
        if (due)
            publish(v, v->status.state, NULL);
    }
    if (v->waiting_count || v->event_count) {
        v->retry_ms = 0; /* the last chance */
        write_some(v);
    }
    close_store(v);
    release(v);
    return NULL;
}

/* ---- the reader ---- */

static void *run_reader(void *arg)
{
    struct store_service *v = arg;
    struct store *store = NULL;
    unsigned epoch = 0;
    for (struct job *job; (job = mailbox_take(v->jobs, -1)) != NULL;) {
        struct error err = {0};
        unsigned now = atomic_load(&v->epoch);
        if (store && now != epoch) {
            store_close(store);
            store = NULL;
        }
        int rc = store ? store_refresh(store, &err) : store_open_read_only(v->options.store.env, v->url, &store, &err);
        if (rc < 0) {
            store_close(store);
            store = NULL;
        }
        epoch = now;
        job->run(store, &err, job->arg);
        free(job);
    }
    store_close(store);
    release(v);
    return NULL;
}

bool store_service_ask(struct store_service *v, store_job_fn *job, void *arg)
{
    struct job *j = malloc(sizeof *j);
    if (!j)
        return false;
    *j = (struct job){job, arg};
    if (mailbox_offer(v->jobs, j))
        return true;
    free(j);
    return false;
}

/* A job that is dropped still owns its argument: it is told that there is no store. */
static void drop_job(void *item)
{
    struct job *job = item;
    struct error err;
    error_set(&err, -ECANCELED, "the store was closed");
    job->run(NULL, &err, job->arg);
    free(job);
}

/* ---- from outside ---- */

struct store_service *store_service_new(const struct store_service_options *options, struct error *err)
{
    struct store_service *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    v->options = *options;
    str_copy(v->url, sizeof v->url, str_from(options->store.url));
    str_copy(v->host, sizeof v->host, str_from(options->store.host ? options->store.host : ""));
    v->status = (struct store_status){.state = STORE_OPENING, .used_bytes = -1};
    v->status.kind = strncmp(v->url, "sqlite:", 7) == 0 ? "sqlite" : "postgresql";
    pthread_mutex_init(&v->lock, NULL);
    v->inbox = mailbox_new(INBOX_SIZE, drop_snapshot);
    v->orders = mailbox_new(ORDERS_SIZE, free);
    v->jobs = mailbox_new(JOBS_SIZE, drop_job);
    atomic_store(&v->users, 3);
    bool good = v->inbox && v->orders && v->jobs;
    v->writer_runs = good && pthread_create(&v->writer, NULL, run_writer, v) == 0;
    v->reader_runs = v->writer_runs && pthread_create(&v->reader, NULL, run_reader, v) == 0;
    if (v->reader_runs)
        return v;
    error_set(err, -EAGAIN, "no memory or threads for the store");
    atomic_fetch_sub(&v->users, (v->writer_runs ? 0 : 1) + 1);
    store_service_free(v, 1000);
    return NULL;
}

static void join(pthread_t thread, int64_t timeout_ms)
{
    int64_t until_ms = clock_wall(&clock_system).ms + timeout_ms;
    struct timespec until = {.tv_sec = until_ms / MS_PER_S, .tv_nsec = until_ms % MS_PER_S * NS_PER_MS};
    /* A disk that hangs keeps its thread, which frees the rest should it ever come back. */
    if (pthread_timedjoin_np(thread, NULL, &until) != 0)
        pthread_detach(thread);
}

void store_service_free(struct store_service *v, int64_t timeout_ms)
{
    if (!v)
        return;
    if (v->inbox)
        mailbox_close(v->inbox);
    if (v->jobs)
        mailbox_close(v->jobs);
    if (v->writer_runs)
        join(v->writer, timeout_ms);
    if (v->reader_runs)
        join(v->reader, timeout_ms);
    release(v);
}

struct mailbox *store_service_inbox(struct store_service *v)
{
    return v->inbox;
}

static const char *put_text(char **at, const char *text)
{
    if (!text)
        return NULL;
    size_t len = strlen(text) + 1;
    const char *copy = memcpy(*at, text, len);
    *at += len;
    return copy;
}

void store_service_event(struct store_service *v, const struct store_event *event)
{
    const char *const texts[] = {event->kind, event->severity, event->text, event->data};
    size_t size = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        size += texts[i] ? strlen(texts[i]) + 1 : 0;
    struct order *o = malloc(sizeof *o + size);
    if (!o)
        return;
    *o = (struct order){.event = *event};
    char *at = o->texts;
    o->event.kind = put_text(&at, event->kind);
    o->event.severity = put_text(&at, event->severity);
    o->event.text = put_text(&at, event->text);
    o->event.data = put_text(&at, event->data);
    mailbox_put(v->orders, o);
}

void store_service_set_limits(struct store_service *v, const struct store_limits *limits)
{
    struct order *o = malloc(sizeof *o);
    if (!o)
        return;
    *o = (struct order){.is_limits = true, .limits = *limits};
    mailbox_put(v->orders, o);
}

void store_service_status(struct store_service *v, struct store_status *ret)
{
    pthread_mutex_lock(&v->lock);
    *ret = v->status;
    pthread_mutex_unlock(&v->lock);
}

const char *store_state_name(enum store_state state)
{
    static const char *const names[] = {"opening", "ok", "full", "failing"};
    return names[state];
}
