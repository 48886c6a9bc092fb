/* SPDX-License-Identifier: Apache-2.0
 * Findings on their way to a verdict: from the causes of an explanation, from health, from forecasts and from detectors. The same
 * fact found twice is one finding, with the higher severity.
 */
#pragma once

#include "insight/finding/health.h"
#include "insight/forecast/forecast.h"
#include "model/finding.h"
#include "model/snapshot.h"

struct why;
struct why_part;
struct facts;

struct collection {
    const struct snapshot *now;
    struct verdict *verdict;
    size_t most; /* findings that it has room for */
};

/* Room for a verdict about this snapshot. -ENOMEM. */
int collection_init(struct collection *c, const struct snapshot *now);

/* `gpu` may be NULL: the host. `format` is the headline. */
void collect(struct collection *c, const struct gpu *gpu, enum finding_code code, enum severity severity, double confidence,
             int32_t pid, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* What an explanation found: `part` of the host, or of the GPU that `f` is about. */
void collect_causes(struct collection *c, const struct facts *f, const struct why_part *part);
void collect_symptoms(struct collection *c, const struct facts *f);
void collect_health(struct collection *c, const struct health *health);
void collect_forecast(struct collection *c, const struct forecast *forecast);
/* Which areas of a GPU could be looked at. */
void collect_looked(struct collection *c, size_t position, const struct gpu *gpu);
/* Ranked, and without what another finding says better. The caller's. */
struct verdict *collection_finish(struct collection *c);
