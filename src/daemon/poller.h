/* SPDX-License-Identifier: Apache-2.0
 * A part that queries another service every few seconds and adds the result to each snapshot: a thread that polls, and a lock
 * around its results. Does not know the service.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "daemon/part.h"

struct mailbox;

struct poller_ops {
    const char *no_thread;                       /* for the log: what is missing without a thread */
    bool (*wanted)(const struct config *config); /* enabled in the configuration */
    int64_t (*poll)(void *part);                 /* in the thread; returns the milliseconds until the next call */
    engine_annotate_fn *annotate;                /* called with the lock held */
};

/* The first member of such a part. */
struct poller {
    const struct poller_ops *ops;
    const struct env *env;
    struct engine *engine;
    struct mailbox *wake; /* any message: poll now */
    pthread_t thread;
    bool runs;
    _Atomic bool wanted;
    _Atomic bool stop;    /* cancels a running request */
    pthread_mutex_t lock; /* protects the results */
};

/* A part of `size` bytes, zeroed after its poller. NULL: out of memory. */
void *poller_open(const struct poller_ops *ops, size_t size, const struct part_host *host);

/* The rest implements operations of struct part_ops. */
int poller_start(void *part, const struct part_host *host);
/* A changed setting takes effect at once. */
void poller_reload(void *part, const struct config *config);
/* Polls now instead of waiting. */
void poller_wake(void *part);
/* Waits for the current poll; the engine no longer calls it afterwards. */
void poller_stop(void *part);
/* Only after poller_stop() if it was started; NULL is fine. */
void poller_close(void *part);
