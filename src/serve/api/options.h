/* SPDX-License-Identifier: Apache-2.0
 * What a server is told at its start and at a reload.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "format/prometheus/prometheus.h"
#include "http/site.h"

struct server_options {
    struct engine *engine;
    const struct env *env;
    struct site_options site;

    int64_t interval_ms;       /* of the sampler, for what clients are told */
    int64_t max_age_ms;        /* of a sample that still counts as fresh */
    double high_usage_percent; /* above it high_gpu_usage_alert is sent */
    double price_per_kwh;      /* for reports; 0: not known */
    char currency[16];
    bool fleet;   /* there is a page of all hosts */
    bool mcp;     /* assistants may ask */
    bool control; /* clients with that role may change settings of GPUs */
    struct prometheus_options metrics;
};
