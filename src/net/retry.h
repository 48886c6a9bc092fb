/* SPDX-License-Identifier: Apache-2.0
 * When to retry a failed delivery: after growing pauses, or as the other side asks. For notifications and pushed metrics. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"

enum { RETRY_PAUSE_FIRST_MS = 1000 };

struct retry {
    uint32_t failures;      /* consecutive */
    struct mono not_before; /* after a failure; ns 0: none */
    uint64_t seed;          /* from retry_seed(); 0: no jitter */
};

/* Makes the pauses of many hosts differ. `owner` is any pointer. */
uint64_t retry_seed(const void *owner);
/* Records a failure. Returns the pause in ms: the longer of ours, at most `most_ms`, and the other side's request. */
int64_t retry_failed(struct retry *r, struct mono now, int64_t most_ms, int64_t asked_ms);
int64_t retry_wait_ms(const struct retry *r, struct mono now); /* 0: now */
