/* SPDX-License-Identifier: Apache-2.0
 * Live clients of both kinds (WebSocket at /ws, Socket.IO): what they get on arrival, what they may request, and the delivery of
 * samples to all of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/loop.h"
#include "serve/live/batch.h"
#include "serve/live/engineio.h"

/* ---- hub.c: delivers each sample to all subscribers, in slices of a few milliseconds so that requests are handled in between. It
 * skips a subscriber that hasn't taken the last sample; afterwards the subscriber gets the number of missed samples and the newest
 * one. ---- */

struct subscriber;

struct subscriber_ops {
    void (*send)(struct subscriber *s, struct blob *bytes);
    size_t (*queued)(const struct subscriber *s); /* bytes not taken yet; 0: ready for the next sample */
};

struct subscriber {
    const struct subscriber_ops *ops;
    struct hub *hub;
    struct subscriber *next, *prev;
    enum language language;
    unsigned topics;
    int64_t interval_ms; /* 0: every sample */
    int64_t due_ms;      /* with an interval: when the next one is due */
    uint64_t seen;       /* the last batch that it got or did not want */
    uint64_t missed;     /* samples missed since */
    int64_t asked_ms;    /* start of the second in which `asked` counts */
    unsigned asked;      /* updates requested in that second */
    bool joined;
    bool wants_update; /* waits for a fresh sample, which it requested */
};

struct hub {
    struct loop *loop;
    struct watch *slice;
    struct subscriber *first;
    struct subscriber *cursor; /* the next one of the delivery in progress */
    size_t count;
    struct batch *batch; /* newest; NULL before the first */
    uint64_t samples_sent, samples_missed;
    int64_t sample_interval_ms;
};

int hub_init(struct hub *h, struct loop *loop);
void hub_done(struct hub *h);

/* Fills in the links; the caller sets topics, language and ops. */
void hub_join(struct hub *h, struct subscriber *s);
void hub_leave(struct subscriber *s);
/* Delivers a new sample to all subscribers. Takes ownership of the reference. */
void hub_publish(struct hub *h, struct batch *b);
/* Call when a busy subscriber has taken everything. */
void hub_drained(struct subscriber *s);
/* Sends one message to every subscriber of the topic at once: alerts and guard changes between samples. */
void hub_announce(struct hub *h, enum topic topic, struct str data);
/* Sends one message to one subscriber. */
void hub_send(struct subscriber *s, enum topic topic, struct str data);

/* ---- socketio.c: Socket.IO protocol 5 on Engine.IO sessions: the default namespace, events to and from clients,
 * acknowledgements ---- */

extern const struct eio_ops socketio_ops;

enum sio_type { SIO_CONNECT, SIO_DISCONNECT, SIO_EVENT, SIO_ACK, SIO_CONNECT_ERROR, SIO_BINARY_EVENT, SIO_BINARY_ACK };

struct sio_packet {
    enum sio_type type;
    struct str space; /* "/" if omitted */
    bool has_id;
    uint64_t id;
    struct str data; /* JSON; "" if omitted */
};

/* Parses a packet like `2/admin,17["name",1]`. Pure. */
bool sio_parse(struct str text, struct sio_packet *ret);

/* ---- live.c ---- */

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
    struct watch *updates_timer; /* limits the wait for a fresh sample */
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
/* Tells the client why it gets nothing more; the caller then ends its transport. */
void live_revoked(struct subscriber *s, const char *why);
/* A client's message: its type and the JSON object around it (or the data of a Socket.IO event). Answers bad ones with an error
 * message. `json` may be NULL: no parameters. */
struct json_t;
void live_message(struct broadcast *l, struct subscriber *s, const char *type, const struct json_t *json);
