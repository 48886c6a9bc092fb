/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of the engine: its state, and the steps of the coordinator, the one thread that owns it.
 *
 *   engine.c        the public side: puts messages into the inbox
 *   coordinator.c   takes them out, one at a time; rounds, from the first question to the publication
 *   worker.c        a source on its own thread
 *   slot.c          a source as the coordinator sees it, and when to leave it alone
 *   expect.c        GPUs that should be there
 *   build.c         which GPU has which index; from the sources' results to one snapshot
 *   host_look.c     what GPU programs do on their host
 */
#pragma once

#include <pthread.h>

#include "base/mailbox.h"
#include "engine/engine.h"
#include "host/machine.h"
#include "insight/verdict/judge.h"
#include "source/source.h"

/* ---- worker.c: a source on its own thread. Jobs go in, results come out; the thread may hang in a driver without delaying other
 * sources. ---- */

struct worker;

/* The first member of everything in the coordinator's mailbox. */
enum message_kind {
    MESSAGE_RESULT,
    MESSAGE_REQUEST,
    MESSAGE_SUBSCRIBE,
    MESSAGE_INTERVAL,
    MESSAGE_RELEASE,
    MESSAGE_DESCRIBE,
    MESSAGE_FORGET,
    MESSAGE_END_WAITS,
    MESSAGE_STOP
};
struct message {
    enum message_kind kind;
};

enum job_kind { JOB_SAMPLE, JOB_CLOSE, JOB_DESCRIBE, JOB_STOP };

struct result {
    struct message message_base;
    size_t slot; /* which worker */
    enum job_kind kind;
    unsigned groups; /* read in this job */
    unsigned known;  /* read in this job or kept from earlier */
    bool open;       /* the source is open now */
    int rc;          /* 0, or why the source could not be opened or read */
    char message[SOURCE_MESSAGE_SIZE];
    struct driver_info driver;
    struct host host;                /* of a source that describes its own */
    struct event events[EVENTS_MAX]; /* gpu_index: position in this source's list */
    size_t event_count;
    unsigned implausible; /* impossible readings */
    char *description;    /* JOB_DESCRIBE: heap text */
    size_t gpu_count;
    struct gpu gpus[];
};

void result_free(struct result *r);

/* The thread puts its struct result * into `results`. NULL: out of memory or threads. */
struct worker *worker_new(const struct env *env, const struct source_ops *ops, const char *params, bool show_secrets, size_t slot,
                          struct mailbox *results);
void worker_ask(struct worker *w, enum job_kind kind, unsigned groups);
/* After JOB_STOP: waits until the source is closed and the thread has ended. False: timeout; the thread is abandoned with its
 * memory and the result mailbox. Accepts NULL. */
bool worker_free(struct worker *w, int64_t timeout_ms);

/* ---- slot.c: when to leave a failing source alone. Pure: state in, state out.
 *
 *   closed ──more than 10 failures in a row──▶ open (set aside) ──pause over──▶ one try ──fails──▶ open, pause doubled
 *      ▲                                                              │
 *      └───────────────────────────────── success ────────────────────┘
 * ---- */

enum { BREAKER_FAILURES_MAX = 10, BREAKER_PAUSE_FIRST_MS = 5000, BREAKER_PAUSE_LONGEST_MS = 300000 };

struct breaker {
    uint32_t failures_in_a_row;
    int64_t pause_ms; /* of the current suspension; 0: not suspended */
    struct mono until;
};

void breaker_success(struct breaker *b);
void breaker_failure(struct breaker *b, struct mono now);
/* A source that failed to start: suspended at the first failure. */
void breaker_start_failure(struct breaker *b, struct mono now);
bool breaker_may_try(const struct breaker *b, struct mono now);
static inline bool breaker_set_aside(const struct breaker *b)
{
    return b->pause_ms > 0;
}

/* ---- slot.c: a chosen source as the coordinator sees it: its worker, state, failures, and last result ---- */

struct slot {
    const struct source_ops *ops;
    char params[640];
    bool by_name; /* requested with --source: never yields to another source */
    struct worker *worker;
    struct source_status status;
    struct breaker breaker;
    bool busy;
    bool describing; /* its current job */
    bool open;
    struct mono asked;
    struct result *result; /* for the round in progress; NULL: none */
    struct driver_info driver;
    struct host host; /* of a source that describes its own */
    unsigned known;
    bool presence_known; /* `presence` is that of its GPUs at the last check */
    uint64_t presence;
};

/* Chooses from names of the form "NAME[:PARAMETERS]"; none: the automatic sources. Returns their number, or -EINVAL. */
int slots_choose(struct slot *slots, size_t max, const char *const *names, size_t count, struct error *err);

/* Whether it may be asked now. A fallback waits until its primary is known not to work. */
bool slot_wanted(const struct slot *slots, size_t count, size_t which, struct mono now);

/* Checks whether GPUs of suspended sources came or went: then such a source may be asked at once. Sources that look in the same
 * place share one look. `again`: only those that were suspended since the last check. */
void slots_check_presence(struct slot *slots, size_t count, const struct env *env, struct mono now, bool again);

/* Applies the worker's result: state, counters, driver; keeps the result. */
void slot_answered(struct slot *s, struct result *r, struct mono now);
/* Call on the first timeout, and again with each sample so that the reported time is current. */
void slot_hung(struct slot *s, struct mono now);

