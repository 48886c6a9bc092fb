/* SPDX-License-Identifier: Apache-2.0
 * Feeds what the samples show to health, forecast and capacity, and answers for them.
 */
#include "daemon/insight_part.h"

#include <stdlib.h>

#include "daemon/capacity_part.h"
#include "daemon/forecast_part.h"
#include "daemon/health_part.h"
#include "format/prometheus/prometheus.h"

struct insight_part {
    const struct env *env;
    const struct config *config;
    struct server *server;
    struct store_service *store; /* NULL: no history is kept */
    struct health_part *health;
    struct capacity_part *capacity;
    struct forecast_part *forecast;
};

struct insight_part *insight_part_new(const struct env *env, const struct config *config)
{
    struct insight_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (struct insight_part){.env = env,
                               .config = config,
                               .health = health_part_new(env),
                               .capacity = capacity_part_new(config),
                               .forecast = forecast_part_new(env, config)};
    if (p->health && p->capacity && p->forecast)
        return p;
    insight_part_free(p);
    return NULL;
}

void insight_part_start(struct insight_part *p, struct server *server, struct store_service *store)
{
    p->server = server;
    p->store = store;
    health_part_start(p->health, server, store);
    capacity_part_start(p->capacity, store);
    forecast_part_start(p->forecast, store);
}

void insight_part_set_guard(struct insight_part *p, struct guard_part *guard)
{
    capacity_part_set_guard(p->capacity, guard);
}

void insight_part_reload(struct insight_part *p, const struct config *config)
{
    p->config = config;
    capacity_part_reload(p->capacity, config);
    forecast_part_reload(p->forecast, config);
}

void insight_part_free(struct insight_part *p)
{
    if (p) {
        health_part_free(p->health);
        capacity_part_free(p->capacity);
        forecast_part_free(p->forecast);
    }
    free(p);
}

void insight_part_sampled(struct insight_part *p, const struct snapshot *s)
{
    health_part_sampled(p->health, s);
    capacity_part_sampled(p->capacity, s);
    forecast_part_sampled(p->forecast, s);
}

void insight_part_facts(struct insight_part *p, struct alert_facts *facts)
{
    health_part_facts(p->health, facts);
    forecast_part_facts(p->forecast, facts);
}

int insight_part_request(struct insight_part *p, const struct part_request *r, struct buf *out)
{
    int status = health_part_request(p->health, r, out);
    if (!status)
        status = capacity_part_request(p->capacity, r, out);
    return status ? status : forecast_part_request(p->forecast, r, out);
}

void insight_part_metrics(struct insight_part *p, const struct snapshot *s, struct buf *out)
{
    health_part_metrics(p->health, out);
    capacity_part_metrics(p->capacity, s, out);
    forecast_part_metrics(p->forecast, out);
}
