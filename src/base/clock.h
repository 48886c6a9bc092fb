/* SPDX-License-Identifier: Apache-2.0
 * Two kinds of time that cannot be mixed up: monotonic (for intervals) and wall (for people and the database).
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct mono {
    int64_t ns;
};

struct wall {
    int64_t ms; /* since 1970, UTC; 0: unknown */
};

enum { NS_PER_MS = 1000000, MS_PER_S = 1000 };
#define NS_PER_S 1000000000LL

/* Where time comes from. Tests and the simulator inject their own. */
struct clock {
    struct mono (*mono)(const struct clock *);
    struct wall (*wall)(const struct clock *);
    struct mono (*boot)(const struct clock *); /* keeps counting during suspend; NULL: same as mono */
};

extern const struct clock clock_system;

static inline struct mono clock_mono(const struct clock *c)
{
    return c->mono(c);
}

static inline struct wall clock_wall(const struct clock *c)
{
    return c->wall(c);
}

static inline struct mono clock_boot(const struct clock *c)
{
    return c->boot ? c->boot(c) : c->mono(c);
}

static inline int64_t mono_since_ms(struct mono later, struct mono earlier)
{
    return (later.ns - earlier.ns) / NS_PER_MS;
}

/* A clock that moves only when told to. `clock` comes first, so that it can be passed as a struct clock. */
struct clock_manual {
    struct clock clock;
    struct mono now;
    struct wall today;
};
void clock_manual_init(struct clock_manual *c, struct wall start);
void clock_manual_advance_ms(struct clock_manual *c, int64_t ms);

enum { WALL_TEXT_SIZE = 32 };
/* "2026-11-15T01:02:03.456Z" */
void wall_format(struct wall w, char text[WALL_TEXT_SIZE]);
/* Reads wall_format's output, also without a fraction, with "+HH:MM", or a date alone. */
bool wall_parse(struct str text, struct wall *ret);
