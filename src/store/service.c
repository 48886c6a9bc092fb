/* SPDX-License-Identifier: Apache-2.0
 * The store's threads from outside, and the readers'.
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
#include "store/service_internal.h"

enum { INBOX_SIZE = 64, ORDERS_SIZE = 256, JOBS_SIZE = 128, WORKS_SIZE = 4, READER_IDLE_MS = 5000 };

struct store_job {
    store_job_fn *run;
    void *arg;
};

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
    mailbox_free(v->jobs);
    mailbox_free(v->works);
    mailbox_free(v->answers);
    pthread_mutex_destroy(&v->lock);
    free(v->url);
    free(v->queue_path);
    free(v);
}

/* ---- the readers ---- */

static int open_for_reading(struct store_service *v, struct store **store, struct error *err)
{
    struct store_status status;
    store_service_status(v, &status);
    /* Asking a server that is known not to answer would only keep everybody waiting. */
    if (service_is_server(v) && status.state == STORE_AWAY)
        return error_set(err, -ENOTCONN, "%s", status.message);
    int rc = *store ? store_refresh(*store, err) : store_open_read_only(v->options.store.env, v->url, store, err);
    /* No file means that nothing was stored yet; but not when the writer cannot make one. */
    if (rc == -ENOENT && store_is_troubled(&status) && status.message[0])
        rc = error_set(err, -EIO, "%s", status.message);
    return rc;
}

/* Whether nobody will miss this reader; it is over then. */
static bool may_end(struct store_reader *r)
{
    struct store_service *v = r->service;
    pthread_mutex_lock(&v->lock);
    bool may = v->jobs_open < v->readers_run;
    if (may) {
        r->state = READER_OVER;
        v->readers_run--;
    }
    pthread_mutex_unlock(&v->lock);
    return may;
}

/* What nobody needs is not kept. A server has only so many connections, and each has memory of its own; so has a thread: the
 * allocator holds on to what it freed, which after reading a schema is some hundred KB. */
static struct store_job *next_job(struct store_reader *r, struct store **store)
{
    struct mailbox *jobs = r->service->jobs;
    struct store_job *job = mailbox_take(jobs, READER_IDLE_MS);
    while (!job && !mailbox_closed(jobs)) {
        store_close(*store);
        *store = NULL;
        if (may_end(r))
            return NULL;
        job = mailbox_take(jobs, READER_IDLE_MS);
    }
    return job;
}

static void job_done(struct store_service *v)
{
    pthread_mutex_lock(&v->lock);
    v->jobs_open--;
    pthread_mutex_unlock(&v->lock);
}

static void *run_reader(void *arg)
{
    struct store_reader *r = arg;
    struct store_service *v = r->service;
    struct store *store = NULL;
    unsigned epoch = 0;
    for (struct store_job *job; (job = next_job(r, &store)) != NULL;) {
        struct error err = {0};
        unsigned now = atomic_load(&v->epoch);
        if (store && now != epoch) {
            store_close(store);
            store = NULL;
        }
        int rc = open_for_reading(v, &store, &err);
        if (rc < 0) {
            store_close(store);
            store = NULL;
        }
        epoch = now;
        job->run(store, &err, job->arg);
        free(job);
        job_done(v);
    }
    store_close(store);
    service_release(v);
    return NULL;
}

static void add_reader(struct store_service *v)
{
    struct store_reader *r = v->readers;
    while (r->state == READER_RUNS)
        r++;
    if (r->state == READER_OVER)
        pthread_join(r->thread, NULL);
    r->service = v;
    r->state = READER_NONE;
    atomic_fetch_add(&v->users, 1);
    if (pthread_create(&r->thread, NULL, run_reader, r) != 0) {
        atomic_fetch_sub(&v->users, 1);
        return;
    }
    r->state = READER_RUNS;
    v->readers_run++;
}

/* One more job; whether somebody will take it. One more reader is only for speed when there is another, which gets to the job in
 * the end. */
