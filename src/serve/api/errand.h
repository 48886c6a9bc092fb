/* SPDX-License-Identifier: Apache-2.0
 * Work that would block the loop, for one request at a time: a thread of its own does it, and the request is parked meanwhile. It
 * does not know what the work is.
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
    void (*after)(void *owner); /* then, in the loop; NULL: nothing */
    const char *busy;           /* what a request is told while another one waits */
};

struct errand {
    const struct errand_ops *ops;
    void *owner;
    struct mailbox *done;
    struct watch *watch;
    struct conn *conn; /* who asked, and still waits */
    pthread_t thread;
    bool running;
    bool finished; /* the result is for `conn` */
};

int errand_init(struct errand *e, const struct errand_ops *ops, void *owner, struct loop *loop); /* 0 or -ENOMEM */
/* Waits for the thread. */
void errand_end(struct errand *e);
void errand_done(struct errand *e);

/* True: this request was parked for it, and the result is there. */
bool errand_is_over(struct errand *e, struct exchange *x);
/* False: it was answered that another request comes first. */
bool errand_is_free(const struct errand *e, struct exchange *x);
/* Begins the work for this request, whose handler is called again when it is over. */
void errand_begin(struct errand *e, struct exchange *x);
