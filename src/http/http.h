/* SPDX-License-Identifier: Apache-2.0
 * HTTP/1.1 on a connection: cuts the input into requests, finds their routes, checks who asks, keeps time limits.
 */
#pragma once

#include "http/conn.h"
#include "http/exchange.h"

struct site;

/* What HTTP keeps of a connection between requests. */
struct http_client {
    struct site *site;
    bool parked;
    bool waited;                                      /* the parked request is answered with what there is */
    bool continued;                                   /* "100 Continue" was sent for the request that is arriving */
    bool partial;                                     /* the deadline is that of a request that has begun to arrive */
    int64_t sending_since_ms;                         /* 0: nothing queued */
    void (*parked_gone)(struct conn *c, void *owner); /* told when a parked request's client goes away */
    void *parked_owner;
    void *answer; /* what a parked request waited for, for its handler to take */
    void (*drop_answer)(void *answer);
    void *work; /* what is found so far of a request that is answered in several steps, for the next one; it outlives parking */
    void (*drop_work)(void *work);
    struct conn *next_waiter, *prev_waiter; /* of the site's list of those that wait */
    int64_t wait_until_ms;
    bool waiting;
};

extern const struct protocol http_protocol;

/* Gives a new connection to HTTP. */
void http_begin(struct site *site, struct conn *c);
/* Handles the parked request again. */
void http_unpark(struct conn *c);
static inline struct http_client *http_client_of(struct conn *c)
{
    return c->protocol == &http_protocol ? c->state : NULL;
}
/* After an upgrade: HTTP's own state goes, the new protocol's takes its place. */
void http_hand_over(struct conn *c, const struct protocol *protocol, void *state);
