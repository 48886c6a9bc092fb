/* SPDX-License-Identifier: Apache-2.0
 * A WebSocket on a connection: handshake, messages, pings, the close handshake. Passes complete messages to its owner.
 */
#pragma once

#include "http/access.h"
#include "http/exchange.h"
#include "http/loop.h"
#include "serve/live/ws_frame.h"

struct ws;

struct ws_ops {
    void (*message)(struct ws *w, struct str text); /* valid UTF-8 */
    void (*binary)(struct ws *w);                   /* a binary message, whose bytes are skipped; NULL: ends the connection */
    void (*drained)(struct ws *w);                  /* everything was sent; may be NULL */
    void (*revoked)(struct ws *w, const char *why); /* the client lost its permission; call ws_revoke() */
    void (*closed)(struct ws *w);                   /* the last call: frees the owner; may be NULL */
};

struct ws {
    struct conn *conn;
    struct tenure tenure;
    const struct ws_ops *ops;
    void *owner;
    char *partial; /* of a fragmented message */
    size_t partial_len;
    int64_t heard_ms;
    bool in_message;
    bool in_binary; /* its contents are skipped */
    bool close_sent;
};

/* Completes the handshake and turns the connection into a WebSocket; NULL after refusing any other request. */
struct ws *ws_accept(struct exchange *x, const struct ws_ops *ops, void *owner);

void ws_send_text(struct ws *w, struct str text);
/* Sends complete frames, which are made once and shared by all clients. */
void ws_send_frames(struct ws *w, struct blob *frames);
void ws_close(struct ws *w, unsigned code, const char *reason);
static inline void ws_revoke(struct ws *w, const char *why)
{
    ws_close(w, WS_UNAUTHORIZED, why);
}
static inline size_t ws_queued(const struct ws *w)
{
    return conn_queued(w->conn);
}

extern const struct protocol ws_protocol;
