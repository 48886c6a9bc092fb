/* SPDX-License-Identifier: Apache-2.0
 * When a worker yields its GPU and when it gets it back. Pure: takes state and facts, returns state and one action.
 *
 *            claim seen twice              drained          method done         memory is free
 *   RUNNING ────────────────▶ DRAINING ─────────▶ EVICTING ─────────▶ VERIFYING ─────────▶ PAUSED
 *      ▲  ▲                      │ claim gone        │ failed: the next        │ not free in time: the next       │ clear for long
 *      │  └──────────────────────┘                   │ one; none: give up ─┐   │ one; none: PAUSED, said loudly   │ enough
 *      │ ◀────────────────────────────────────────────────────────────────┘   ▼                                  ▼
 *      └──────────────── RESUMING ◀──── enough memory is free ──── RESERVING ◀─┴──────────────────────────────────┘
 *                           │ fails: PAUSED, later again              │ claim returns: PAUSED
 *
 *   A worker without client requests for long (idle_ms) goes the same way; it is PAUSED until a client asks, and returns at once.
 *   If another program needs the GPU meanwhile, it becomes an ordinary pause.
 *
 *   ABSENT: there is no worker. Left when it appears.
 *
 * "Unknown" (the driver didn't answer) never evicts and never resumes. A person may hold, evict, resume or release at any time.
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

enum claim_verdict { CLAIM_UNKNOWN, CLAIM_NONE, CLAIM_SEEN, CLAIM_SURE /* a game announced itself: one sighting suffices */ };
enum step_result { STEP_PENDING, STEP_DONE, STEP_FAILED };
enum worker_presence { WORKER_UNKNOWN, WORKER_ALIVE, WORKER_GONE };
enum guard_command { COMMAND_NONE, COMMAND_HOLD, COMMAND_EVICT, COMMAND_RESUME, COMMAND_RELEASE };

/* Observations since the last step. */
struct guard_facts {
    enum claim_verdict claim;
    enum worker_presence worker;
    bool drained;               /* no work in flight (or unknown) */
    enum step_result step;      /* of the action in progress: evict or resume */
    bool memory_freed;          /* the driver shows that the worker holds nothing any more */
    bool memory_enough;         /* enough is free for the worker to return */
    bool hot;                   /* at or above the threshold */
    bool cool;                  /* below the threshold minus the hysteresis */
    bool fault;                 /* ECC, XID, lost: as configured */
    int64_t unasked_ms;         /* since the last client request; 0: one just came, or unknown */
    bool asked;                 /* a client waits for it */
    enum guard_command command; /* delivered once */
};

enum guard_action {
    GUARD_DO_NOTHING,
    GUARD_DO_LOOK_AGAIN, /* sample again after second_look_ms */
    GUARD_DO_DRAIN,      /* close the gate */
    GUARD_DO_OPEN_GATE,  /* the claim vanished while draining */
    GUARD_DO_EVICT,      /* with method number state->method */
    GUARD_DO_VERIFY,
    GUARD_DO_RESERVE,
    GUARD_DO_RESUME, /* through the methods that acted, in reverse */
    GUARD_DO_THROTTLE,
    GUARD_DO_UNTHROTTLE,
};

struct guard_limits {
    int64_t second_look_ms;   /* 500 */
    int64_t drain_ms;         /* 10000: how long to wait for work in flight */
    int64_t verify_ms;        /* 5000 */
    int64_t leave_clear_ms;   /* 30000: time without a claim before resuming */
    int64_t pause_min_ms;     /* 10000 */
    int64_t flap_window_ms;   /* 300000: evicted again this soon after a resume: wait longer next time */
    int64_t leave_longest_ms; /* 600000 */
    int64_t retry_ms;         /* 30000: after a failed eviction or resume */
    int64_t idle_ms;          /* without client requests for this long: off the GPU until one comes; 0: never */
    unsigned methods;         /* number of configured methods */
    bool hot_pauses;          /* otherwise heat throttles */
};

extern const struct guard_limits guard_limits_default;

struct guard_policy {
    enum guard_state state;
    struct mono since; /* in this state */
    unsigned method;   /* the current one */
    bool seen;         /* a claim was seen once */
    struct mono seen_at;
    bool clear; /* no claim, no heat, no fault */
    struct mono clear_at;
    bool held;         /* by a person */
    bool evict_wanted; /* by a person: until RELEASE or RESUME */
    bool idle;         /* off the GPU, or about to be, because no client asks for it */
    bool forced;       /* by a person: resume despite a claim, and despite findings that forbid placing work */
    bool throttled;
    bool gave_up; /* no method could evict: not retried before retry_ms */
    struct mono gave_up_at;
    bool not_freed; /* paused, but still holding the memory */
    unsigned looks; /* looks at the memory since the method acted */
    bool resumed;   /* at least once */
    struct mono resumed_at;
    bool resume_failed;
    struct mono resume_failed_at;
    int64_t leave_ms; /* grows when flapping; 0: the default */
};

/* One step. Carry out the action before the next step; its result comes with the next facts. */
enum guard_action guard_step(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *facts,
                             struct mono now);

/* Time until a paused worker returns if nothing changes; -1: not paused, or something keeps it off the GPU. */
int64_t guard_resume_in_ms(const struct guard_policy *p, const struct guard_limits *limits, struct mono now);

/* After a restart: sets the state found in the journal and the worker. */
void guard_restore(struct guard_policy *p, enum guard_state found, struct mono now);

/* A paused worker took memory again on its own: evict it once more. */
void guard_evict_again(struct guard_policy *p, struct mono now);

const char *guard_state_name(enum guard_state state);
bool guard_state_from_name(const char *name, enum guard_state *ret);
