/* SPDX-License-Identifier: Apache-2.0
 * A WebSocket on a connection: handshake, messages, pings, the close handshake. Its owner gets whole messages.
 */
#pragma once

#include "http/conn.h"
#include "http/credential.h"
#include "http/exchange.h"
#include "serve/live/ws_frame.h"

struct ws;

struct ws_ops {
    void (*message)(struct ws *w, struct str text); /* valid UTF-8 */
    void (*binary)(struct ws *w);                   /* a binary message, whose bytes are not read; NULL: ends the connection */
    void (*drained)(struct ws *w);                  /* everything was sent; NULL: not interested */
    void (*revoked)(struct ws *w, const char *why); /* the client may listen no longer; ws_revoke() is due */
    void (*closed)(struct ws *w);                   /* the last call: the owner is freed here; NULL: nothing to do */
};

struct ws {
    struct conn *conn;
    struct tenure tenure;
    const struct ws_ops *ops;
    void *owner;
    char *partial; /* of a message in several frames */
    size_t partial_len;
    int64_t heard_ms;
    bool in_message;
    bool in_binary; /* and its contents do not count */
    bool close_sent;
};

/* Answers the handshake and turns the connection into a WebSocket; NULL when the request was not one: then it is answered. */
struct ws *ws_accept(struct exchange *x, const struct ws_ops *ops, void *owner);

void ws_send_text(struct ws *w, struct str text);
/* Whole frames, made once and shared. */
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
