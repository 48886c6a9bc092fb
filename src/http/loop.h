/* SPDX-License-Identifier: Apache-2.0
 * The event loop of all the daemon's sockets and timers, in one thread. Owns the shared input buffer, the list of connections,
 * their deadlines, and actions deferred until the current callback returns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "http/conn.h"
#include "http/peers.h"

enum { LOOP_SPACE = 192 * 1024 };

struct loop {
    struct event_base *base;
    struct conn *conns; /* all of them, newest first */
    size_t conn_count;
    struct peers peers;
    struct conn *ready, *ready_last; /* pending conn_resume() */
    struct conn *dead;               /* to be destroyed */
    struct watch *later;             /* processes `ready` and `dead` */
    struct watch *sweep;             /* checks deadlines once a second while there are connections */
    bool sweeping;
    char *space; /* shared input buffer, LOOP_SPACE bytes */
    uint64_t bytes_out;
    uint64_t rejected; /* connections rejected because it was full */
};

int loop_init(struct loop *loop, struct error *err);
/* Destroys all connections. */
void loop_done(struct loop *loop);
/* Destroys closed connections. */
void loop_free_closed(struct loop *loop);
int64_t loop_now_ms(void);

/* For conn.c. */
void loop_add(struct loop *loop, struct conn *c);
void loop_soon(struct loop *loop);
