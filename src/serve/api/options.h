/* SPDX-License-Identifier: Apache-2.0
 * Options of a server, from its start or a reload.
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

    int64_t interval_ms;       /* of the sampler, to report to clients */
    int64_t max_age_ms;        /* of a sample that still counts as fresh */
    double high_usage_percent; /* threshold of high_gpu_usage_alert */
    double price_per_kwh;      /* for reports; 0: unknown */
    double co2_g_per_kwh;      /* likewise */
    char co2_file[256];        /* by hour; "": none */
    char currency[16];
    bool fleet;   /* there is a page of all hosts */
    bool mcp;     /* assistants may query */
    bool control; /* clients with that role may change GPU settings */
    struct prometheus_options metrics;
};
