/* SPDX-License-Identifier: Apache-2.0
 * Live clients of both kinds (WebSocket at /ws, Socket.IO): what they get on arrival, and what they may request.
 */
#pragma once

#include "serve/live/compose.h"
#include "serve/live/engineio.h"
#include "serve/live/hub.h"

struct data;
struct exchange;

/* LIVE_FRESH_PER_S: fresh samples per client; beyond that, it gets the newest one. */
enum { LIVE_INTERVAL_MAX_S = 86400, LIVE_FRESH_PER_S = 5 };

struct broadcast {
    struct hub hub;
    struct eio eio;
    struct data *data;
    struct high_usage usage;
    struct blob *status; /* the data of gpu_status, from the snapshot with that sequence number */
    uint64_t status_sequence;
    struct watch *updates_timer; /* of clients that wait for a fresh sample */
    bool updates_wanted;
    int64_t interval_ms, max_age_ms; /* see struct server_options */
    double high_usage_percent;
};

/* The caller sets the last three fields. Does not use the data yet. */
int live_init(struct broadcast *l, struct loop *loop, struct data *data, size_t sessions_max);
/* Notifies all clients of the end. */
void live_stop(struct broadcast *l, struct loop *loop);
void live_done(struct broadcast *l);

/* GET /ws */
void live_websocket(struct broadcast *l, struct exchange *x);

/* Sends a new periodic sample to all clients. */
void live_publish(struct broadcast *l);
/* Joins the hub and sends gpu_status. Requires topics, language and ops. */
void live_arrived(struct broadcast *l, struct subscriber *s);
/* Sends the requested updates: a fresh sample has arrived, or took too long. */
void live_update(struct broadcast *l);
/* Says why the client gets nothing more; its transport then ends. */
void live_revoked(struct subscriber *s, const char *why);
/* A client's message: its type and the JSON object around it (or the data of a Socket.IO event). Answers bad ones with an error
 * message. `json` may be NULL: no parameters. */
struct json_t;
void live_message(struct broadcast *l, struct subscriber *s, const char *type, const struct json_t *json);
