/* SPDX-License-Identifier: Apache-2.0
 * Internals of the store's threads. Private to store/service/.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "model/snapshot.h"
#include "store/service/service.h"
#include "store/store.h"

/* Items that wait on disk while the database server is unreachable: snapshots and events in order, in an SQLite file. Each has a
 * number that is unique within the run of the program that made it; if a connection breaks during a commit, the server's last
 * number later tells whether it succeeded. Bounded: if the file is full, the oldest items are deleted. */

struct queue;

/* A copy with its texts in the same allocation; NULL: out of memory. */
struct store_event *store_event_copy(const struct store_event *event);

int queue_open(const char *path, int64_t max_bytes, struct queue **ret, struct error *err);
void queue_close(struct queue *q); /* NULL is allowed */

/* Written in one transaction. */
struct queue_item {
    int64_t run, number;
    const struct snapshot *snapshot; /* or */
    const struct store_event *event;
};
int queue_put(struct queue *q, const struct queue_item *items, size_t count, struct error *err);

int64_t queue_count(const struct queue *q);
uint64_t queue_dropped(const struct queue *q); /* because the queue was full, or they became unreadable */

/* The oldest items of one run, owned by the caller: snapshots with a reference, events with their texts in the same allocation.
 * Returns their number, or -errno. A damaged item has neither. */
struct queued {
    int64_t run, number;
    struct snapshot *snapshot;
    struct store_event *event;
};
int queue_first(struct queue *q, struct queued *items, size_t max, struct error *err);
void queued_done(struct queued *item);
/* Removes the items of a run up to this number: they are written. */
int queue_remove(struct queue *q, int64_t run, int64_t up_to, struct error *err);

/* Items to write: first those in the queue on disk (if there is one), then those in memory. Used only by the keeper's thread. */

enum { BACKLOG_MEMORY_MAX = 240, BATCH_MAX = 64 };

struct backlog_item {
    int64_t number;
    const struct snapshot *snapshot; /* or */
    struct store_event *event;
};

struct backlog {
    struct backlog_item items[BACKLOG_MEMORY_MAX]; /* oldest first */
    size_t count;
    struct queue *queue; /* NULL: memory only */
    int64_t run, next_number;
    int64_t given_out; /* items up to this number are in a batch that is being written; 0: none */
    uint64_t lost;
};

/* The next items to write, all of one run. A batch owns its items, so that another thread can write it while the backlog
 * continues. */
struct backlog_batch {
    int64_t run, first, number; /* number of the first and the last item */
    const struct snapshot *snapshots[BATCH_MAX];
    size_t snapshot_count;
    struct store_event events[BATCH_MAX];
    size_t event_count;
    size_t count;                    /* items in total */
    struct queued queued[BATCH_MAX]; /* owns the items above */
};
/* The host that the batch comes from; "" if unknown. */
const char *batch_host(const struct backlog_batch *batch);

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
    char host[HOST_NAME_SIZE], was[HOST_NAME_SIZE], machine[32];
    char beside[HOST_NAME_SIZE];      /* what the server calls this host, because another one has its name; `is_beside`: set */
    _Atomic bool is_beside, is_named; /* is_named: the server was asked */
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

/* Drops one reference; the last one frees the service. */
void service_release(struct store_service *v);
#define service_log(v, level, ...) log_through((v)->options.say, (v)->options.user, level, __VA_ARGS__)
/* The writer's thread. */
void *service_writer(void *service);
