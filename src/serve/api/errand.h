/* SPDX-License-Identifier: Apache-2.0
 * Work that would block the loop, for one request at a time: a thread does it while the request is parked. Does not know what the
 * work is.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/mailbox.h"
#include "http/conn.h"

struct exchange;
struct loop;

struct errand_ops {
    void (*work)(void *owner);  /* in the thread */
    void (*after)(void *owner); /* afterwards, in the loop; may be NULL */
    const char *busy;           /* error message for a request while another one waits */
};

struct errand {
    const struct errand_ops *ops;
    void *owner;
    struct mailbox *done;
    struct watch *watch;
    struct conn *conn; /* the waiting client */
    pthread_t thread;
    bool running;
    bool finished; /* the result is for `conn` */
};

int errand_init(struct errand *e, const struct errand_ops *ops, void *owner, struct loop *loop); /* 0 or -ENOMEM */
/* Joins the thread. */
void errand_end(struct errand *e);
void errand_done(struct errand *e);

/* True if this request was parked for it, and the result is available. */
bool errand_is_over(struct errand *e, struct exchange *x);
/* False after refusing this request because of another one. */
bool errand_is_free(const struct errand *e, struct exchange *x);
/* Starts the work for this request, whose handler is called again at the end. */
void errand_begin(struct errand *e, struct exchange *x);
