/* SPDX-License-Identifier: Apache-2.0
 * The inside of the store's threads. Private to service*.c and ask/readers.c.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "store/service/backlog.h"
#include "store/service/service.h"

enum { NOTICE_SIZE = 400 };

/* What the keeper is told: new limits, or an event. */
struct order {
    struct store_limits limits;
    struct store_event *event; /* NULL: limits */
};

/* What the keeper gives the writer to do, and gets back done. There is one of it, which goes to and fro. */
struct work {
    struct backlog_batch batch; /* count 0: the database is only opened and looked after */
    bool clean;
    struct store_limits limits;
    /* The answer. */
    int rc; /* of what failed first */
    struct error err;
    int64_t written_to; /* everything of the batch's run up to this number is committed; 0: nothing was */
    size_t written;     /* snapshots that were not there before */
    int64_t used_bytes; /* -1 unknown */
    uint64_t rejected;
    struct store_clock clock;
    uint64_t clean_failures;
    char notice[NOTICE_SIZE]; /* "": none; something that health should tell although all is well again */
};

/* A thread that answers questions. It ends when there are none for a while. */
struct store_reader {
    struct store_service *service;
    pthread_t thread;
    enum { READER_NONE, READER_RUNS, READER_OVER } state; /* over: still to be joined */
    struct store_question *question;                      /* being answered */
    /* Its own. */
    struct store *store;
    unsigned epoch;
    struct mono until; /* when the question has had its time; ns 0: never */
};

struct store_service {
    struct store_service_options options;
    char *url, *queue_path; /* the latter "": none */
    char host[HOST_NAME_SIZE];
    struct mailbox *inbox, *orders;
    struct mailbox *works, *answers; /* to the writer and back */
    pthread_t keeper, writer;
    bool keeper_runs, writer_runs;
    _Atomic unsigned epoch; /* changes when the file is another one */
    _Atomic int users;      /* threads and the owner: the last one frees */
    _Atomic bool gave_up;   /* the keeper did not wait for the writer any longer */

    pthread_mutex_t lock; /* guards these: */
    struct store_status status;
    struct store_reader readers[READERS_MAX];
    size_t readers_run, readers_idle;
    struct turns turns;
    pthread_cond_t turn; /* something may have become answerable */
    bool closed;         /* no more questions */

    /* The keeper's own. */
    struct backlog backlog;
    struct work work;         /* the writer's while `busy` */
    bool busy, closing, late; /* late: the database had its last chance */
    struct mono busy_since, closing_since;
    bool clean_next; /* something came since the last time */
    uint64_t written, rejected, clean_failures_known;
    int64_t waited; /* samples, at most, since nothing could be written */
    struct store_clock clock;
    struct mono lost_at; /* ns 0: never */
    int64_t used_bytes;
    struct mono retry_at;
    int64_t retry_ms;

    /* The writer's own. */
    struct store *store;
    int64_t confirmed_run; /* since the connection was made, it is known what of this run is written */
    struct mono memory_given_back;
    uint64_t rejected_before; /* by stores that were closed since */
    int clock_told;           /* 1: that the clock is ahead, -1: behind, 0: all is well */
    int64_t healed_told;
    bool clean_fails;
    uint64_t clean_failures;
};

static inline bool service_is_server(const struct store_service *v)
{
    return strncmp(v->url, "sqlite:", 7) != 0;
}

void service_drop_order(void *order);
/* One user less; the last one frees. */
void service_release(struct store_service *v);
#define service_log(v, level, ...) log_through((v)->options.say, (v)->options.user, level, __VA_ARGS__)
/* The threads. */
void *service_keeper(void *service);
void *service_writer(void *service);
