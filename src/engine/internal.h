/* SPDX-License-Identifier: Apache-2.0
 * What the files of the engine share: its state, and the steps of the coordinator, the one thread that owns it.
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
#include "insight/judge/judge.h"

enum { INBOX_SIZE = 1024, WAITERS_MAX = INBOX_SIZE, SUBSCRIBERS_MAX = 8 };

struct ask {
    struct message base;
    unsigned groups;
    int64_t number; /* max age, interval or release time, in ms */
    struct mailbox *mailbox;
};

struct waiter {
    struct mailbox *reply;
    unsigned groups;
    bool waited_on; /* for a second round already: takes what comes */
};

/* Who waits for the same answer. */
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
    _Atomic(struct ask *) spare;  /* for a caller without memory for its own */

    pthread_mutex_t latest_lock; /* guards `latest` alone: a pointer that every thread may read */
    const struct snapshot *latest;

    pthread_mutex_t judge_lock; /* guards the judge, whose memory others add to */
    struct judge *judge;
    struct fault_log *faults; /* of the kernel log, for the judge */

    pthread_mutex_t annotate_lock; /* guards these two */
    struct annotate {
        engine_annotate_fn *run;
        void *user;
    } annotates[ENGINE_ANNOTATES_MAX];
    size_t annotate_count;

    /* Of the coordinator alone. */
    int64_t interval_ms;
    struct mono next_periodic;
    struct slot slots[SOURCES_MAX];
    size_t slot_count;
    struct roster roster, accelerators;
    size_t cards_expected; /* so many of those that the judge remembers are in the roster */
    struct cadence cadence;
    struct machine *machine;
    struct host_look *host_look; /* at the programs on GPUs */
    int64_t asleep_ns;           /* what the host has slept since its start, as of the last periodic sample */
    int64_t suspended_ms;        /* of that, what no snapshot has said yet */
    uint64_t sequence;
    bool round_active, round_periodic;
    unsigned round_groups;
    struct mono round_start;
    struct host round_host;
    uint64_t host_implausible_total; /* readings of it that could not be true */
    struct waiter waiters[WAITERS_MAX];
    size_t waiter_count;
    struct mailbox *subscribers[SUBSCRIBERS_MAX];
    size_t subscriber_count;
    bool released;
    struct mono released_until;
    struct replies releasing;                /* wait until all sources are closed */
    struct event pending_events[EVENTS_MAX]; /* found in samples that were taken for requests */
    size_t pending_count;
    struct replies describing; /* wait for the description under way */
    struct buf description;
    size_t descriptions_missing;
    bool waits_ended; /* callers are not kept waiting any more */
};

static inline struct mono engine_now(const struct engine *e)
{
    return clock_mono(e->env->clock);
}

/* How long a source is waited for. */
static inline int64_t engine_patience_ms(const struct engine *e, const struct slot *s)
{
    return s->open ? e->hung_after_ms : e->start_ms;
}

/* ---- sample_round.c ---- */

/* Asks every source that is wanted; the snapshot is published when all have answered or one hangs. */
void sample_round_start(struct engine *e, unsigned groups, bool periodic);
void sample_round_periodic(struct engine *e); /* starts one if the interval is over */

/* What the host has slept since its start, by two clocks that are read within a second: who is kept waiting between them, on a busy
 * host, has not slept. */
int64_t sample_round_asleep_ns(const struct clock *clock);
void sample_round_ask_slots(struct engine *e);
void sample_round_end_if_done(struct engine *e);
void sample_round_give_up_hung(struct engine *e);
/* coordinator.c: a source that hangs while it describes itself is left out of the description. */
void description_without(struct engine *e, struct slot *s);
bool engine_source_busy(const struct engine *e);

/* ---- engine.c ---- */

void ask_free(struct engine *e, struct ask *a); /* kept as the spare one, where that is gone */

/* ---- coordinator.c ---- */

void *coordinator_run(void *engine); /* the thread */

/* ---- expect.c ---- */

/* Before the GPUs of a round are placed: puts those that should be there into the roster. */
void expect_gpus(struct engine *e);

/* ---- From the results of the sources to one snapshot. ---- */

/* Takes the GPUs out of the slots' results. NULL when memory is out. `first`: the indices are given now. */
struct snapshot *build_snapshot(struct slot *slots, size_t slot_count, struct roster *roster, struct roster *accelerators,
                                bool first, struct wall at);
