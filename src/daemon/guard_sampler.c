/* SPDX-License-Identifier: Apache-2.0
 * Samples for guards.
 */
#include "daemon/guard_sampler.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/engine.h"

enum { SAMPLE_WITHIN_MS = 6000 };

const struct snapshot *guard_sampler_sample(void *user, int64_t max_age_ms)
{
    struct guard_sampler *sampler = user;
    unsigned groups = GROUP_QUICK | (sampler->lean ? GROUP_LEAN : 0);
    int64_t now_ms = clock_mono(&clock_system).ns / NS_PER_MS;
    if (now_ms - sampler->slow_at_ms >= (sampler->slow_every_ms ? sampler->slow_every_ms : SLOW_EVERY_MS)) {
        groups |= GROUP_SLOW;
        sampler->slow_at_ms = now_ms;
    }
    const struct snapshot *s = engine_sample(sampler->engine, groups, max_age_ms, SAMPLE_WITHIN_MS);
    /* A hanging driver leaves an old snapshot, which does not show the present state. */
    if (s && mono_since_ms(clock_mono(&clock_system), s->taken) > SAMPLE_WITHIN_MS + MAX_OF(max_age_ms, 0)) {
        snapshot_unref(s);
        return NULL;
    }
    return s;
}
