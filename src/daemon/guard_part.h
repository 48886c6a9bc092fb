/* SPDX-License-Identifier: Apache-2.0
 * What the daemon's guard shares with a guard in the foreground: how it sees the GPUs, and HTTP requests to it:
 *
 *   GET  /api/guard                                             the workers
 *   POST /api/guard/hold, release, evict, resume                {"worker": NAME}; without a name: all
 *   POST /api/guard/announce, unannounce                        {"pid": N}: a program that needs the GPUs
 */
#pragma once

#include "daemon/part.h"
#include "guard/guard.h"

enum { SLOW_EVERY_MS = 10000 }; /* default interval for reading errors */

/* What keepers and probes need from the engine. */
struct guard_sampler {
    struct engine *engine;
    bool lean;             /* this engine serves only the guard: read only what that needs */
    int64_t slow_every_ms; /* interval for reading errors, too; 0: SLOW_EVERY_MS */
    _Atomic int64_t slow_at_ms;
};
/* For guard_options.sample; `user` points to a struct guard_sampler. NULL if the sample is too old. */
const struct snapshot *guard_sampler_sample(void *user, int64_t max_age_ms);

/* Context of the routes: must be the first member of a part that offers them. */
struct guard_api {
    struct guard *guard;
};

/* For other sockets: returns the HTTP status and appends the body to `out`. Never blocks. */
int guard_routes_answer(struct guard_api *api, const char *method, struct str path, struct str body, struct buf *out);
