/* SPDX-License-Identifier: Apache-2.0
 * The inside of the gate, for gate.c and gate_link.c: a client's connection has at most one connection to the worker. Idle
 * connections and partial requests time out soon, and make room for others.
 */
#pragma once

#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"
#include "guard/gate/gate.h"
#include "net/http_message.h"

/* ---- Finds the ends of messages: the gate forwards bytes unchanged and only counts. Pure ---- */

enum { GATE_HEAD_MAX = HTTP_PASSED_HEAD_MAX };

enum gate_body { GATE_BODY_NONE, GATE_BODY_LENGTH, GATE_BODY_CHUNKED, GATE_BODY_UNTIL_CLOSE, GATE_BODY_OPAQUE };

struct gate_head {
    size_t len; /* including the blank line */
    enum gate_body body;
    int64_t length;
    int status;      /* of a response */
    bool is_head;    /* the request's method is HEAD */
    bool only_reads; /* GET, HEAD or OPTIONS */
    bool upgrade;    /* the request asks for a protocol upgrade */
    bool close;      /* the connection closes after this message */
    bool is_old;     /* HTTP/1.0 */
    bool is_interim; /* 1xx other than 101: another head follows */
};

/* 1: a complete head; 0: not yet; -1: not HTTP, too long, or two contradictory lengths (request smuggling). */
int gate_parse_request(struct str bytes, struct gate_head *ret);
/* `request` is the head it answers. */
int gate_parse_response(struct str bytes, const struct gate_head *request, struct gate_head *ret);

/* Position in the body. */
struct gate_progress {
    enum gate_body body;
    bool done;
    struct http_body http;
};

void gate_progress_begin(struct gate_progress *p, const struct gate_head *head);
/* How many of these bytes belong to the message; p->done if it ends with them. -1: broken chunks. */
int64_t gate_progress_feed(struct gate_progress *p, struct str bytes);

enum link_state {
    LINK_HEAD,    /* between two requests, or with a partial one */
    LINK_WAITING, /* until the gate opens */
    LINK_PASSING, /* a request is in flight */
    LINK_ENDING,  /* buffered output is still sent */
};

struct gate_link {
    struct gate *gate;
    struct gate_link *next, *prev;
    enum link_state state;
    struct bufferevent *client, *worker; /* worker NULL: not connected */
    struct gate_head request;
    struct gate_progress request_body, response_body;
    bool response_begun, reusable;
    bool client_done;    /* it closed its sending side, and may be gone */
    bool half;           /* part of a request's head has arrived */
    struct event *timer; /* for waiting, and for the head */
    struct in6_addr from;
};

struct gate {
    struct guard_gate_spec spec; /* the initial settings */
    _Atomic bool refuse;         /* and those that may change at run time */
    _Atomic size_t waiting_max;
    _Atomic int64_t wait_ms;
    struct sockaddr_storage upstream;
    int upstream_len;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *wake, *again; /* again: resumes accepting after a pause */
    int wake_fd, port;
    pthread_t thread;
    bool started;
    struct gate_link *links, *oldest; /* newest first */
    size_t link_count;
    _Atomic int mode;
    _Atomic bool ending;
    _Atomic size_t in_flight, waiting, asking;
    _Atomic uint64_t asked;
    void (*_Atomic ring)(void *user);
    void *_Atomic bell;
};

/* A new client. */
void link_new(struct gate *g, evutil_socket_t fd, const struct sockaddr *address);
void link_free(struct gate_link *l);
/* Forwards a request that has waited. */
void link_admit(struct gate_link *l);
bool link_may_pass(const struct gate *g, const struct gate_link *l);
/* Closes up to `count` of the oldest idle connections; returns how many. */
size_t links_make_room(struct gate *g, size_t count);
