/* SPDX-License-Identifier: Apache-2.0
 * The guard: one keeper thread per worker watches who needs its GPUs, evicts the worker and resumes it.
 *
 *   sample() ──▶ keeper: facts ──▶ guard_step() ──▶ methods (evict, resume), gate ──▶ event(), status
 *                          ▲ commands of people, announcements of `whirr run`
 *
 * All functions may be called from any thread.
 */
#pragma once

#include "guard/spec.h"
#include "insight/fit/capacity.h"

enum { GUARD_WORKERS_MAX = 64, GUARD_ANNOUNCED_MAX = 32, GUARD_TEXT_SIZE = 512 };

struct guard;

enum guard_event_kind {
    GUARD_EVENT_STATE,   /* the worker changed its state */
    GUARD_EVENT_PROBLEM, /* something people should know */
    GUARD_EVENT_ENDED,   /* a child ended on its own: its exit status */
    GUARD_EVENT_LEFT,    /* the guard ends and leaves the worker in a state that it couldn't fix */
};

struct guard_event {
    enum guard_event_kind kind;
    const char *worker;
    enum guard_state state, before;
    const char *text; /* a sentence without a full stop */
    int exit_status;
    struct wall at;
};

struct guard_options {
    const struct env *env;
    const char *state_dir; /* for the journals; NULL: none */
    /* A snapshot no older than that, with a reference; NULL if nothing answered. Negative: always a new one. */
    const struct snapshot *(*sample)(void *user, int64_t max_age_ms);
    void (*event)(void *user, const struct guard_event *event); /* called from a keeper's thread; NULL: no listener */
    void *user;
};

struct guard_status {
    char name[SPEC_NAME_SIZE];
    enum guard_state state;
    struct wall since;
    struct wall resumes_at; /* if nothing changes; ms 0: unknown */
    enum claim_verdict claim;
    char reason[CLAIM_REASON_SIZE]; /* of the claim, of its absence, or of the pause */
    char problem[GUARD_TEXT_SIZE];  /* the last one; "" none */
    char method[JOURNAL_NAME_SIZE]; /* that took it off the GPU; "" none */
    int32_t pid;                    /* first process; 0: none */
    size_t pid_count;
    size_t method_count; /* that could take it off the GPU */
    int64_t bytes;       /* held now while running, else before; -1: unknown */
    size_t others;       /* foreign processes on its GPUs */
    uint64_t gpus[GPU_MAX / 64];
    bool held, throttled, hot, fault, gave_up, not_freed, dry_run, gated;
    bool simulated;            /* its GPUs are simulated */
    bool blind;                /* its profile needs to see who else uses its GPUs, and can't */
    bool idle;                 /* off the GPU because no client asked for it */
    int64_t idle_ms;           /* timeout for that; 0: never */
    struct wall asked_at;      /* last client request; ms 0: not watched */
    size_t waiting, in_flight; /* at the gate */
    uint64_t evictions_total, resumes_total, failures_total;
    int64_t evict_ms, resume_ms; /* of the last ones; 0: none yet */
};

struct guard *guard_new(const struct guard_options *options, struct error *err);
/* Ends the threads. Workers stay as they are (the next start finds them); children are ended. Accepts NULL. */
void guard_free(struct guard *g);

/* Always takes over the spec (from malloc). Starts `command` (NULL: none), which must outlive the guard, as the worker. */
int guard_add(struct guard *g, struct guard_spec *spec, const char *const *command, struct error *err);

/* Applies new settings to the worker of that name: true, and takes over the spec (from malloc). False: no such worker. */
bool guard_change(struct guard *g, struct guard_spec *spec);
/* Releases workers that are no longer wanted: resumes them if the GPU is free. Doesn't wait. */
void guard_keep_only(struct guard *g, bool (*wanted)(void *user, const char *name), void *user);

size_t guard_list(struct guard *g, struct guard_status *list, size_t max);
/* Evictions of all workers, and per GPU of the snapshot (by position) the processes that are neither a worker's nor ours. */
void guard_counts(struct guard *g, const struct snapshot *s, uint64_t *evictions_total, int64_t *others);
/* What each worker holds on each GPU of the snapshot, as far as the driver reports it; returns the number of entries. */
size_t guard_holds(struct guard *g, const struct snapshot *s, struct capacity_hold *list, size_t max);
/* NULL: all workers. -ENOENT: no such worker. */
int guard_take_command(struct guard *g, const char *name, enum guard_command command);
/* Announces a process that needs the GPUs soon; counts while it lives. -ENOSPC: too many, -ESRCH: not alive, other errors:
 * unknown. */
int guard_announce(struct guard *g, int32_t pid);
void guard_unannounce(struct guard *g, int32_t pid);
/* Events (XID, a lost GPU) from samples that the guard didn't take itself. */
void guard_tell_events(struct guard *g, const struct event *events, size_t count);
/* Look now: a child may have ended. */
void guard_poke(struct guard *g);

/* ---- One round trip of a worker through a method, at a moment that a person chose: off the GPU, verified, and back ---- */

struct probe_result {
    const char *method;
    int32_t pid;
    int64_t bytes;      /* held before */
    int64_t left_bytes; /* held after the eviction; -1 unknown */
    int64_t evict_ms, verify_ms, resume_ms;
    bool freed, resumed;
};

/* Tries the spec's methods in order until one works. -errno with a sentence if none did; the result shows how far it came. Keeps
 * a real journal: a guard of that worker would resume it. */
int guard_probe(const struct guard_options *options, struct guard_spec *spec, struct probe_result *ret, struct error *err);
