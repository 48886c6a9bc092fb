/* SPDX-License-Identifier: Apache-2.0
 * Engine.IO 4, the transport below Socket.IO: sessions over long polling, over a WebSocket, and switching between them. Does not
 * know what the messages mean.
 *
 *   GET  (no sid)      ─▶ 0{"sid": ...}            POST sid ─▶ packets of the client
 *   GET  sid           ─▶ waits, then packets      WebSocket ─▶ 2probe / 3probe / 5, then everything goes there
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/access.h"
#include "http/blob.h"
#include "http/event.h"
#include "http/loop.h"
#include "http/peers.h"

struct exchange;
struct loop;
struct ws;
struct eio_session;

enum { EIO_BUCKETS = 256, EIO_SID_SIZE = 33, EIO_PING_MS = 25000, EIO_TIMEOUT_MS = 20000 };
/* Limits of polling sessions, which have no connection of their own to count. python-engineio refuses more than 16 packets in a
 * poll's response. */
enum { EIO_POLLING_MAX = 4096, EIO_POLLING_PER_PEER = 256, EIO_JOIN_MS = 45000, EIO_POLL_PACKETS = 16 };

struct eio_ops {
    bool (*opened)(struct eio_session *s); /* may set `user`; false: out of memory */
    void (*message)(struct eio_session *s, struct str text);
    void (*upgraded)(struct eio_session *s); /* it now has a WebSocket: after polling, or from the start */
    void (*drained)(struct eio_session *s);
    void (*revoked)(struct eio_session *s, const char *why); /* the client lost its permission; the session is closed next */
    void (*closed)(struct eio_session *s);                   /* the last call */
};

struct eio_session {
    struct eio *eio;
    struct eio_session *next;          /* in the hash bucket */
    struct eio_session *older, *newer; /* of polling sessions of the same peer */
    struct peer *peer;
    struct tenure tenure; /* permission of its first request, while it polls; afterwards its WebSocket has one */
    char sid[EIO_SID_SIZE];
    void *user;
    struct ws *ws;     /* its transport; NULL while it polls */
    struct ws *probe;  /* a WebSocket that may become its transport */
    struct conn *poll; /* a request that waits for packets */
    struct buf queue;  /* packets for the next poll, with separators */
    int64_t opened_ms;
    int64_t heard_ms;
    int64_t pinged_ms;
    bool joined; /* set by the user: it has become a client; before, it may be dropped for another session of its peer */
    bool probed; /* the client is about to switch: don't let polls wait */
    bool closing;
    bool polls; /* in its peer's list */
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
/* Notifies all clients of the end. */
void eio_stop(struct eio *e);

/* GET and POST /socket.io/ */
void eio_handle(struct eio *e, struct exchange *x);

/* Sends a message packet (adds the prefix "4"). */
void eio_send(struct eio_session *s, struct str message);
/* Sends complete packets in the session's language: WebSocket frames, or packets with separators. */
void eio_send_raw(struct eio_session *s, struct blob *bytes);
size_t eio_queued(const struct eio_session *s);
void eio_close(struct eio_session *s);
