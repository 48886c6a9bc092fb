/* SPDX-License-Identifier: Apache-2.0
 * How a guard sees the GPUs: through its own engine or the daemon's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct snapshot;

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
