/* SPDX-License-Identifier: Apache-2.0
 * The life of one alert, as a pure function of its condition over time.
 *
 *               holds                 held for `for`               over for `clear_for`
 *   inactive ──────────▶ pending ───────────────────▶ firing ─────────────────────────▶ resolved
 *       ▲                   │ does not hold             ▲                                  │ holds (and `for`)
 *       └───────────────────┘                           └──────────────────────────────────┘
 *
 * An unknown condition stops the clocks and keeps the state for at most ten minutes. An alert that begins three times within ten
 * minutes is flapping: it then ends only after five calm minutes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "alert/expr/expr.h"
#include "base/clock.h"

enum {
    ALERT_UNKNOWN_MS = 10 * 60 * 1000, /* how long an unknown value keeps the state */
    ALERT_FLAPS = 3,
    ALERT_FLAP_WINDOW_MS = 10 * 60 * 1000,
    ALERT_FLAP_CLEAR_MS = 5 * 60 * 1000,
};

enum alert_phase { ALERT_INACTIVE, ALERT_PENDING, ALERT_FIRING, ALERT_RESOLVED };
enum alert_change { CHANGE_NONE, CHANGE_PENDING, CHANGE_CALMED, CHANGE_FIRED, CHANGE_RESOLVED };

/* Plain data that can be saved across restarts. An unset time is 0. */
struct alert_state {
    enum alert_phase phase;
    struct wall pending_at; /* when the condition began to hold, plus unknown time */
    struct wall calm_at;    /* while firing: when it stopped holding, plus unknown time */
    struct wall known_at;   /* while unknown: the last time it was known */
    struct wall started_at, ended_at;
    struct wall fired[ALERT_FLAPS]; /* newest first */
    bool flapping;
    bool lapsed; /* ended because the condition stayed unknown */
};

struct alert_timing {
    int64_t hold_ms, clear_hold_ms;
};

struct alert_moment {
    struct wall now, before; /* time of this step and the previous one; before.ms 0: none */
    bool gap;                /* no sample for too long: pending times restart */
};

/* `when`: does the condition hold; `calm`: is it over? Only matters while firing. */
enum alert_change alert_step(struct alert_state *state, const struct alert_timing *timing, enum truth when, enum truth calm,
                             const struct alert_moment *moment);
/* Ends the alert at once because its subject is gone for good. */
enum alert_change alert_end(struct alert_state *state, struct wall now);

const char *alert_phase_name(enum alert_phase phase); /* "firing" */
bool alert_phase_from_name(const char *name, enum alert_phase *ret);
