/* SPDX-License-Identifier: Apache-2.0
 * Forecasts for people, programs and Prometheus. `only`: the position of one GPU, or ALL_GPUS.
 */
#pragma once

#include "answer/answer.h"
#include "insight/forecast/forecast.h"

struct page;

/* The basis of a forecast. */
struct forecast_basis {
    const char *host;
    bool simulated;
    bool remembered; /* by a daemon */
    double watched_s;
};

extern const struct answer forecast_answers;
/* GET /api/forecast, `whirr forecast --json`. */
void json_forecast(struct json_writer *j, const struct forecast *f, const struct forecast_basis *basis, int only);
/* Parses it; NULL if it is something else, or out of memory. Skips the host's name. */
struct forecast *forecast_from_json(struct str text, struct forecast_basis *ret);

/* A line per GPU and kind: what, when, at what time (with the interval), why. */
void table_forecast(struct buf *out, const struct page *page, const struct forecast *f, const struct forecast_basis *basis,
                    int only);
/* Summarizes it in one sentence: the soonest event, or that there is none. */
void forecast_answer(const struct forecast *f, int only, char *text, size_t size);

/* Only forecasts with a time become series. */
void prometheus_forecast(struct buf *out, const struct forecast *f);
