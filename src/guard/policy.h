/* SPDX-License-Identifier: Apache-2.0
 * When a worker gives its GPU up and when it gets it back. Pure: state and facts in, state and one action out. No I/O, no clock.
 *
 *            claim seen twice              drained          method done         memory is free
 *   RUNNING ────────────────▶ DRAINING ─────────▶ EVICTING ─────────▶ VERIFYING ─────────▶ PAUSED
 *      ▲  ▲                      │ claim gone        │ failed: the next        │ not free in time: the next       │ clear for long
 *      │  └──────────────────────┘                   │ one; none: give up ─┐   │ one; none: PAUSED, said loudly   │ enough
 *      │ ◀────────────────────────────────────────────────────────────────┘   ▼                                  ▼
 *      └──────────────── RESUMING ◀──── enough memory is free ──── RESERVING ◀─┴──────────────────────────────────┘
 *                           │ fails: PAUSED, later again              │ claim returns: PAUSED
 *
 *   A worker that no client asked for long (idle_ms) goes the same way; then it is PAUSED until one asks, and comes back at once.
 *   When another program needs the GPU meanwhile, it is a pause like any other.
 *
 *   ABSENT: there is no worker. Left when it appears.
 *
 * "Unknown" (the driver did not answer) never evicts and never resumes. A person may hold, evict, resume or release at any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum guard_state {
    GUARD_RUNNING,
    GUARD_DRAINING,
    GUARD_EVICTING,
    GUARD_VERIFYING,
    GUARD_PAUSED,
    GUARD_RESERVING,
    GUARD_RESUMING,
    GUARD_ABSENT,
};
enum { GUARD_STATES = GUARD_ABSENT + 1 };

enum claim_verdict { CLAIM_UNKNOWN, CLAIM_NONE, CLAIM_SEEN, CLAIM_SURE /* a game announced itself: one sighting is enough */ };
enum step_result { STEP_PENDING, STEP_DONE, STEP_FAILED };
enum worker_presence { WORKER_UNKNOWN, WORKER_ALIVE, WORKER_GONE };
enum guard_command { COMMAND_NONE, COMMAND_HOLD, COMMAND_EVICT, COMMAND_RESUME, COMMAND_RELEASE };

/* What the shell has found out since the last step. */
struct guard_facts {
    enum claim_verdict claim;
    enum worker_presence worker;
    bool drained;               /* no work in flight (or it cannot be known) */
    enum step_result step;      /* of the action under way: evict or resume */
    bool memory_freed;          /* the driver says that the worker holds nothing any more */
    bool memory_enough;         /* free now for the worker to come back */
    bool hot;                   /* at or above the threshold */
    bool cool;                  /* below the threshold minus the hysteresis */
    bool fault;                 /* ECC, XID, lost: configured to pause */
    int64_t unasked_ms;         /* no client has asked it for so long; 0: one just did, or it cannot be known */
    bool asked;                 /* a client waits for it */
    enum guard_command command; /* once */
};

enum guard_action {
    GUARD_DO_NOTHING,
    GUARD_DO_LOOK_AGAIN, /* sample again after second_look_ms */
    GUARD_DO_DRAIN,      /* close the gate */
    GUARD_DO_OPEN_GATE,  /* the claim went away while draining */
    GUARD_DO_EVICT,      /* with method number state->method */
    GUARD_DO_VERIFY,
    GUARD_DO_RESERVE,
    GUARD_DO_RESUME, /* through the methods that acted, last first */
    GUARD_DO_THROTTLE,
    GUARD_DO_UNTHROTTLE,
};

struct guard_limits {
    int64_t second_look_ms;   /* 500 */
    int64_t drain_ms;         /* 10000: how long work in flight is waited for */
    int64_t verify_ms;        /* 5000 */
    int64_t leave_clear_ms;   /* 30000: no claim for so long before resuming */
    int64_t pause_min_ms;     /* 10000 */
    int64_t flap_window_ms;   /* 300000: evicted again so soon after a resume: wait longer next time */
    int64_t leave_longest_ms; /* 600000 */
    int64_t retry_ms;         /* 30000: after an eviction or resume that failed */
    int64_t idle_ms;          /* no client asks for so long: off the GPU until one does; 0: never */
    unsigned methods;         /* how many methods are configured */
    bool hot_pauses;          /* else heat throttles */
};

extern const struct guard_limits guard_limits_default;

struct guard_policy {
    enum guard_state state;
    struct mono since; /* in this state */
    unsigned method;   /* being tried */
    bool seen;         /* a claim was seen once */
    struct mono seen_at;
    bool clear; /* no claim, no heat, no fault */
    struct mono clear_at;
    bool held;         /* by a person */
    bool evict_wanted; /* by a person: until RELEASE or RESUME */
    bool idle;         /* off the GPU, or on the way, because no client asks for it */
    bool forced;       /* by a person: resume in spite of a claim, and of findings that forbid to place work there */
    bool throttled;
    bool gave_up; /* no method could evict: not tried again before retry_ms */
    struct mono gave_up_at;
    bool not_freed; /* paused, but the memory is still held */
    unsigned looks; /* at the memory, since the method was carried out */
    bool resumed;   /* at least once */
    struct mono resumed_at;
    bool resume_failed;
    struct mono resume_failed_at;
    int64_t leave_ms; /* grows when it flaps; 0: the default */
};

/* One step. The action is to be carried out before the next step; its result comes with the next facts. */
enum guard_action guard_step(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *facts,
                             struct mono now);

/* How long until a paused worker comes back if nothing changes; -1: not paused, or something keeps it off the GPU. */
int64_t guard_resume_in_ms(const struct guard_policy *p, const struct guard_limits *limits, struct mono now);

/* After a restart: the state that the journal and the worker itself show. */
void guard_restore(struct guard_policy *p, enum guard_state found, struct mono now);

/* A paused worker took memory again by itself: off with it once more. */
void guard_evict_again(struct guard_policy *p, struct mono now);

const char *guard_state_name(enum guard_state state);
bool guard_state_from_name(const char *name, enum guard_state *ret);
