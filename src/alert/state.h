/* SPDX-License-Identifier: Apache-2.0
 * The life of one alert, as a pure function of what its condition says over time.
 *
 *               holds                 held for `for`               over for `clear_for`
 *   inactive ──────────▶ pending ───────────────────▶ firing ─────────────────────────▶ resolved
 *       ▲                   │ does not hold             ▲                                  │ holds (and `for`)
 *       └───────────────────┘                           └──────────────────────────────────┘
 *
 * What is unknown stops the clocks and keeps the state, for ten minutes at most. Three beginnings within ten minutes are a flapping
 * alert: it then ends only when it was over for five.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "alert/expr/expr.h"
#include "base/clock.h"

enum {
    ALERT_UNKNOWN_MS = 10 * 60 * 1000, /* so long an unknown value keeps the state */
    ALERT_FLAPS = 3,
    ALERT_FLAP_WINDOW_MS = 10 * 60 * 1000,
    ALERT_FLAP_CLEAR_MS = 5 * 60 * 1000,
};

enum alert_phase { ALERT_INACTIVE, ALERT_PENDING, ALERT_FIRING, ALERT_RESOLVED };
enum alert_change { CHANGE_NONE, CHANGE_PENDING, CHANGE_CALMED, CHANGE_FIRED, CHANGE_RESOLVED };

/* Plain data: can be kept over a restart. Times are 0 when there is none. */
struct alert_state {
    enum alert_phase phase;
    struct wall pending_at; /* since when the condition holds; moved by what was unknown */
    struct wall calm_at;    /* since when it is over, while firing; the same */
    struct wall known_at;   /* the last time that was known, while it is unknown */
    struct wall started_at, ended_at;
    struct wall fired[ALERT_FLAPS]; /* newest first */
    bool flapping;
    bool lapsed; /* ended because nothing was known any more */
};

struct alert_timing {
    int64_t hold_ms, clear_hold_ms;
};

struct alert_moment {
    struct wall now, before; /* this step and the one before it; before.ms 0: there was none */
    bool gap;                /* no sample for too long in between: what was waited for begins anew */
};

/* `when`: the condition; `calm`: is it over? Only heeded while firing. */
enum alert_change alert_step(struct alert_state *state, const struct alert_timing *timing, enum truth when, enum truth calm,
                             const struct alert_moment *moment);
/* What it was about is gone for good: ends at once. */
enum alert_change alert_end(struct alert_state *state, struct wall now);

const char *alert_phase_name(enum alert_phase phase); /* "firing" */
bool alert_phase_from_name(const char *name, enum alert_phase *ret);
