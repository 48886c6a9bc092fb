/* SPDX-License-Identifier: Apache-2.0
 * The local ends of a tunnel, where ssh listens and net_local_connect() connects.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum { TUNNEL_ENDS_MAX = 2 };

struct tunnel_ends {
    int count;
    char folder[100];                 /* of the sockets; "": none */
    char place[TUNNEL_ENDS_MAX][108]; /* a path, or "127.0.0.1:PORT" */
};

/* Chooses `count` places. A signal that ends us removes their files, too. */
int tunnel_ends_make(struct tunnel_ends *e, struct error *err);
bool tunnel_ends_there(const struct tunnel_ends *e, pid_t ssh); /* ssh is listening */
void tunnel_ends_remove(struct tunnel_ends *e);
