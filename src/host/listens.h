/* SPDX-License-Identifier: Apache-2.0
 * Whether a process listens on a TCP port, and at which address this host's loopback reaches it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/env.h"

enum { LISTEN_ADDRESS_SIZE = 24, LISTENERS_MAX = 1024 };

/* The sockets that listen in one network, for all its processes: the kernel goes through its whole table of connections,
 * milliseconds on a large host, whenever that is read. */
struct listeners {
    char network[64]; /* "net:[4026531840]"; "": none was read */
    struct mono read_at;
    size_t count;
    uint64_t inodes[LISTENERS_MAX];
};

/* A socket that listens, and of a process. */
struct listening {
    char address[LISTEN_ADDRESS_SIZE]; /* "127.0.0.1", "[::1]" */
    int fd;
    uint64_t inode;
};

/* False: it does not listen there, only on an address of the network or in a network of its own, may not be
 * looked at, or is stopped: connections would pile up in front of it. It counts only if the process itself holds the socket:
 * another server on a usual port, or on another loopback address with the same port, is not taken for it. */
bool process_listens(const struct env *env, int32_t pid, uint16_t port, struct listening *ret);
/* It has the same socket still, and is not stopped: without a look at the kernel's table. */
bool process_still_listens(const struct env *env, int32_t pid, const struct listening *socket);
/* It listens on a TCP port of its network, whichever. False also where it may not be looked at. `known` is from the last seconds,
 * or is read. */
bool process_is_server(const struct env *env, int32_t pid, struct mono now, struct listeners *known);
/* What is sent to it would wait; also of one that is gone or may not be looked at. */
bool process_is_stopped(const struct env *env, int32_t pid);
/* Its parent; 0 unknown. */
int32_t process_parent(const struct env *env, int32_t pid);
