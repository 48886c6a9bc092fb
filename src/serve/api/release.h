/* SPDX-License-Identifier: Apache-2.0
 * POST /api/source/release: the engine lets go of the driver. Closing a driver's library can take a while, so a thread of its own
 * waits for it and the request is parked meanwhile.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mailbox.h"
#include "http/conn.h"

struct data;
struct exchange;
struct loop;

struct release {
    struct data *data;
    struct mailbox *done;
    struct watch *watch;
    struct conn *conn; /* who asked, and still waits */
    pthread_t thread;
    bool running;
    bool finished; /* the result is for `conn` */
    int result;
    int64_t for_ms;
};

int release_init(struct release *r, struct loop *loop, struct data *data);
/* Waits for the thread: at most the time that a release may take. To be called before the engine goes. */
void release_end(struct release *r);
void release_done(struct release *r);

void post_release(struct exchange *x);
