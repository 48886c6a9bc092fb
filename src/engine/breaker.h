/* SPDX-License-Identifier: Apache-2.0
 * When to leave a failing source alone. Pure: state in, state out.
 *
 *   closed ──more than 10 failures in a row──▶ open (set aside) ──pause over──▶ one try ──fails──▶ open, pause doubled
 *      ▲                                                              │
 *      └───────────────────────────────── success ────────────────────┘
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum { BREAKER_FAILURES_MAX = 10, BREAKER_PAUSE_FIRST_MS = 5000, BREAKER_PAUSE_LONGEST_MS = 300000 };

struct breaker {
    uint32_t failures_in_a_row;
    int64_t pause_ms; /* of the current suspension; 0: not suspended */
    struct mono until;
};

void breaker_success(struct breaker *b);
void breaker_failure(struct breaker *b, struct mono now);
/* A source that failed to start: suspended at the first failure. */
void breaker_start_failure(struct breaker *b, struct mono now);
bool breaker_may_try(const struct breaker *b, struct mono now);
static inline bool breaker_set_aside(const struct breaker *b)
{
    return b->pause_ms > 0;
}
