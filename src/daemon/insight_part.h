/* SPDX-License-Identifier: Apache-2.0
 * Insight as a part of the daemon: what is known about the GPUs beyond the sample (health, forecast, capacity), kept up to date
 * with every periodic sample. All calls are from the loop's thread.
 */
#pragma once

#include "alert/facts.h"
#include "base/env.h"
#include "config/config.h"
#include "serve/api/part.h"
#include "serve/http/server.h"

struct insight_part;

struct insight_part *insight_part_new(const struct env *env, const struct config *config); /* NULL: out of memory */
/* Before the first sample. What changes goes to clients and into the history (NULL: there is none). */
void insight_part_start(struct insight_part *p, struct server *server, struct store_service *store);
/* Whose workers could give memory back. */
struct guard_part;
void insight_part_set_guard(struct insight_part *p, struct guard_part *guard);
void insight_part_reload(struct insight_part *p, const struct config *config);
void insight_part_free(struct insight_part *p); /* NULL is fine */

void insight_part_sampled(struct insight_part *p, const struct snapshot *s);
/* What alert rules may ask about the sample; what is not known stays absent. */
void insight_part_facts(struct insight_part *p, struct alert_facts *facts);
/* The status of the answer, or 0: not one of its routes. */
int insight_part_request(struct insight_part *p, const struct part_request *r, struct buf *out);
void insight_part_metrics(struct insight_part *p, const struct snapshot *s, struct buf *out);
