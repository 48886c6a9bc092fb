/* SPDX-License-Identifier: Apache-2.0
 * A place where clients arrive: a TCP address or a Unix socket. Accepts, counts, and turns away when the house is full.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "http/conn.h"
#include "http/loop.h"

enum { LISTENER_NAME_SIZE = 128, LISTENER_BACKLOG = 4096 };

struct listener {
    struct loop *loop;
    struct watch *acceptable;
    struct watch *again; /* after descriptors ran out */
    int fd;
    bool is_unix; /* a local place, named by a path */
    bool is_loopback;
    uint16_t port;                 /* the real one where 0 was asked for */
    char name[LISTENER_NAME_SIZE]; /* "127.0.0.1:9447" or the path */
    struct tls *tls;               /* borrowed; NULL: plain */
    size_t connections_max;
    void *held; /* of a local place: what it needs to be there */
    void *owner;
    void (*arrived)(struct listener *l, struct conn *c); /* sets the connection's protocol */
    void (*greet)(struct listener *l, struct conn *c);   /* before that, where it has to be proved who comes; NULL: not */
};

/* "HOST:PORT", "[::1]:PORT", ":PORT" (all addresses). Only numeric addresses and "localhost" (127.0.0.1). Fills `ret` up to the
 * socket; nothing is accepted before listener_start(). */
int listener_open_tcp(const char *address, struct listener *ret, struct error *err);
/* A socket file that no process answers on is replaced; one that answers is -EADDRINUSE. */
int listener_open_unix(const char *path, unsigned mode, struct listener *ret, struct error *err);
/* Takes it away again. */
void listener_remove_local(struct listener *l);
int listener_start(struct listener *l, struct loop *loop, struct error *err);
/* Stops accepting and removes the socket file. */
void listener_close(struct listener *l);

/* Whether an address text such as "0.0.0.0:9447" is one that only this host reaches; -1 when it cannot be read. */
int listen_address_is_loopback(const char *text);
