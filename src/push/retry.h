/* SPDX-License-Identifier: Apache-2.0
 * When a push that failed is tried again: after pauses that grow, or as the other side asks. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

struct push_retry {
    uint32_t failures; /* in a row */
    struct mono not_before;
    uint64_t seed; /* not 0 */
};

/* Another failure. Returns the pause in ms: the longer of ours and the one that the other side asked for. */
int64_t push_retry_failed(struct push_retry *r, struct mono now, int64_t asked_ms);
int64_t push_retry_wait_ms(const struct push_retry *r, struct mono now); /* 0: now */
