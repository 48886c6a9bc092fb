/* SPDX-License-Identifier: Apache-2.0
 * Pauses double from one second, each up to a quarter shorter.
 */
#include "net/retry.h"

#include "base/cleanup.h"

uint64_t retry_seed(const void *owner)
{
    return ((uint64_t)clock_mono(&clock_system).ns ^ (uint64_t)(uintptr_t)owner) | 1;
}

/* xorshift: jitter, so that many hosts don't hit a server at the same moment. */
static uint32_t next_random(struct retry *r)
{
    r->seed ^= r->seed << 13;
    r->seed ^= r->seed >> 7;
    r->seed ^= r->seed << 17;
    return (uint32_t)(r->seed >> 32);
}

int64_t retry_failed(struct retry *r, struct mono now, int64_t most_ms, int64_t asked_ms)
{
    int64_t pause = RETRY_PAUSE_FIRST_MS;
    for (uint32_t i = 0; i < r->failures && pause < most_ms; i++)
        pause *= 2;
    r->failures++;
    pause = MIN_OF(pause, most_ms);
    pause -= pause * (next_random(r) % 250) / 1000;
    pause = MAX_OF(pause, asked_ms);
    r->not_before = (struct mono){now.ns + pause * NS_PER_MS};
    return pause;
}

int64_t retry_wait_ms(const struct retry *r, struct mono now)
{
    int64_t left = r->not_before.ns - now.ns;
    return left <= 0 ? 0 : left / NS_PER_MS + 1;
}
