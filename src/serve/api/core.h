/* SPDX-License-Identifier: Apache-2.0
 * The server's internals, for its handlers.
 */
#pragma once

#include "base/clock.h"
#include "http/site.h"
#include "serve/api/cpu_samples_api.h"
#include "serve/api/history_api.h"
#include "serve/api/options.h"
#include "serve/api/release.h"
#include "serve/api/settings_api.h"
#include "serve/data/data.h"
#include "serve/data/part.h"
#include "serve/live/live.h"

enum { SERVER_WATCHES_MAX = 8 };

struct server {
    struct server_options options;
    struct server_parts parts;
    struct site site;
    struct data data;
    struct broadcast live;
    struct release release;
    struct cpu_samples cpu_samples;
    struct setting_errand setting;
    struct history history;
    struct blob *openapi;                      /* created on first use */
    json_t *parameters;                        /* of openapi_parameters(), created on first use */
    struct watch *watches[SERVER_WATCHES_MAX]; /* the daemon's signals and timers */
    size_t watch_count;
    struct watch *stop_timer;
    int64_t stop_at_ms;
    struct mono started;
};

/* The parts have their own tables. */
extern const struct route server_routes[];
extern const size_t server_route_count;
/* The routes of the server and its parts, and the embedded files. */
extern const struct site_ops server_site_ops;
