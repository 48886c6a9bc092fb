/* SPDX-License-Identifier: Apache-2.0
 * Whether a process listens on a TCP port, and at which address this host's loopback reaches it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/env.h"

enum { LISTEN_ADDRESS_SIZE = 24, LISTENERS_MAX = 1024 };

/* The listening sockets of one network, for all its processes: each read makes the kernel walk its whole connection table, which
 * takes milliseconds on a large host. */
struct listeners {
    char network[64]; /* "net:[4026531840]"; "": not read */
    struct mono read_at;
    size_t count;
    uint64_t inodes[LISTENERS_MAX];
};

/* A listening socket of a process. */
struct listening {
    char address[LISTEN_ADDRESS_SIZE]; /* "127.0.0.1", "[::1]" */
    int fd;
    uint64_t inode;
};

/* False if it doesn't listen on loopback (but only on a network address or in its own network), isn't accessible, or is stopped:
 * connections would pile up. Only a socket that the process itself holds counts: not another server on a usual port, nor one on
 * another loopback address with the same port. */
bool process_listens(const struct env *env, int32_t pid, uint16_t port, struct listening *ret);
/* It still has the same socket and isn't stopped: skips the kernel's table. */
bool process_still_listens(const struct env *env, int32_t pid, const struct listening *socket);
/* It listens on any TCP port of its network. False also if not accessible. Rereads `known` if it is older than some seconds. */
bool process_is_server(const struct env *env, int32_t pid, struct mono now, struct listeners *known);
/* Requests to it would hang; true also if it is gone or not accessible. */
bool process_is_stopped(const struct env *env, int32_t pid);
/* Its parent; 0 unknown. */
int32_t process_parent(const struct env *env, int32_t pid);
