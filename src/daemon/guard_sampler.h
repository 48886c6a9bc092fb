/* SPDX-License-Identifier: Apache-2.0
 * How a guard sees the GPUs: through an engine, its own or the daemon's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct snapshot;

enum { SLOW_EVERY_MS = 10000 }; /* how often errors are read, unless told otherwise */

/* What keepers and probes need of the engine. */
struct guard_sampler {
    struct engine *engine;
    bool lean;             /* nothing else looks at what this engine samples: only what the guard needs is read */
    int64_t slow_every_ms; /* how often errors are read, too; 0: SLOW_EVERY_MS */
    _Atomic int64_t slow_at_ms;
};
/* For guard_options.sample; `user` points to a struct guard_sampler. NULL when what there is is too old. */
const struct snapshot *guard_sampler_sample(void *user, int64_t max_age_ms);
