/* SPDX-License-Identifier: Apache-2.0
 * Forecasts for people, programs and Prometheus. `only`: the position of one GPU, or ALL_GPUS.
 */
#pragma once

#include "base/json_writer.h"
#include "insight/forecast/forecast.h"

struct page;

/* What a forecast rests on. */
struct forecast_basis {
    const char *host;
    bool simulated;
    bool remembered; /* by a daemon */
    double watched_s;
};

/* GET /api/forecast, `whirr forecast --json`. */
void json_forecast(struct json_writer *j, const struct forecast *f, const struct forecast_basis *basis, int only);
/* The same backwards; NULL when it is something else, or memory is out. The host's name is left out. */
struct forecast *forecast_from_json(struct str text, struct forecast_basis *ret);

/* A line for each GPU and kind: what, when, at what time (with the interval), why. */
void table_forecast(struct buf *out, const struct page *page, const struct forecast *f, const struct forecast_basis *basis,
                    int only);
/* One sentence about all of it: the soonest, or that nothing points anywhere. */
void forecast_answer(const struct forecast *f, int only, char *text, size_t size);

/* Only what has a time has a series. */
void prometheus_forecast(struct buf *out, const struct forecast *f);
