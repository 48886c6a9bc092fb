/* SPDX-License-Identifier: Apache-2.0
 * Alerts as a part of the daemon: rules are judged with every periodic sample, after insight has looked at it; whoever is to hear
 * of it does. All calls are from the loop's thread.
 */
#pragma once

#include "alert/facts.h"
#include "base/env.h"
#include "config/config.h"
#include "serve/api/part.h"
#include "serve/http/server.h"

struct alert_part;

struct alert_part *alert_part_new(const struct env *env, const struct config *config); /* NULL: out of memory */
/* Before the first sample. What changes goes to clients and into the history (NULL: there is none). */
void alert_part_start(struct alert_part *p, struct server *server, struct store_service *store);
void alert_part_reload(struct alert_part *p, const struct config *config);
void alert_part_free(struct alert_part *p); /* NULL is fine */

/* `facts` is changed: what the daemon knows about itself is filled in. */
void alert_part_sampled(struct alert_part *p, const struct snapshot *s, struct alert_facts *facts);
/* The status of the answer, or 0: not one of its routes. */
int alert_part_request(struct alert_part *p, const struct part_request *r, struct buf *out);
void alert_part_metrics(struct alert_part *p, const struct snapshot *s, struct buf *out);
