/* SPDX-License-Identifier: Apache-2.0
 * The circuit breaker of a source.
 */
#include "engine/internal.h"

#include "base/cleanup.h"

void breaker_success(struct breaker *b)
{
    *b = (struct breaker){0};
}

static void set_aside(struct breaker *b, struct mono now)
{
    b->pause_ms = b->pause_ms ? MIN_OF(b->pause_ms * 2, (int64_t)BREAKER_PAUSE_LONGEST_MS) : BREAKER_PAUSE_FIRST_MS;
    b->until.ns = now.ns + b->pause_ms * NS_PER_MS;
}

void breaker_failure(struct breaker *b, struct mono now)
{
    b->failures_in_a_row++;
    if (b->failures_in_a_row > BREAKER_FAILURES_MAX)
        set_aside(b, now);
}

void breaker_start_failure(struct breaker *b, struct mono now)
{
    b->failures_in_a_row++;
    set_aside(b, now);
}

bool breaker_may_try(const struct breaker *b, struct mono now)
{
    return b->pause_ms == 0 || now.ns >= b->until.ns;
}
