/* SPDX-License-Identifier: Apache-2.0
 * The ends of a tunnel on this host, where ssh listens and net_local_connect() finds it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum { TUNNEL_ENDS_MAX = 2 };

struct tunnel_ends {
    int count;
    char folder[100];                 /* that the sockets are in; "" none */
    char place[TUNNEL_ENDS_MAX][108]; /* a path, or "127.0.0.1:PORT" */
};

/* Chooses `count` places. What is left of them is removed at a signal that ends us, too. */
int tunnel_ends_make(struct tunnel_ends *e, struct error *err);
bool tunnel_ends_there(const struct tunnel_ends *e, pid_t ssh); /* it listens */
void tunnel_ends_remove(struct tunnel_ends *e);
