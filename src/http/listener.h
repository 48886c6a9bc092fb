/* SPDX-License-Identifier: Apache-2.0
 * A listening TCP address or Unix socket. Accepts, counts, and rejects clients when full.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "http/loop.h"

enum { LISTENER_NAME_SIZE = 128, LISTENER_BACKLOG = 4096 };

struct listener {
    struct loop *loop;
    struct watch *acceptable;
    struct watch *again; /* retry after descriptors ran out */
    int fd;
    bool is_unix; /* a local socket, named by a path */
    bool is_loopback;
    uint16_t port;                 /* the actual one if 0 was requested */
    char name[LISTENER_NAME_SIZE]; /* "127.0.0.1:9447" or the path */
    struct tls *tls;               /* borrowed; NULL: plain */
    size_t connections_max;
    void *held; /* resources of a local socket */
    void *owner;
    void (*arrived)(struct listener *l, struct conn *c); /* sets the connection's protocol */
    void (*greet)(struct listener *l, struct conn *c);   /* called first if the peer must prove its identity; NULL: not needed */
};

/* "HOST:PORT", "[::1]:PORT", ":PORT" (all addresses). Only numeric addresses and "localhost" (127.0.0.1). Opens the socket in
 * `ret`; accepting starts with listener_start(). */
int listener_open_tcp(const char *address, struct listener *ret, struct error *err);
/* Replaces a stale socket file; -EADDRINUSE if a process answers on it. */
int listener_open_unix(const char *path, unsigned mode, struct listener *ret, struct error *err);
/* Removes it. */
void listener_remove_local(struct listener *l);
int listener_start(struct listener *l, struct loop *loop, struct error *err);
/* Stops accepting and removes the socket file. */
void listener_close(struct listener *l);

/* Whether an address such as "0.0.0.0:9447" is reachable only from this host; -1: invalid. */
int listen_address_is_loopback(const char *text);
