/* SPDX-License-Identifier: Apache-2.0
 * Capacity as a part of the daemon: follows how much memory was free (worker.enable_capacity_tracking), and answers where things
 * fit. All calls are from the loop's thread.
 */
#pragma once

#include "config/config.h"
#include "daemon/guard_part.h"
#include "serve/api/part.h"
#include "store/service.h"

struct capacity_part;

struct capacity_part *capacity_part_new(const struct config *config); /* NULL: out of memory */
/* The last day is taken from the history, where there is one. */
void capacity_part_start(struct capacity_part *p, struct store_service *store);
void capacity_part_set_guard(struct capacity_part *p, struct guard_part *guard);
void capacity_part_reload(struct capacity_part *p, const struct config *config);
void capacity_part_free(struct capacity_part *p); /* NULL is fine */

void capacity_part_sampled(struct capacity_part *p, const struct snapshot *s);
/* The status of the answer, or 0: not one of its routes. */
int capacity_part_request(struct capacity_part *p, const struct part_request *r, struct buf *out);
void capacity_part_metrics(struct capacity_part *p, const struct snapshot *s, struct buf *out);
