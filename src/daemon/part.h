/* SPDX-License-Identifier: Apache-2.0
 * The context of the daemon's parts, and the list of them.
 */
#pragma once

#include "alert/notify/notify.h"
#include "alert/silence.h"
#include "base/buf.h"
#include "base/env.h"
#include "base/str.h"
#include "config/config.h"
#include "engine/engine.h"
#include "http/exchange.h"
#include "insight/fit/capacity.h"
#include "serve/data/part.h"
#include "serve/server.h"
#include "store/service/service.h"

#define PART_JSON "application/json"

enum { PARTS_MAX = 24 };

struct part_host {
    const struct env *env;
    const struct config *config; /* from the start */
    struct engine *engine;
    struct server *server;       /* NULL while parts are opened */
    struct store_service *store; /* NULL: no history is recorded */
    const char *simulated;       /* the source whose GPUs are simulated; NULL: none */
    struct part parts[PARTS_MAX];
    size_t count;
};

/* Another part that was opened before, or NULL. */
void *part_find(const struct part_host *host, const struct part_ops *ops);

/* Records that a reload was refused: /api/health says so until one succeeds. */
void settings_part_refuse(void *part, const char *why);

extern const struct part_ops log_changes_ops, history_part_ops, usual_part_ops, idle_audit_part_ops, resume_part_ops,
    guard_part_ops, health_part_ops, capacity_part_ops, forecast_part_ops, notify_part_ops, hook_part_ops, settings_part_ops,
    alert_part_ops, push_part_ops, tokens_part_ops, ras_part_ops, pods_part_ops, lease_part_ops, places_part_ops, remedy_part_ops,
    undo_part_ops;

/* All parts, in the order of opening, starting and sampling; they are closed in reverse. */
extern const struct part_ops *const daemon_parts[];
extern const size_t daemon_part_count;

/* ---- The history: settings become a running service. ---- */

struct history_part;
struct store_limits history_limits(const struct config *config);
/* NULL: disabled, or not available. */
struct store_service *history_part_service(const struct history_part *p);
/* Call between stopping the engine, which fills it, and the server, which waits for its answers. NULL is fine. */
void history_part_end(struct history_part *p);

/* ---- history_part.c: what a part learns from the history. A reader's thread finds it, and the part takes it with a later sample.
 * ----
 */

struct recall {
    struct store_question question;
    int (*find)(struct recall *r, struct store *s, struct error *err); /* in a reader's thread; may run again, from the start */
    void (*done)(struct recall *r);                                    /* frees what was found; NULL: nothing to free */
    char host[HOST_NAME_SIZE];
    struct wall until; /* the time of the sample with which it was asked */
    _Atomic int refs;  /* the part and the reader */
    _Atomic bool over; /* from then on what was found is the part's */
    int rc;            /* of `find`, or why it was not called */
};
/* The first member of a struct on the heap. False: the history can't be asked now; it is freed. */
bool recall_ask(struct recall *r, struct store_service *store, const struct snapshot *s);
bool recall_is_over(const struct recall *r); /* NULL is not */
void recall_unref(struct recall *r);         /* NULL is fine */

/* ---- The guard as a part of the daemon: the configured workers, requests, events and counters. A misconfigured worker is
 * logged and left out; at a reload it stays as it was. */

struct guard_part;

/* The memory that its workers hold and could give back. */
size_t guard_part_holds(struct guard_part *p, const struct snapshot *s, struct capacity_hold *list, size_t max);

/* ---- The health of the GPUs. ---- */

struct health;
struct health_part;
/* Valid until the part's next sample; NULL: nothing was judged yet. p may be NULL. */
const struct health *health_part_latest(const struct health_part *p);
struct undo_list;
/* Adds the GPUs that were forgotten. p may be NULL. */
/* `only`: of that GPU; NULL: of all. */
void health_part_undo(struct health_part *p, const struct gpu *only, struct undo_list *list);
/* A forgotten GPU has to be there again. 0 or -errno. */
int health_part_expect(struct health_part *p, const char *which, const char *by);

/* ---- Forecasts. ---- */

struct forecast_part;
/* Time until the history reaches its size limit; absent without a trend. p may be NULL. */
struct reading forecast_part_store_seconds(const struct forecast_part *p);

/* ---- Usual values of the GPUs, learned from the history. ---- */

struct usual_part;
/* Valid until the part's next sample; NULL: nothing was learned yet. p may be NULL. */
const struct baselines *usual_part_latest(const struct usual_part *p);

/* ---- Notifiers as a part of the daemon: alerts call them from the loop's thread; calls never block. ---- */

struct notify_part;

void notify_part_tell(struct notify_part *p, const struct alert_notice *notice);
/* Between these two, everything that fires is sent again; all other alerts are over. */
void notify_part_roll_begin(struct notify_part *p);
void notify_part_roll_end(struct notify_part *p);

/* ---- Programs that the configuration runs on alerts ([hook.NAME]); also called from the loop's thread, never blocks. ---- */

struct hook_part;
void hook_part_tell(struct hook_part *p, const struct alert_notice *notice);

/* ---- Leases: what holds of settings and reservations, and the end of a reservation. ---- */

struct lease_part;
struct undo_list;
void lease_part_undo(struct lease_part *p, const struct snapshot *latest, const struct gpu *only, struct undo_list *list);
int lease_part_end(struct lease_part *p, const char *id, struct error *err);

/* ---- Remedies: settings that are put back. ---- */

struct remedy_part;
struct undo_entry;
/* Queues it. -EBUSY: too many. */
int remedy_part_put_back(struct remedy_part *p, const struct undo_entry *e, struct error *err);

/* ---- Silences. ---- */

struct alert_part;
const struct silences *alert_part_silences(const struct alert_part *p); /* NULL: none */
bool alert_part_unsilence(struct alert_part *p, const char *id);
