/* SPDX-License-Identifier: Apache-2.0
 * Forecasts as a part of the daemon: made anew with every periodic sample, from what it remembers itself.
 */
#pragma once

#include "alert/facts.h"
#include "base/env.h"
#include "config/config.h"
#include "serve/api/part.h"
#include "store/service.h"

struct forecast_part;

struct forecast_part *forecast_part_new(const struct env *env, const struct config *config); /* NULL: out of memory */
void forecast_part_start(struct forecast_part *p, struct store_service *store);
void forecast_part_reload(struct forecast_part *p, const struct config *config);
void forecast_part_free(struct forecast_part *p); /* NULL is fine */

void forecast_part_sampled(struct forecast_part *p, const struct snapshot *s);
void forecast_part_facts(struct forecast_part *p, struct alert_facts *facts);
int forecast_part_request(struct forecast_part *p, const struct part_request *r, struct buf *out);
void forecast_part_metrics(struct forecast_part *p, struct buf *out);
