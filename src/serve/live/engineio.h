/* SPDX-License-Identifier: Apache-2.0
 * Engine.IO 4, the transport below Socket.IO: sessions over long polling, over a WebSocket, and the change from one to the other.
 * What the messages mean is not known here.
 *
 *   GET  (no sid)      ─▶ 0{"sid": ...}            POST sid ─▶ packets of the client
 *   GET  sid           ─▶ waits, then packets      WebSocket ─▶ 2probe / 3probe / 5, then everything goes there
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/blob.h"
#include "http/conn.h"
#include "http/credential.h"
#include "http/event.h"
#include "http/peers.h"

struct exchange;
struct loop;
struct ws;
struct eio_session;

enum { EIO_BUCKETS = 256, EIO_SID_SIZE = 33, EIO_PING_MS = 25000, EIO_TIMEOUT_MS = 20000 };
/* A session that polls has no connection of its own to count: these are its limits. python-engineio refuses a poll's answer of more
 * than 16 packets. */
enum { EIO_POLLING_MAX = 4096, EIO_POLLING_PER_PEER = 256, EIO_JOIN_MS = 45000, EIO_POLL_PACKETS = 16 };

struct eio_ops {
    bool (*opened)(struct eio_session *s); /* may set `user`; false: no memory */
    void (*message)(struct eio_session *s, struct str text);
    void (*upgraded)(struct eio_session *s); /* from polling to its WebSocket */
    void (*drained)(struct eio_session *s);
    void (*revoked)(struct eio_session *s, const char *why); /* the client may listen no longer; the session is closed next */
    void (*closed)(struct eio_session *s);                   /* the last call */
};

struct eio_session {
    struct eio *eio;
    struct eio_session *next;          /* in its bucket */
    struct eio_session *older, *newer; /* of those that its peer polls with */
    struct peer *peer;
    struct tenure tenure; /* of its first request, while it polls; from then on that of its WebSocket counts */
    char sid[EIO_SID_SIZE];
    void *user;
    struct ws *ws;     /* its transport; NULL while it polls */
    struct ws *probe;  /* a WebSocket that may become its transport */
    struct conn *poll; /* a request that waits for packets */
    struct buf queue;  /* packets for the next poll, with separators */
    int64_t opened_ms;
    int64_t heard_ms;
    int64_t pinged_ms;
    bool joined; /* set by the user: it has become a client; until then it may make room for another of its peer */
    bool probed; /* the client is about to change over: polls are not kept waiting */
    bool closing;
    bool polls; /* is among its peer's */
};

struct eio {
    const struct eio_ops *ops;
    void *owner;
    struct watch *ticker;
    bool ticking;
    struct peers *peers;
    size_t count, max;
    size_t polling;
    struct eio_session *buckets[EIO_BUCKETS];
};

int eio_init(struct eio *e, struct loop *loop, const struct eio_ops *ops, size_t sessions_max);
void eio_done(struct eio *e);
/* Tells all clients that this is the end. */
void eio_stop(struct eio *e);

/* GET and POST /socket.io/ */
void eio_handle(struct eio *e, struct exchange *x);

/* A message packet ("4" is put in front). */
void eio_send(struct eio_session *s, struct str message);
/* Whole packets of the language of the session: WebSocket frames, or packets with separators. */
void eio_send_raw(struct eio_session *s, struct blob *bytes);
size_t eio_queued(const struct eio_session *s);
void eio_close(struct eio_session *s);
