/* SPDX-License-Identifier: Apache-2.0
 * Whether a process listens on a TCP port, and at which address this host's loopback reaches it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

enum { LISTEN_ADDRESS_SIZE = 24 };

/* "127.0.0.1", "[::1]". False: it does not listen there, only on an address of the network or in a network of its own, may not be
 * looked at, or is stopped: connections would pile up in front of it. It counts only if the process itself holds the socket:
 * another server on a usual port, or on another loopback address with the same port, is not taken for it. */
bool process_listens(const struct env *env, int32_t pid, uint16_t port, char address[LISTEN_ADDRESS_SIZE]);
/* It listens on a TCP port of its network, whichever. False also where it may not be looked at. */
bool process_is_server(const struct env *env, int32_t pid);
/* Its parent; 0 unknown. */
int32_t process_parent(const struct env *env, int32_t pid);
