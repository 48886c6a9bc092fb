/* SPDX-License-Identifier: Apache-2.0
 * The inside of the gate, for gate.c and gate_link.c: a connection of a client has at most one of its own to the worker. One that
 * asks nothing, or only half, has little time, and makes room for others.
 */
#pragma once

#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "guard/gate/gate.h"
#include "guard/gate/gate_http.h"

enum link_state {
    LINK_HEAD,    /* between two requests, or with half of one */
    LINK_WAITING, /* for the gate to open */
    LINK_PASSING, /* a request is in flight */
    LINK_ENDING,  /* what is buffered still goes out */
};

struct gate_link {
    struct gate *gate;
    struct gate_link *next, *prev;
    enum link_state state;
    struct bufferevent *client, *worker; /* worker NULL: not connected */
    struct gate_head request;
    struct gate_progress request_body, response_body;
    bool response_begun, reusable;
    bool client_done;    /* it will send nothing more, and may have gone */
    bool half;           /* a part of a request's head is there */
    struct event *timer; /* of waiting, and of the head */
    struct in6_addr from;
};

struct gate {
    struct guard_gate_spec spec; /* how it began */
    _Atomic bool refuse;         /* and what may be changed while it runs */
    _Atomic size_t waiting_max;
    _Atomic int64_t wait_ms;
    struct sockaddr_storage upstream;
    int upstream_len;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *wake, *again; /* again: clients are let in after a pause */
    int wake_fd, port;
    pthread_t thread;
    bool started;
    struct gate_link *links, *oldest; /* the youngest first */
    size_t link_count;
    _Atomic int mode;
    _Atomic bool ending;
    _Atomic size_t in_flight, waiting, asking;
    _Atomic uint64_t asked;
    void (*_Atomic ring)(void *user);
    void *_Atomic bell;
};

/* A client has come. */
void link_new(struct gate *g, evutil_socket_t fd, const struct sockaddr *address);
void link_free(struct gate_link *l);
/* Passes the request on, which has waited. */
void link_admit(struct gate_link *l);
bool link_may_pass(const struct gate *g, const struct gate_link *l);
/* Lets the oldest that ask nothing go, at most so many; how many there were. */
size_t links_make_room(struct gate *g, size_t count);
