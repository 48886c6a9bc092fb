/* SPDX-License-Identifier: Apache-2.0
 * HTTP requests to the guard, the same in the daemon's API and on the socket of a guard in the foreground:
 *
 *   GET  /api/guard                                             the workers
 *   POST /api/guard/hold, release, evict, resume                {"worker": NAME}; without a name: all
 *   POST /api/guard/announce, unannounce                        {"pid": N}: a program that needs the GPUs
 */
#pragma once

#include "daemon/part.h"
#include "guard/guard.h"

/* Context of the routes: must be the first member of a part that offers them. */
struct guard_door {
    struct guard *guard;
};

enum { GUARD_ROUTES = 7 };
extern const struct route guard_routes[GUARD_ROUTES];

/* For other sockets: returns the HTTP status and appends the body to `out`. Never blocks. */
int guard_routes_answer(struct guard_door *door, const char *method, struct str path, struct str body, struct buf *out);
