/* SPDX-License-Identifier: Apache-2.0
 * The guard as a part of the daemon: the workers of the configuration, requests, events and counters.
 */
#pragma once

#include "base/json_writer.h"
#include "config/config.h"
#include "engine/engine.h"
#include "insight/fit/capacity.h"
#include "serve/api/part.h"
#include "serve/http/server.h"
#include "store/service.h"

struct guard_part;

struct guard_part *guard_part_new(const struct env *env, struct engine *engine); /* NULL: out of memory */
/* Starts the keepers; a worker with a mistake is told in the log and left out. What happens goes into the history, too (NULL: there
 * is none). */
int guard_part_start(struct guard_part *p, const struct config *config, struct server *server, struct store_service *store);
/* Other settings: workers are changed, added and let go. One with a mistake stays as it was. */
void guard_part_reload(struct guard_part *p, const struct config *config);
void guard_part_sampled(struct guard_part *p, const struct snapshot *s); /* each periodic sample: its events */
void guard_part_stop(struct guard_part *p);                              /* before the engine goes; NULL is fine */
void guard_part_free(struct guard_part *p);                              /* after the server has gone; NULL is fine */

/* The status of the answer, or 0: not one of its routes. */
int guard_part_request(struct guard_part *p, const struct part_request *r, struct buf *out);
void guard_part_health(struct guard_part *p, struct json_writer *j);
size_t guard_part_holds(struct guard_part *p, const struct snapshot *s, struct capacity_hold *list, size_t max);
void guard_part_counts(struct guard_part *p, const struct snapshot *s, uint64_t *evictions_total, int64_t *others);