/* ---- build.c: which GPU has which index. An index is assigned once and kept while the program runs, even if the GPU is lost:
 * NVIDIA first in NVML's order, then the others by PCI address; later GPUs go to the end; one that returns gets its old index, and
 * one that was put into the slot of another gets that one's. ----
 */

struct roster_entry {
    struct gpu_id id;
    size_t slot;                 /* the source that reads it */
    size_t position;             /* in that source's list */
    bool present;                /* in the sample being built */
    bool lost;                   /* in the last sample: stays set until it answers again */
    bool forgotten;              /* taken out: not listed, and its index stays free until it returns */
    enum gpu_state unseen;       /* never listed by a source: its assumed state; GPU_OK: listed */
    char reason[GPU_ERROR_SIZE]; /* why it was lost */
};

struct roster {
    size_t count;
    struct roster_entry entries[GPU_MAX];
};

/* Call before placing the GPUs of a new sample. */
void roster_begin(struct roster *r);
/* Finds or assigns the index of a GPU; -1: it is in this sample already, or the roster is full. */
int roster_place(struct roster *r, const struct gpu_id *id, size_t slot, size_t position);
/* Lists an expected GPU, absent until a source places it. Goes last in its source. NULL: already listed, or the roster is full. */
struct roster_entry *roster_expect(struct roster *r, const struct gpu_id *id, size_t slot);
/* Assigns the indices in the documented order. Call once, for the very first sample, before it is published. */
void roster_sort(struct roster *r);

/* ---- host_look.c: what GPU programs do on their host, read during a round. A file in /proc may hang together with its process (a
 * memory lock, an unresponsive file system): a separate thread reads, and a round continues without it.
 *
 *   coordinator ──struct look_job──▶ thread: host/evidence ──struct look_answer──▶ coordinator: into the snapshot
 * ---- */

struct host_look;

struct host_look *host_look_new(const struct env *env); /* starts no thread; NULL: out of memory */
/* Ends the thread within `timeout_ms`. True: it hung, and was abandoned with its memory. Accepts NULL. */
bool host_look_free(struct host_look *h, int64_t timeout_ms);

/* Examines likely programs while a one-shot command queries the drivers: what they do meanwhile is part of the answer. */
void host_look_prepare(struct host_look *h);
/* For each process that leaves its GPU waiting, adds what it does on the host. `is_here[i]`: GPU i belongs to this host, neither
 * simulated nor recorded. `quick`: for a single look. */
void host_look_add(struct host_look *h, struct snapshot *s, const bool *is_here, bool quick);

/* ---- the engine ---- */

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
    bool waited_on; /* waits for its second round: accepts any result */
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
    _Atomic int64_t fresh_until; /* ns; set by engine_keep_fresh() */
    _Atomic(struct ask *) spare; /* for callers that can't allocate one */

    pthread_mutex_t latest_lock; /* guards only `latest`, which every thread may read */
    const struct snapshot *latest;

    pthread_mutex_t judge_lock; /* guards the judge, to which others add knowledge */
    struct judge *judge;
    struct fault_log *faults; /* of the kernel log, for the judge */

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
    unsigned inventory; /* the state of the judge's inventory that the roster follows */
    struct cadence cadence;
    struct machine *machine;
    struct host_look *host_look; /* examines the programs on GPUs */
    int64_t asleep_ns;           /* how long the host has slept since boot, at the last periodic sample */
    int64_t suspended_ms;        /* the part of it not yet in a snapshot */
    uint64_t sequence;
    bool round_active, round_periodic;
    unsigned round_groups;
    struct host round_host;
    uint64_t host_implausible_total; /* its impossible readings */
    struct waiter waiters[WAITERS_MAX];
    size_t waiter_count;
    struct mailbox *subscribers[SUBSCRIBERS_MAX];
    size_t subscriber_count;
    bool released;
    struct mono released_until;
    struct replies releasing;                /* waiting until all sources are closed */
    struct event pending_events[EVENTS_MAX]; /* from samples for requests */
    size_t pending_count;
    struct replies describing; /* waiting for the description in progress */
    struct buf description;
    size_t descriptions_missing;
    bool waits_ended; /* callers no longer wait: engine_end_waits() */
};

static inline struct mono engine_now(const struct engine *e)
{
    return clock_mono(e->env->clock);
}

/* How long to wait for the answer of a source. */
static inline int64_t engine_patience_ms(const struct engine *e, const struct slot *s)
{
    return s->open ? e->hung_after_ms : e->start_ms;
}

/* ---- coordinator.c ---- */

void *coordinator_run(void *engine); /* the thread function */
/* How long the host has slept since boot, from two clocks that are read within a second: on a busy host, a thread may be delayed
 * between them. */
int64_t sample_round_asleep_ns(const struct clock *clock);

/* ---- engine.c ---- */

void ask_free(struct engine *e, struct ask *a); /* keeps it as the spare message */

/* ---- expect.c ---- */

/* Before the GPUs of a round are placed: adds the expected ones to the roster. */
void expect_gpus(struct engine *e);
/* Around the reading of the host: InfiniBand ports are remembered beside the GPUs. */
void expect_ports(struct engine *e);
void learn_ports(struct engine *e);

/* ---- build.c: from the sources' results to one snapshot ---- */

/* Moves the GPUs out of the slots' results. NULL: out of memory. `first`: assigns the indices. */
struct snapshot *build_snapshot(struct slot *slots, size_t slot_count, struct roster *roster, struct roster *accelerators,
                                bool first, struct wall at);
