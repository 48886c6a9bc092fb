/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the daemon are given, and the list of them.
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
    const struct config *config; /* of the start */
    struct engine *engine;
    struct server *server;       /* NULL while parts are opened */
    struct store_service *store; /* NULL: no history is kept */
    struct part parts[PARTS_MAX];
    size_t count;
};

/* Another part that was opened before; NULL: there is none. */
void *part_find(const struct part_host *host, const struct part_ops *ops);

/* A reload keeps the old settings: /api/health says so until one applies. */
void settings_part_refuse(void *part, const char *why);

extern const struct part_ops log_changes_ops, history_part_ops, usual_part_ops, idle_audit_part_ops, resume_part_ops,
    guard_part_ops, health_part_ops, capacity_part_ops, forecast_part_ops, notify_part_ops, hook_part_ops, settings_part_ops,
    alert_part_ops, push_part_ops, tokens_part_ops, ras_part_ops, pods_part_ops, lease_part_ops;

/* All of them, in the order in which they are opened, started and shown samples; they are closed in reverse. */
extern const struct part_ops *const daemon_parts[];
extern const size_t daemon_part_count;

/* ---- The guard as a part of the daemon: the workers of the configuration, requests, events and counters. A worker with a mistake
 * is logged and left out; at a reload it stays as it was. */

struct guard_part;

/* What its workers hold and could give back. */
size_t guard_part_holds(struct guard_part *p, const struct snapshot *s, struct capacity_hold *list, size_t max);

/* ---- The health of the GPUs. ---- */

struct health;
struct health_part;
/* Good until the part's next sample; NULL: nothing was judged yet. p may be NULL. */
const struct health *health_part_latest(const struct health_part *p);

/* ---- Forecasts. ---- */

struct forecast_part;
/* Until the history reaches its size limit; absent without a trend. p may be NULL. */
struct reading forecast_part_store_seconds(const struct forecast_part *p);

/* ---- What is usual for the GPUs, learned from the history. ---- */

struct usual_part;
/* Good until the part's next sample; NULL: nothing was learned yet. p may be NULL. */
const struct baselines *usual_part_latest(const struct usual_part *p);

/* ---- Notifiers as a part of the daemon: the alerts tell them. Calls are from the loop's thread and never wait. ---- */

struct notify_part;

void notify_part_tell(struct notify_part *p, const struct alert_notice *notice);
/* Everything that fires is told between these two; what is not among it is over. */
void notify_part_roll_begin(struct notify_part *p);
void notify_part_roll_end(struct notify_part *p);

/* ---- Programs that the configuration runs on alerts ([hook.NAME]); also from the loop's thread, and never waits. ---- */

struct hook_part;
void hook_part_tell(struct hook_part *p, const struct alert_notice *notice);

/* ---- The body of a request for silence, as it changes the list. ---- */

/* The status of the answer, whose body is appended; below 300: the silences are other ones now. */
int silence_request(struct silences *silences, struct wall now, const struct part_request *r, struct buf *out);
