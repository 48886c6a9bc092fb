/* SPDX-License-Identifier: Apache-2.0
 * One client's connection: bytes in, bytes out, a deadline. What the bytes mean is the business of its protocol (HTTP first, a
 * WebSocket after an upgrade). A quiet connection owns no buffers: input is read into one shared space and only what is not
 * complete yet is kept; output goes straight into the socket and only what the socket does not take is queued.
 *
 *   socket ──read──▶ [ loop's shared space ] ──protocol->input()──▶ rest kept
 *   conn_send() ──writev──▶ socket,  the rest ──▶ queue ──(writable)──▶ socket,  empty: protocol->drained()
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/blob.h"
#include "http/event.h"

struct conn;
struct loop;
struct listener;
struct peer;
struct tls_session;

struct protocol {
    /* Takes what it can use from the front of the input and says how much that was. May change c->protocol; the rest then goes to
     * the new one. */
    size_t (*input)(struct conn *c, char *at, size_t len);
    void (*drained)(struct conn *c); /* everything queued has been sent; NULL: not interested */
    void (*expired)(struct conn *c); /* the deadline has passed; NULL: close */
    void (*hangup)(struct conn *c);  /* the client will send nothing more; NULL: close */
    void (*closed)(struct conn *c);  /* the last call; NULL: nothing to clean up */
    size_t input_max;                /* kept input beyond this closes the connection */
};

struct conn {
    struct loop *loop;
    const struct listener *listener;
    const struct protocol *protocol;
    void *state; /* of the protocol */
    struct tls_session *tls;
    struct conn *next, *prev; /* all of the loop */
    struct conn *next_ready;  /* waiting for conn_resume() to happen */
    struct out *out_first, *out_last;
    size_t out_bytes;
    char *kept; /* input that was not complete */
    size_t kept_len;
    int64_t deadline_ms;  /* on the loop's clock; INT64_MAX: none */
    int64_t progress_ms;  /* when output last moved */
    struct in6_addr peer; /* mapped for IPv4; all zero on a Unix socket */
    struct peer *place;   /* whose connections this one is counted among */
    int fd;
    uid_t peer_uid;    /* of a Unix socket's other end; else -1 */
    bool peer_trusted; /* a Unix socket's other end runs as us or as root */
    bool closing;      /* conn_close() was called */
    bool finishing;    /* close once the queue is empty */
    bool lingering;    /* ... and then read what the client is still sending, so that it sees our answer */
    bool peer_done;    /* the client will send nothing more */
    bool resuming;
    bool reading_paused;
    struct watch *readable, *writable;
};

/* A piece of output. With a blob, its bytes are shared; without, what cannot be sent at once is copied. */
struct piece {
    const char *at;
    size_t len;
    struct blob *blob;
};

#define PIECE_STR(s) ((struct piece){(s).at, (s).len, NULL})
static inline struct piece piece_blob(struct blob *b)
{
    return (struct piece){b->at, b->len, b};
}

void conn_send(struct conn *c, const struct piece *parts, size_t count);
/* Bytes that the socket has not taken yet. */
static inline size_t conn_queued(const struct conn *c)
{
    return c->out_bytes;
}
/* Closes when the queue is empty; lingering: the client may still be sending. */
void conn_finish(struct conn *c, bool linger);
/* Closes now. The connection stays valid until the loop comes round. */
void conn_close(struct conn *c);
/* Gives the kept input to the protocol again, when the loop comes round. */
void conn_resume(struct conn *c);
/* 0: never. */
void conn_set_deadline(struct conn *c, int64_t in_ms);
/* Reads no more until conn_read_again(). */
void conn_pause_reading(struct conn *c);
void conn_read_again(struct conn *c);

/* Used by the listener: takes the descriptor and the place over. NULL (and closed) when memory is out. */
struct conn *conn_new(struct loop *loop, int fd, const struct listener *listener, struct peer *place, struct tls_session *tls);
/* Used by the loop. */
void conn_destroy(struct conn *c);
