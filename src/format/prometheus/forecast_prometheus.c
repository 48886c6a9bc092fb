/* SPDX-License-Identifier: Apache-2.0
 * Series of forecasts.
 */
#include "format/forecast.h"

#include <math.h>

#include "format/prometheus/prometheus.h"

static void forecast_series(struct buf *out, const char *name, const struct forecast_gpu *g, double value)
{
    buf_printf(out, "%s{", name);
    prometheus_id_labels(out, g->gpu_index, &g->id, g->simulated);
    buf_char(out, '}');
    prometheus_value(out, value);
}

static const struct forecast_when *vram_when(const struct forecast_gpu *g)
{
    return &g->vram.when;
}

static const struct forecast_when *heat_when(const struct forecast_gpu *g)
{
    return &g->heat.when;
}

static double seconds_of(const struct forecast_when *w)
{
    return w->verdict == FORECAST_REACHED ? 0 : w->verdict == FORECAST_EXPECTED ? round(w->likely_s * 10) / 10 : NAN;
}

static void gpu_gauge(struct buf *out, const struct forecast *f, const char *name, const char *help,
                      const struct forecast_when *(*when)(const struct forecast_gpu *))
{
    bool head = false;
    for (size_t i = 0; i < f->count; i++) {
        double seconds = seconds_of(when(&f->gpus[i]));
        if (isnan(seconds))
            continue;
        if (!head)
            prometheus_head(out, name, "gauge", help);
        head = true;
        forecast_series(out, name, &f->gpus[i], seconds);
    }
}

void prometheus_forecast(struct buf *out, const struct forecast *f)
{
    gpu_gauge(out, f, "gpu_memory_full_seconds", "Forecast: seconds until memory is full; no series without a trend", vram_when);
    gpu_gauge(out, f, "gpu_throttle_forecast_seconds", "Forecast: seconds until thermal throttling; no series when it stays below",
              heat_when);
    bool head = false;
    for (size_t i = 0; i < f->count; i++) {
        if (isnan(f->gpus[i].heat.final_c) || f->gpus[i].heat.when.verdict == FORECAST_UNKNOWN)
            continue;
        if (!head)
            prometheus_head(out, "gpu_temperature_final_celsius", "gauge",
                            "Forecast: temperature at which the GPU settles under its present load");
        head = true;
        forecast_series(out, "gpu_temperature_final_celsius", &f->gpus[i], round(f->gpus[i].heat.final_c * 10) / 10);
    }
    if (f->has_store && !isnan(seconds_of(&f->store.when))) {
        prometheus_head(out, "whirr_store_full_seconds", "gauge",
                        "Forecast: seconds until the history database reaches its size limit or its disk is full");
        buf_text(out, "whirr_store_full_seconds");
        prometheus_value(out, seconds_of(&f->store.when));
    }
}
