/* SPDX-License-Identifier: Apache-2.0
 * Counts failures per client address, and reports who has too many. Pure data of fixed size; the caller passes the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/peers.h"

enum { LIMITER_SLOTS = 256, LIMITER_FAILURES = 10, LIMITER_WINDOW_MS = 60000 };

struct limiter_slot {
    struct peer_id who;
    int64_t since_ms;
    uint32_t failures; /* 0: free */
};

struct limiter {
    struct limiter_slot slots[LIMITER_SLOTS];
};

/* How long the address must wait; 0: it may try. */
int64_t limiter_wait_ms(const struct limiter *l, const struct peer_id *who, int64_t now_ms);
void limiter_failed(struct limiter *l, const struct peer_id *who, int64_t now_ms);
