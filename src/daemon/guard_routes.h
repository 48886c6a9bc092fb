/* SPDX-License-Identifier: Apache-2.0
 * The guard's requests, the same for the daemon's API and for the socket of a guard in the foreground:
 *
 *   GET  /api/guard                                             the workers
 *   POST /api/guard/hold, release, evict, resume                {"worker": NAME}; without a name: all
 *   POST /api/guard/announce, unannounce                        {"pid": N}: a program that needs the GPUs
 */
#pragma once

#include "daemon/part.h"
#include "guard/guard.h"

/* What the routes get: the struct of a part that offers them begins with one. */
struct guard_door {
    struct guard *guard;
};

enum { GUARD_ROUTES = 7 };
extern const struct route guard_routes[GUARD_ROUTES];

/* For a socket of one's own: the HTTP status; the body is appended to `out`. Never waits. */
int guard_routes_answer(struct guard_door *door, const char *method, struct str path, struct str body, struct buf *out);
