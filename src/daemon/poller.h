/* SPDX-License-Identifier: Apache-2.0
 * The life of a part that asks another service every few seconds and puts what it learns into each snapshot: a thread that looks,
 * waits and looks again, and a lock around what it shows. It does not know which service is asked.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "daemon/part.h"

struct mailbox;

struct poller_ops {
    const char *no_thread;                       /* for the log: what does not happen without one */
    bool (*wanted)(const struct config *config); /* by the configuration */
    int64_t (*look)(void *part);                 /* in the thread; returns after how many milliseconds it is called again */
    engine_annotate_fn *annotate;                /* with the lock held */
};

/* What the struct of such a part begins with. */
struct poller {
    const struct poller_ops *ops;
    const struct env *env;
    struct engine *engine;
    struct mailbox *wake; /* anything: look now */
    pthread_t thread;
    bool runs;
    _Atomic bool wanted;
    _Atomic bool stop;    /* ends a request that is under way */
    pthread_mutex_t lock; /* of what the part shows */
};

/* A part of `size` bytes, zero behind its poller. NULL: out of memory. */
void *poller_open(const struct poller_ops *ops, size_t size, const struct part_host *host);

/* The rest are operations of a part, as struct part_ops has them. */
int poller_start(void *part, const struct part_host *host);
/* Another setting takes effect at once. */
void poller_reload(void *part, const struct config *config);
/* Looks now instead of at its time. */
void poller_wake(void *part);
/* Waits for the look that is under way; the engine calls no longer. */
void poller_stop(void *part);
/* Only after poller_stop(), if it was started; NULL is fine. */
void poller_close(void *part);
