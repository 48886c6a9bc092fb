/* SPDX-License-Identifier: Apache-2.0
 * Waiting for sockets, or for time to pass.
 */
#pragma once

#include <sys/socket.h>

typedef unsigned long nfds_t;
int poll(struct pollfd *sockets, nfds_t count, int timeout_ms);
