/* SPDX-License-Identifier: Apache-2.0
 * The life of a part that asks another service every few seconds and puts what it learns into each snapshot: a thread that looks,
 * waits and looks again, and a lock around what it shows. It does not know which service is asked.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "engine/engine.h"

struct mailbox;

struct poller_ops {
    const char *no_thread;        /* for the log: what does not happen without one */
    int64_t (*look)(void *part);  /* in the thread; returns after how many milliseconds it is called again */
    engine_annotate_fn *annotate; /* with the lock held */
};

struct poller {
    const struct poller_ops *ops;
    void *part;
    struct engine *engine;
    struct mailbox *wake; /* anything: look now */
    pthread_t thread;
    bool runs;
    _Atomic bool wanted;  /* by the configuration */
    _Atomic bool stop;    /* ends a request that is under way */
    pthread_mutex_t lock; /* of what the part shows */
};

int poller_init(struct poller *a, const struct poller_ops *ops, void *part, struct engine *engine, bool wanted); /* 0 or -ENOMEM */
void poller_start(struct poller *a);
/* Another setting takes effect at once. */
void poller_want(struct poller *a, bool wanted);
/* Waits for the look that is under way; the engine calls no longer. */
void poller_stop(struct poller *a);
/* Only after poller_stop(), if it was started; zeroed memory is fine. */
void poller_done(struct poller *a);
