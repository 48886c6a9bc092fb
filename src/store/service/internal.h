/* SPDX-License-Identifier: Apache-2.0
 * Internals of the store's threads. Private to store/service/.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "store/service/backlog.h"
#include "store/service/service.h"

enum { NOTICE_SIZE = 400 };

/* A message to the keeper: new limits, or an event. */
struct order {
    struct store_limits limits;
    struct store_event *event; /* NULL: limits */
};

/* A job for the writer, and its result. There is only one, passed back and forth. */
struct work {
    struct backlog_batch batch; /* count 0: only open and maintain the database */
    bool clean;
    struct store_limits limits;
    /* The result. */
    int rc; /* of the first failure */
    struct error err;
    int64_t written_to; /* the batch is committed up to this number; 0: nothing was */
    size_t written;     /* snapshots that were new */
    int64_t used_bytes; /* -1 unknown */
    uint64_t rejected;
    struct store_clock clock;
    uint64_t clean_failures;
    char notice[NOTICE_SIZE]; /* for health, although writing works again; "": none */
};

/* A thread that answers questions. It ends after a while without questions. */
struct store_reader {
    struct store_service *service;
    pthread_t thread;
    enum { READER_NONE, READER_RUNS, READER_OVER } state; /* over: not joined yet */
    struct store_question *question;                      /* being answered */
    /* Used by this thread only. */
    struct store *store;
    unsigned epoch;
    struct mono until; /* deadline of the question; ns 0: none */
};

struct store_service {
    struct store_service_options options;
    char *url, *queue_path; /* queue_path "": none */
    char host[HOST_NAME_SIZE], was[HOST_NAME_SIZE];
    struct mailbox *inbox, *orders;
    struct mailbox *works, *answers; /* to the writer and back */
    pthread_t keeper, writer;
    bool keeper_runs, writer_runs;
    _Atomic unsigned epoch; /* changes when the file was replaced */
    _Atomic int users;      /* threads and the owner: the last one frees the service */
    _Atomic bool gave_up;   /* the keeper stopped waiting for the writer */

    pthread_mutex_t lock; /* guards these: */
    struct store_status status;
    struct store_reader readers[READERS_MAX];
    size_t readers_run, readers_idle;
    struct turns turns;
    pthread_cond_t turn; /* a question may be ready to answer */
    bool closed;         /* no more questions */

    /* Used by the keeper only. */
    struct backlog backlog;
    struct work work;         /* the writer owns it while `busy` */
    bool busy, closing, late; /* late: the database used up its time to finish */
    struct mono busy_since, closing_since;
    bool clean_next; /* snapshots came since the last cleanup */
    uint64_t written, rejected, clean_failures_known;
    int64_t waited; /* the most samples that waited since writing failed */
    struct store_clock clock;
    struct mono lost_at; /* ns 0: never */
    int64_t used_bytes;
    struct mono retry_at;
    int64_t retry_ms;

    /* Used by the writer only. */
    struct store *store;
    int64_t confirmed_run; /* the run whose last written number is known, since the connection was made */
    struct mono memory_trimmed;
    uint64_t rejected_before; /* by stores that were closed since */
    int clock_logged;         /* last logged: 1: the clock is ahead, -1: behind, 0: correct */
    int64_t healed_logged;
    bool clean_fails;
    uint64_t clean_failures;
};

static inline bool service_is_server(const struct store_service *v)
{
    return strncmp(v->url, "sqlite:", 7) != 0;
}

void service_drop_order(void *order);
/* Drops one reference; the last one frees the service. */
void service_release(struct store_service *v);
#define service_log(v, level, ...) log_through((v)->options.say, (v)->options.user, level, __VA_ARGS__)
/* The threads. */
void *service_keeper(void *service);
void *service_writer(void *service);
