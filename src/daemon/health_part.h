/* SPDX-License-Identifier: Apache-2.0
 * Health as a part of the daemon: judged with every sample, remembered over restarts, told to clients, history and alerts.
 */
#pragma once

#include "alert/facts.h"
#include "base/env.h"
#include "serve/api/part.h"
#include "serve/http/server.h"

struct health_part;

struct health_part *health_part_new(const struct env *env); /* NULL: out of memory */
void health_part_start(struct health_part *p, struct server *server, struct store_service *store);
void health_part_free(struct health_part *p); /* NULL is fine */

void health_part_sampled(struct health_part *p, const struct snapshot *s);
void health_part_facts(struct health_part *p, struct alert_facts *facts);
int health_part_request(struct health_part *p, const struct part_request *r, struct buf *out);
void health_part_metrics(struct health_part *p, struct buf *out);
