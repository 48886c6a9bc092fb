/* SPDX-License-Identifier: Apache-2.0
 * HTTP/1.1 on a connection: splits the input into requests, finds their routes, checks access, enforces time limits.
 */
#pragma once

#include "http/exchange.h"
#include "http/loop.h"

struct site;

/* HTTP's state of a connection between requests. */
struct http_client {
    struct site *site;
    bool parked;
    bool waited;                                      /* answer the parked request with what is available */
    bool continued;                                   /* "100 Continue" was sent for the incoming request */
    bool partial;                                     /* the deadline is that of a partially received request */
    int64_t sending_since_ms;                         /* 0: nothing queued */
    void (*parked_gone)(struct conn *c, void *owner); /* called when a parked request's client disconnects */
    void *parked_owner;
    void *answer; /* the result that a parked request waited for; its handler takes it */
    void (*drop_answer)(void *answer);
    void *work; /* partial result of a request answered in several steps; survives parking */
    void (*drop_work)(void *work);
    struct conn *next_waiter, *prev_waiter; /* in the site's list of waiting requests */
    int64_t wait_until_ms;
    bool waiting;
};

extern const struct protocol http_protocol;

/* Starts HTTP on a new connection. */
void http_begin(struct site *site, struct conn *c);
/* Handles the parked request again. */
void http_unpark(struct conn *c);
static inline struct http_client *http_client_of(struct conn *c)
{
    return c->protocol == &http_protocol ? c->state : NULL;
}
/* After an upgrade: replaces HTTP's state with the new protocol's. */
void http_hand_over(struct conn *c, const struct protocol *protocol, void *state);

/* ---- router.c: from a path to its route's handler: 404, 405 with Allow, OPTIONS, 401, 406 ---- */

/* Sets x->route and checks method and access; otherwise answers and returns false. */
bool router_find(struct exchange *x);
/* Calls the handler after checking Accept. */
void router_handle(struct exchange *x);
