/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the daemon are given, and the list of them.
 */
#pragma once

#include "base/env.h"
#include "config/config.h"
#include "engine/engine.h"
#include "serve/api/part.h"
#include "serve/http/exchange.h"
#include "serve/http/server.h"
#include "store/service.h"

#define PART_JSON "application/json"

enum { PARTS_MAX = 16 };

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

extern const struct part_ops log_changes_ops, history_part_ops, guard_part_ops, health_part_ops, capacity_part_ops,
    forecast_part_ops, notify_part_ops, alert_part_ops;

/* All of them, in the order in which they are opened, started and shown samples; they are closed in reverse. */
extern const struct part_ops *const daemon_parts[];
extern const size_t daemon_part_count;
