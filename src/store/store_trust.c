/* SPDX-License-Identifier: Apache-2.0
 * Which clock may be believed. See store_trust.h.
 */
#include "store/internal.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

enum {
    SLACK_SHARE = 64
}; /* a clock that NTP slews runs up to 0.05 % fast or slow; within a bit over 1 % it counts as the same clock */

struct clock_trust trust_begin(int64_t wall_ms, int64_t newest_ms)
{
    return (struct clock_trust){.believed_ms = newest_ms > 0 ? MIN_OF(wall_ms, newest_ms) : wall_ms};
}

static bool near(int64_t a_ms, int64_t b_ms, int64_t slack_ms)
{
    return llabs(a_ms - b_ms) <= slack_ms;
}

/* How long a leap has to hold: a quarter of its length, but at least six hours and at most a day. */
static int64_t needs(int64_t from_ms, int64_t to_ms)
{
    return MAX_OF(6 * HOUR_MS, MIN_OF(llabs(to_ms - from_ms) / 4, 24 * HOUR_MS));
}

/* A claim of "at least that late" also holds while the clock shows more, and vice versa. */
static bool holds(const struct clock_trust *t, int64_t wall_ms, int64_t slack_ms)
{
    return t->claim_ms > t->believed_ms ? wall_ms >= t->claim_ms - slack_ms : wall_ms <= t->claim_ms + slack_ms;
}

void trust_step(struct clock_trust *t, int64_t wall_ms, int64_t passed_ms)
{
    int64_t slack_ms = passed_ms / SLACK_SHARE;
    t->believed_ms += passed_ms;
    if (t->claim_ms)
        t->claim_ms += passed_ms;
    bool agrees = near(wall_ms, t->believed_ms, slack_ms);
    bool holding = t->claim_ms && !agrees && holds(t, wall_ms, slack_ms);
    if (agrees)
        t->believed_ms = wall_ms;
    if (holding && near(wall_ms, t->claim_ms, slack_ms))
        t->claim_ms = wall_ms;
    /* A moment against the claim must not undo hours for it: a host without an RTC boots into 1970 each day. */
    t->held_ms += holding ? passed_ms : -passed_ms;
    if (holding && t->held_ms >= needs(t->believed_ms, t->claim_ms)) {
        t->believed_ms = t->claim_ms;
        t->claim_ms = t->held_ms = 0;
    } else if (!holding && t->held_ms <= 0) {
        t->claim_ms = agrees ? 0 : wall_ms;
        t->held_ms = 0;
    }
}

int64_t trust_now(const struct clock_trust *t, int64_t wall_ms)
{
    return MIN_OF(wall_ms, t->believed_ms);
}

int64_t trust_offset(const struct clock_trust *t, int64_t wall_ms)
{
    return wall_ms - t->believed_ms;
}

int64_t trust_wait(const struct clock_trust *t, int64_t wall_ms)
{
    if (!t->claim_ms)
        return 0;
    return needs(t->believed_ms, wall_ms) - (near(wall_ms, t->claim_ms, HOUR_MS) ? t->held_ms : 0);
}

static int trust_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t trust_of_many(int64_t *times_ms, size_t count)
{
    qsort(times_ms, count, sizeof *times_ms, trust_compare);
    return count ? times_ms[(count - 1) / 2] : 0;
}
