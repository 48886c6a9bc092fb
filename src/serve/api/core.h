/* SPDX-License-Identifier: Apache-2.0
 * The inside of the server, for the files of this folder.
 */
#pragma once

#include "base/clock.h"
#include "http/limiter.h"
#include "http/listener.h"
#include "http/loop.h"
#include "http/sessions.h"
#include "http/token.h"
#include "serve/api/history.h"
#include "serve/api/release.h"
#include "serve/data/data.h"
#include "serve/live/compose.h"
#include "serve/live/engineio.h"
#include "serve/live/hub.h"
#include "serve/server.h"

enum { SERVER_WATCHES_MAX = 8 };

struct server {
    struct server_options options;
    struct server_parts parts;
    struct loop loop;
    struct listener listeners[SERVER_LISTEN_MAX + 1];
    size_t listener_count;
    struct tls *tls;
    struct data data;
    struct hub hub;
    struct eio eio;
    struct release release;
    struct history history;
    struct high_usage usage;
    struct blob *status; /* the data of gpu_status, of the snapshot with that sequence */
    uint64_t status_sequence;
    struct blob *openapi; /* made when first asked for */
    struct token_file tokens;
    struct sessions sessions;
    struct limiter limiter; /* of failed tokens */
    struct conn *waiters;   /* requests that wait for a fresh sample */
    struct watch *waiters_timer;
    struct watch *updates_timer; /* of live clients that wait for one, too */
    bool updates_wanted;
    struct watch *watches[SERVER_WATCHES_MAX]; /* signals and timers of the daemon */
    size_t watch_count;
    struct watch *stop_timer;
    int64_t stop_at_ms;
    char own_name[256]; /* of the host */
    bool proxy_hinted;  /* said that a proxy may be in front of it */
    struct mono started;
    bool stopping;
    uint64_t requests_total, errors_total; /* errors: of our own, see exchange_reply() */
};

/* Calls the parked request of the connection again when a sample has come, or after that time. */
void server_add_waiter(struct server *s, struct conn *c, int64_t wait_ms);

static inline struct server *server_of(const struct listener *l)
{
    return l->owner;
}
