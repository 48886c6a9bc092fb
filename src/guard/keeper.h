/* SPDX-License-Identifier: Apache-2.0
 * The inside of a keeper, for the files of this directory: keeper.c (thread), keeper_facts.c (observation), keeper_act.c (action).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/mailbox.h"
#include "guard/find.h"
#include "guard/gate.h"
#include "guard/guard.h"
#include "guard/method.h"

/* Shared by all keepers of a guard. */
struct guard_shared {
    struct guard_options options;
    pthread_mutex_t lock;                   /* guards the fields below */
    const struct keeper *resuming[GPU_MAX]; /* the only one allowed to resume on each GPU: two would restore into the same free
                                             * memory; NULL: none */
    struct claim_identity announced[GUARD_ANNOUNCED_MAX];
    size_t announced_count;
    struct {
        const struct keeper *of; /* NULL: free */
        struct claim_identity pids[CLAIM_WORKER_PIDS];
        size_t count;
    } workers[2 * GUARD_WORKERS_MAX]; /* the current processes of all workers */
};

struct gamemode;

enum { KEEPER_EVENTS_MAX = 32 };

/* What others told a keeper since it last checked. */
struct keeper_inbox {
    enum guard_command command;
    struct guard_spec *spec; /* new settings; NULL: unchanged */
    struct event events[KEEPER_EVENTS_MAX];
    size_t event_count;
};

struct keeper {
    struct guard_shared *shared;
    struct guard_spec *spec;
    const struct env *env;
    pthread_t thread;
    bool started;
    struct mailbox *bell;  /* rings when the inbox has something */
    struct keeper *before; /* the worker's previous keeper, which must end first; NULL: none */

    /* Owned by the thread. */
    struct guard_policy policy;
    struct finder *finder;
    struct gamemode *gamemode;
    struct claim_worker worker;
    struct claim_baseline baseline;
    struct claim claim;
    const struct snapshot *snapshot;
    struct journal journal;
    struct journal_entry entry;
    struct gate *gate; /* NULL: none */
    struct child child;
    bool has_child;
    enum worker_presence presence;
    enum step_result step;
    enum guard_command command;
    bool hot, cool, fault;
    struct mono asked_at;  /* last client request; ns 0: not watched yet */
    uint64_t asked_before; /* number of requests then */
    struct mono health_at;
    int64_t ecc_before[GPU_MAX];
    bool ecc_known[GPU_MAX];
    struct claim_identity self; /* whirr's own process */
    int unsure;                 /* -errno: some process was unreadable in the last look */
    struct mono acted_at;
    char failure[384];   /* the last method that failed, and why */
    struct wall noticed; /* the last fault event */
    bool finishing;      /* resuming the worker as its last action */

    /* Set by others. */
    _Atomic bool ending, abandoned, ended;
    _Atomic bool let_go;  /* no longer configured: people's commands are void */
    struct mailbox *done; /* gets one item when the thread has ended */

    /* Copies for others. */
    pthread_mutex_t lock; /* guards the inbox, too */
    struct keeper_inbox inbox;
    struct guard_status status;
    struct claim_worker shown; /* the worker's processes */
};

/* Takes over `before` (NULL: none), an ending keeper of the same worker, unless it fails. */
struct keeper *keeper_new(struct guard_shared *shared, struct guard_spec *spec, const char *const *command, struct keeper *before,
                          struct error *err);
int keeper_start(struct keeper *k, struct error *err);
void keeper_end(struct keeper *k); /* tells the thread to end, without waiting */
bool keeper_ended(const struct keeper *k);
void keeper_free(struct keeper *k); /* ends the thread first; waits for driver calls, but not forever */
void keeper_take_command(struct keeper *k, enum guard_command command);
void keeper_tell_event(struct keeper *k, const struct event *event); /* from a sample made for another caller */
void keeper_set_spec(struct keeper *k, struct guard_spec *spec);     /* takes over new settings; the gate keeps its address */
void keeper_status(struct keeper *k, struct guard_status *ret);

/* keeper_facts.c */
void keeper_look(struct keeper *k, int64_t max_age_ms);
void keeper_facts(struct keeper *k, struct guard_facts *facts);
void keeper_note_gpus(struct keeper *k); /* records the worker's current GPUs in the entry */
bool keeper_has_room(const struct keeper *k);
void keeper_unreserve(struct keeper *k);                    /* lets others resume on its GPUs */
void keeper_leave_others(struct keeper *k);                 /* other keepers no longer exclude its worker */
int keeper_hottest(const struct keeper *k, int64_t *mdegc); /* the hottest of its GPUs, and its temperature; -1: none readable */
void keeper_notice(struct keeper *k, const struct event *e);

/* keeper_act.c */
void keeper_act(struct keeper *k, enum guard_action action);
/* Handles what an earlier guard left behind. False: unknown for now. */
bool keeper_reconcile(struct keeper *k);
bool keeper_undo_all(struct keeper *k); /* through the methods that acted, in reverse */
bool keeper_acted_through(const struct keeper *k, const char *method);
struct method_context keeper_context(struct keeper *k);

/* keeper_tell.c */
/* Why it leaves the GPU, or is off it. */
void keeper_why(const struct keeper *k, char out[static CLAIM_REASON_SIZE]);
void keeper_tell_change(struct keeper *k, enum guard_state before);
void keeper_tell_freed_late(struct keeper *k);
void keeper_tell_throttle(struct keeper *k);        /* started or ended */
void keeper_tell_end(struct keeper *k, int status); /* a child ended on its own */
void keeper_tell(struct keeper *k, enum guard_event_kind kind, enum guard_state before, const char *format, ...)
    __attribute__((format(gnu_printf, 4, 5)));
void keeper_problem(struct keeper *k, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
void keeper_problem_over(struct keeper *k, const char *begin); /* stops showing the problem that starts like this */
