/* SPDX-License-Identifier: Apache-2.0
 * The daemon's network side: listens, answers, and broadcasts the engine's samples. Runs in the thread that calls server_run().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/engine.h"
#include "format/prometheus/prometheus.h"
#include "http/site.h"
#include "serve/data/part.h"
#include "serve/live/batch.h"

struct server;

/* From its start or a reload. */
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

/* Opens the sockets; server_run() begins to answer. The options' texts must outlive the server. */
int server_new(const struct server_options *options, const struct server_parts *parts, struct server **ret, struct error *err);
/* Waits for helpers that use the engine: call before engine_free(). NULL is fine. */
void server_end_work(struct server *s);
void server_free(struct server *s);

/* Runs until server_stop(). */
void server_run(struct server *s);
/* Notifies the clients and ends server_run() within a second. Call it in the loop's thread: from a callback. */
void server_stop(struct server *s);
/* Callbacks in the loop: on a signal, whenever a descriptor is readable, periodically. At most 8 in total. */
int server_on_signal(struct server *s, int signal, void (*callback)(void *user), void *user);
int server_on_readable(struct server *s, int fd, void (*callback)(void *user), void *user);
int server_on_timer(struct server *s, int64_t every_ms, void (*callback)(void *user), void *user);

/* Sends an event of this kind to all clients; `data` is JSON. In the loop's thread. */
void server_announce(struct server *s, enum topic topic, struct str data);

/* The newest sample and what is made from it (serve/data/data.h). In the loop's thread. */
struct data;
struct data *server_data(struct server *s);

/* Applies settings that can change while running; reloads certificates and tokens. Sets err to what failed, but applies the
   rest. */
int server_reload(struct server *s, const struct server_options *options, struct error *err);

/* The addresses it actually listens on; NULL after the last. */
const char *server_address(const struct server *s, size_t which);
size_t server_clients(const struct server *s);
