/* SPDX-License-Identifier: Apache-2.0
 * The guard's requests, the same for the daemon's API and for the socket of a guard in the foreground:
 *
 *   GET  /api/guard                                             the workers
 *   POST /api/guard/hold, release, evict, resume                {"worker": NAME}; without a name: all
 *   POST /api/guard/announce, unannounce                        {"pid": N}: a program that needs the GPUs
 */
#pragma once

#include "guard/guard.h"

/* The HTTP status; the body is appended to `out`. Never waits. */
int guard_api(struct guard *g, const char *method, struct str path, struct str body, struct buf *out);
