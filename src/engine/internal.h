/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of the engine: its state, and the steps of the coordinator, the one thread that owns it.
 *
 *   engine.c  the public side: puts messages into the inbox        coordinator.c  takes them out, one after the other
 *   sample_round.c  one sample of every source, from the first question to the publication
 */
#pragma once

#include <pthread.h>

#include "engine/cadence.h"
#include "engine/engine.h"
#include "engine/fault_log.h"
#include "engine/host_look.h"
#include "engine/roster.h"
#include "engine/slot.h"
#include "engine/worker.h"
#include "host/machine.h"
#include "insight/verdict/judge.h"

enum { INBOX_SIZE = 1024, WAITERS_MAX = INBOX_SIZE, SUBSCRIBERS_MAX = 8 };

struct ask {
    struct message base;
    unsigned groups;
    int64_t number; /* max age, interval or release time in ms */
    struct mailbox *mailbox;
};

struct waiter {
    struct mailbox *reply;
    unsigned groups;
    bool waited_on; /* already waiting for a second round: accepts any result */
};

/* Callers waiting for the same answer. */
struct replies {
    struct mailbox *list[WAITERS_MAX];
    size_t count;
};

struct engine {
    const struct env *env;
    struct mailbox *inbox;
    pthread_t thread;
    int64_t hung_after_ms, start_ms;
    bool show_secrets;
    bool may_rest;
    _Atomic int64_t looked_until; /* ns; written by readers */
    _Atomic(struct ask *) spare;  /* for callers without memory for their own */

    pthread_mutex_t latest_lock; /* guards only `latest`, which every thread may read */
    const struct snapshot *latest;

    pthread_mutex_t judge_lock; /* guards the judge, to which others add knowledge */
    struct judge *judge;
    struct fault_log *faults; /* from the kernel log, for the judge */

    pthread_mutex_t annotate_lock; /* guards the next two */
    struct annotate {
        engine_annotate_fn *run;
        void *user;
    } annotates[ENGINE_ANNOTATES_MAX];
    size_t annotate_count;

    /* Owned by the coordinator. */
    int64_t interval_ms;
    struct mono next_periodic;
    struct slot slots[SOURCES_MAX];
    size_t slot_count;
    struct roster roster, accelerators;
    size_t cards_expected; /* how many of the judge's remembered GPUs are in the roster */
    struct cadence cadence;
    struct machine *machine;
    struct host_look *host_look; /* examines the programs on GPUs */
    int64_t asleep_ns;           /* how long the host has slept since boot, at the last periodic sample */
    int64_t suspended_ms;        /* the part of it not yet in a snapshot */
    uint64_t sequence;
    bool round_active, round_periodic;
    unsigned round_groups;
    struct mono round_start;
    struct host round_host;
    uint64_t host_implausible_total; /* its impossible readings */
    struct waiter waiters[WAITERS_MAX];
    size_t waiter_count;
    struct mailbox *subscribers[SUBSCRIBERS_MAX];
    size_t subscriber_count;
    bool released;
    struct mono released_until;
    struct replies releasing;                /* waiting until all sources are closed */
    struct event pending_events[EVENTS_MAX]; /* found in samples for requests */
    size_t pending_count;
    struct replies describing; /* waiting for the description in progress */
    struct buf description;
    size_t descriptions_missing;
    bool waits_ended; /* callers no longer wait */
};

static inline struct mono engine_now(const struct engine *e)
{
    return clock_mono(e->env->clock);
}

/* How long to wait for a source. */
static inline int64_t engine_patience_ms(const struct engine *e, const struct slot *s)
{
    return s->open ? e->hung_after_ms : e->start_ms;
}

/* ---- sample_round.c ---- */

/* Asks every wanted source; publishes the snapshot when all have answered or one hangs. */
void sample_round_start(struct engine *e, unsigned groups, bool periodic);
void sample_round_periodic(struct engine *e); /* starts one if the interval is over */

/* How long the host has slept since boot, by two clocks read within a second: a thread delayed between them on a busy host
 * hasn't slept. */
int64_t sample_round_asleep_ns(const struct clock *clock);
void sample_round_ask_slots(struct engine *e);
void sample_round_end_if_done(struct engine *e);
void sample_round_give_up_hung(struct engine *e);
/* coordinator.c: omits a source that hangs while describing itself. */
void description_without(struct engine *e, struct slot *s);
bool engine_source_busy(const struct engine *e);

/* ---- engine.c ---- */

void ask_free(struct engine *e, struct ask *a); /* kept as the spare if that is gone */

/* ---- coordinator.c ---- */

void *coordinator_run(void *engine); /* the thread function */

/* ---- expect.c ---- */

/* Before the GPUs of a round are placed: adds the expected ones to the roster. */
void expect_gpus(struct engine *e);

/* ---- from the sources' results to one snapshot ---- */

/* Moves the GPUs out of the slots' results. NULL: out of memory. `first`: assigns the indices. */
struct snapshot *build_snapshot(struct slot *slots, size_t slot_count, struct roster *roster, struct roster *accelerators,
                                bool first, struct wall at);