static bool count_job(struct store_service *v)
{
    pthread_mutex_lock(&v->lock);
    if (v->jobs_open >= v->readers_run && v->readers_run < READERS_MAX)
        add_reader(v);
    bool good = v->readers_run > 0;
    v->jobs_open += good;
    pthread_mutex_unlock(&v->lock);
    return good;
}

bool store_service_ask(struct store_service *v, store_job_fn *job, void *arg)
{
    struct store_job *j = malloc(sizeof *j);
    if (!j)
        return false;
    *j = (struct store_job){job, arg};
    bool counted = count_job(v);
    if (counted && mailbox_offer(v->jobs, j))
        return true;
    if (counted)
        job_done(v);
    free(j);
    return false;
}

/* A job that is dropped still owns its argument: it is told that there is no store. */
static void drop_job(void *item)
{
    struct store_job *job = item;
    struct error err;
    error_set(&err, -ECANCELED, "the history database was closed");
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
    backlog_init(&v->backlog);
    v->used_bytes = -1;
    v->status = (struct store_status){.state = STORE_OPENING, .used_bytes = -1};
    v->status.kind = service_is_server(v) ? "postgresql" : "sqlite";
    pthread_mutex_init(&v->lock, NULL);
    v->inbox = mailbox_new(INBOX_SIZE, drop_snapshot);
    v->orders = mailbox_new(ORDERS_SIZE, service_drop_order);
    v->jobs = mailbox_new(JOBS_SIZE, drop_job);
    v->works = mailbox_new(WORKS_SIZE, NULL);
    v->answers = mailbox_new(WORKS_SIZE, NULL);
    atomic_store(&v->users, 3);
    bool good = v->inbox && v->orders && v->jobs && v->works && v->answers;
    v->writer_runs = good && pthread_create(&v->writer, NULL, service_writer, v) == 0;
    v->keeper_runs = v->writer_runs && pthread_create(&v->keeper, NULL, service_keeper, v) == 0;
    if (v->keeper_runs)
        return v;
    error_set(err, -EAGAIN, "no memory or threads for the history database");
    atomic_fetch_sub(&v->users, !v->writer_runs + !v->keeper_runs);
    store_service_free(v, 1000);
    return NULL;
}

static void join(pthread_t thread, int64_t until_ms)
{
    struct timespec until = {.tv_sec = until_ms / MS_PER_S, .tv_nsec = until_ms % MS_PER_S * NS_PER_MS};
    /* A database that hangs keeps its thread, which frees the rest should it ever come back. */
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
    if (v->jobs)
        mailbox_close(v->jobs);
    if (v->keeper_runs) {
        mailbox_put(v->answers, v); /* nothing but a nudge */
        join(v->keeper, until_ms);
    } else if (v->works) {
        mailbox_close(v->works);
    }
    /* What a writer that hangs had in hand, the keeper has put on disk. */
    if (v->writer_runs)
        join(v->writer, atomic_load(&v->gave_up) ? 0 : until_ms);
    for (size_t i = 0; i < READERS_MAX; i++) {
        pthread_mutex_lock(&v->lock);
        bool there = v->readers[i].state != READER_NONE;
        pthread_mutex_unlock(&v->lock);
        if (there)
            join(v->readers[i].thread, until_ms);
    }
    service_release(v);
}

struct mailbox *store_service_inbox(struct store_service *v)
{
    return v->inbox;
}

static void give_order(struct store_service *v, struct order order)
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
    struct kept_event *kept = kept_event_new(event);
    if (kept)
        give_order(v, (struct order){.event = kept});
}

void store_service_set_limits(struct store_service *v, const struct store_limits *limits)
{
    give_order(v, (struct order){.limits = *limits});
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
    return v->host;
}

const char *store_state_name(enum store_state state)
{
    static const char *const names[] = {"opening", "ok", "full", "away", "failing"};
    return names[state];
}
