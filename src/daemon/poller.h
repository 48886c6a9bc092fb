/* SPDX-License-Identifier: Apache-2.0
 * The life of a part that asks somebody every few seconds and puts what it learns into each snapshot: a thread that looks, waits
 * and looks again, and a lock around what it shows. It does not know who is asked.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "engine/engine.h"

struct mailbox;

struct asker_ops {
    const char *no_thread;        /* for the log: what does not happen without one */
    int64_t (*look)(void *part);  /* in the thread; returns after how many milliseconds it is called again */
    engine_annotate_fn *annotate; /* with the lock held */
};

struct asker {
    const struct asker_ops *ops;
    void *part;
    struct engine *engine;
    struct mailbox *wake; /* anything: look now */
    pthread_t thread;
    bool runs;
    _Atomic bool wanted;  /* by the configuration */
    _Atomic bool stop;    /* ends a request that is under way */
    pthread_mutex_t lock; /* of what the part shows */
};

int asker_init(struct asker *a, const struct asker_ops *ops, void *part, struct engine *engine, bool wanted); /* 0 or -ENOMEM */
void asker_start(struct asker *a);
/* Another setting takes effect at once. */
void asker_want(struct asker *a, bool wanted);
/* Waits for the look that is under way; the engine calls no longer. */
void asker_stop(struct asker *a);
/* Only after asker_stop(), if it was started; zeroed memory is fine. */
void asker_done(struct asker *a);
