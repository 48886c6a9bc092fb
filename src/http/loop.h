/* SPDX-License-Identifier: Apache-2.0
 * The event loop of all the daemon's sockets and timers, in one thread, and the connections on it: bytes in, bytes out, a deadline.
 * A connection's protocol interprets the bytes (HTTP first, a WebSocket after an upgrade). An idle connection owns no buffers:
 * input goes into one shared buffer, and only incomplete input is kept; output goes straight into the socket, and only what the
 * socket refuses is queued.
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

#include "base/error.h"
#include "http/blob.h"
#include "http/event.h"
#include "http/peers.h"

struct conn;
struct listener;
struct tls_session;

enum { LOOP_SPACE = 192 * 1024 };

struct loop {
    struct event_base *base;
    struct conn *conns; /* all of them, newest first */
    size_t conn_count;
    struct peers peers;
    struct conn *ready, *ready_last; /* pending conn_resume() */
    struct conn *dead;               /* to be destroyed */
    struct watch *later;             /* processes `ready` and `dead` */
    struct watch *sweep;             /* checks deadlines once a second while there are connections */
    bool sweeping;
    char *space; /* shared input buffer, LOOP_SPACE bytes */
    uint64_t bytes_out;
    uint64_t rejected; /* connections rejected because it was full */
};

int loop_init(struct loop *loop, struct error *err);
/* Destroys all connections. */
void loop_done(struct loop *loop);
/* Destroys closed connections. */
void loop_free_closed(struct loop *loop);
int64_t loop_now_ms(void);

struct protocol {
    /* Consumes input from the front and returns how much. May change c->protocol, which then gets the rest. */
    size_t (*input)(struct conn *c, char *at, size_t len);
    void (*drained)(struct conn *c); /* all output was sent; NULL: not interested */
    void (*expired)(struct conn *c); /* the deadline passed; NULL: close */
    void (*hangup)(struct conn *c);  /* the client won't send more; NULL: close */
    void (*closed)(struct conn *c);  /* the last call; NULL: nothing to clean up */
    size_t input_max;                /* more unconsumed input closes the connection */
};

struct conn {
    struct loop *loop;
    const struct listener *listener;
    const struct protocol *protocol;
    void *state; /* the protocol's */
    struct tls_session *tls;
    struct conn *next, *prev; /* in the loop's list */
    struct conn *next_ready;  /* in the list of pending conn_resume() */
    struct out *out_first, *out_last;
    size_t out_bytes;
    char *kept; /* incomplete input */
    size_t kept_len;
    int64_t deadline_ms;  /* on the loop's clock; INT64_MAX: none */
    int64_t progress_ms;  /* when output last progressed */
    struct in6_addr peer; /* IPv4 as mapped; all zero on a Unix socket */
    struct peer *place;   /* the peer it counts for */
    int fd;
    uid_t peer_uid;    /* user at the other end of a Unix socket; else -1 */
    bool peer_trusted; /* the other end of a Unix socket runs as us or root */
    bool closing;      /* conn_close() was called */
    bool finishing;    /* close once the queue is empty */
    bool lingering;    /* ... and then drain the client's input, so that it sees our answer */
    bool peer_done;    /* the client won't send more */
    bool resuming;
    bool reading_paused;
    struct watch *readable, *writable;
};

/* A piece of output. A blob's bytes are shared; otherwise unsent bytes are copied. */
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
/* Bytes not yet taken by the socket. */
static inline size_t conn_queued(const struct conn *c)
{
    return c->out_bytes;
}
/* Closes when the queue is empty; `linger`: the client may still be sending. */
void conn_finish(struct conn *c, bool linger);
/* Closes now. The connection stays valid until the next loop iteration. */
void conn_close(struct conn *c);
/* Gives the kept input to the protocol again in the next loop iteration. */
void conn_resume(struct conn *c);
/* 0: never. */
void conn_set_deadline(struct conn *c, int64_t in_ms);
/* Stops reading until conn_read_again(). */
void conn_pause_reading(struct conn *c);
void conn_read_again(struct conn *c);

/* For the listener: takes over the descriptor and the place. NULL (and closed) if out of memory. */
struct conn *conn_new(struct loop *loop, int fd, const struct listener *listener, struct peer *place, struct tls_session *tls);
