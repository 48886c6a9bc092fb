/* SPDX-License-Identifier: Apache-2.0
 * The guard: one keeper thread a worker watches who needs its GPUs, takes the worker off them and brings it back.
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
    GUARD_EVENT_PROBLEM, /* something that a person should know */
    GUARD_EVENT_ENDED,   /* a child ended by itself: its exit status */
    GUARD_EVENT_LEFT,    /* the guard ends and leaves the worker in a state that it could not set right */
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
    const char *state_dir; /* for the journals; NULL: nothing is kept */
    /* A snapshot no older than that, with a reference; NULL when nothing answered. Negative: a new one in any case. */
    const struct snapshot *(*sample)(void *user, int64_t max_age_ms);
    void (*event)(void *user, const struct guard_event *event); /* from a keeper's thread; NULL: no listener */
    void *user;
};

struct guard_status {
    char name[SPEC_NAME_SIZE];
    enum guard_state state;
    struct wall since;
    struct wall resumes_at; /* if nothing changes; ms 0: not foreseen */
    enum claim_verdict claim;
    char reason[CLAIM_REASON_SIZE]; /* of the claim, of there being none, or of the pause */
    char problem[GUARD_TEXT_SIZE];  /* the last one; "" none */
    char method[JOURNAL_NAME_SIZE]; /* through which it is off the GPU; "" none */
    int32_t pid;                    /* first process; 0: none */
    size_t pid_count;
    size_t method_count; /* through which it could be taken off the GPU */
    int64_t bytes;       /* held now while running, else what it held; -1: that cannot be read */
    size_t others;       /* foreign processes on its GPUs */
    uint64_t gpus[GPU_MAX / 64];
    bool held, throttled, hot, fault, gave_up, not_freed, dry_run, gated;
    bool simulated;            /* what it goes by are GPUs of a simulator */
    bool blind;                /* its profile needs to know who else is on its GPUs, and that cannot be seen */
    bool idle;                 /* off the GPU because no client asked for it */
    int64_t idle_ms;           /* after which it is; 0: never */
    struct wall asked_at;      /* when a client last did; ms 0: not watched */
    size_t waiting, in_flight; /* at the gate */
    uint64_t evictions_total, resumes_total, failures_total;
    int64_t evict_ms, resume_ms; /* of the last ones; 0: none yet */
};

struct guard *guard_new(const struct guard_options *options, struct error *err);
/* Ends the threads. Workers stay as they are (the next start finds them); children are ended. NULL is fine. */
void guard_free(struct guard *g);

/* Takes the spec (from malloc) over in any case. `command` (NULL: none) is started as the worker; must outlive the guard. */
int guard_add(struct guard *g, struct guard_spec *spec, const char *const *command, struct error *err);

/* Other settings for the worker of that name: true, and the spec (from malloc) is taken over. false: there is none. */
bool guard_change(struct guard *g, struct guard_spec *spec);
/* Workers that are not wanted any more are let go: brought back where the GPU is free. Does not wait. */
void guard_keep_only(struct guard *g, bool (*wanted)(void *user, const char *name), void *user);

size_t guard_list(struct guard *g, struct guard_status *list, size_t max);
/* Evictions of all workers, and for each GPU of the snapshot (by position) the processes that are neither a worker nor this one. */
void guard_counts(struct guard *g, const struct snapshot *s, uint64_t *evictions_total, int64_t *others);
/* What each worker holds on each GPU of the snapshot, as far as the driver tells; returns how many were written. */
size_t guard_holds(struct guard *g, const struct snapshot *s, struct capacity_hold *list, size_t max);
/* NULL: all workers. -ENOENT: there is none of that name. */
int guard_take_command(struct guard *g, const char *name, enum guard_command command);
/* A process that needs the GPUs soon; counts while it lives. -ENOSPC when there are too many, -ESRCH when it does not live, any
 * other error when that cannot be told. */
int guard_announce(struct guard *g, int32_t pid);
void guard_unannounce(struct guard *g, int32_t pid);
/* Events (XID, a lost GPU) of samples that the guard did not take itself. */
void guard_tell_events(struct guard *g, const struct event *events, size_t count);
/* Look now: a child may have ended. */
void guard_poke(struct guard *g);
