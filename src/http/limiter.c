/* SPDX-License-Identifier: Apache-2.0
 * The table of failures. When full, it evicts the slot that would expire first.
 */
#include "http/site.h"

#include <string.h>

static bool is_current(const struct limiter_slot *slot, int64_t now_ms)
{
    return slot->failures && now_ms - slot->since_ms < LIMITER_WINDOW_MS;
}

int64_t limiter_wait_ms(const struct limiter *l, const struct peer_id *who, int64_t now_ms)
{
    for (int i = 0; i < LIMITER_SLOTS; i++) {
        const struct limiter_slot *slot = &l->slots[i];
        if (is_current(slot, now_ms) && memcmp(&slot->who, who, sizeof *who) == 0)
            return slot->failures >= LIMITER_FAILURES ? slot->since_ms + LIMITER_WINDOW_MS - now_ms : 0;
    }
    return 0;
}

void limiter_failed(struct limiter *l, const struct peer_id *who, int64_t now_ms)
{
    struct limiter_slot *place = &l->slots[0];
    for (int i = 0; i < LIMITER_SLOTS; i++) {
        struct limiter_slot *slot = &l->slots[i];
        if (is_current(slot, now_ms) && memcmp(&slot->who, who, sizeof *who) == 0) {
            slot->failures++;
            return;
        }
        if (!is_current(slot, now_ms))
            place = slot;
        else if (is_current(place, now_ms) && slot->since_ms < place->since_ms)
            place = slot;
    }
    *place = (struct limiter_slot){.who = *who, .since_ms = now_ms, .failures = 1};
}
