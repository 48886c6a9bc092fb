/* SPDX-License-Identifier: Apache-2.0
 * Pauses double from a second to a minute, each up to a quarter shorter.
 */
#include "push/retry.h"

#include "base/cleanup.h"

enum { PAUSE_FIRST_MS = 1000, PAUSE_MOST_MS = 60000 };

/* xorshift: only so that many hosts do not ask a server at the same moment. */
static uint32_t next_random(struct push_retry *r)
{
    r->seed ^= r->seed << 13;
    r->seed ^= r->seed >> 7;
    r->seed ^= r->seed << 17;
    return (uint32_t)(r->seed >> 32);
}

int64_t push_retry_failed(struct push_retry *r, struct mono now, int64_t asked_ms)
{
    int64_t pause = PAUSE_FIRST_MS;
    for (uint32_t i = 0; i < r->failures && pause < PAUSE_MOST_MS; i++)
        pause *= 2;
    r->failures++;
    pause = MIN_OF(pause, (int64_t)PAUSE_MOST_MS);
    pause -= pause * (next_random(r) % 250) / 1000;
    pause = MAX_OF(pause, asked_ms);
    r->not_before = (struct mono){now.ns + pause * NS_PER_MS};
    return pause;
}

int64_t push_retry_wait_ms(const struct push_retry *r, struct mono now)
{
    int64_t left = r->not_before.ns - now.ns;
    return left <= 0 ? 0 : left / NS_PER_MS + 1;
}
