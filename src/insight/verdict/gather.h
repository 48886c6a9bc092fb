/* SPDX-License-Identifier: Apache-2.0
 * What is judged elsewhere, on its way into the one list of findings: the causes of an explanation, health, forecasts.
 */
#pragma once

#include "insight/area/collect.h"
#include "insight/area/health.h"
#include "insight/area/part.h"
#include "insight/facts/facts.h"
#include "insight/forecast/forecast.h"

/* `part` of the host (`f` is NULL), or of the GPU that `f` is about. */
void gather_causes(struct collection *c, const struct facts *f, const struct why_part *part);
void gather_health(struct collection *c, const struct health *health);
void gather_forecast(struct collection *c, const struct forecast *forecast);
/* Which areas of a GPU could be looked at. */
void gather_looked(struct collection *c, size_t position, const struct gpu *gpu, bool log_unread);
