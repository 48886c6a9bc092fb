/* SPDX-License-Identifier: Apache-2.0
 * On which TCP ports a process listens, where this host's loopback reaches them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/env.h"

/* How many, at most `max`. None: it listens nowhere, only on another address, in a network of its own, or may not be looked at.
 * A port is counted only if the process itself holds the socket: another server on a usual port is not taken for it. */
size_t process_listens(const struct env *env, int32_t pid, uint16_t *ports, size_t max);
/* Its parent; 0 unknown. */
int32_t process_parent(const struct env *env, int32_t pid);
