/* SPDX-License-Identifier: Apache-2.0
 * Judges the rules with every sample, keeps their state, and answers for them.
 */
#include "cli/alert_part.h"

#include <stdlib.h>

#include "cli/notify_part.h"
#include "format/prometheus.h"

struct alert_part {
    const struct env *env;
    const struct config *config;
    struct server *server;
    struct store_service *store; /* NULL: no history is kept */
    struct notify_part *notify;  /* who is to hear of it: notify_part_tell() */
};

struct alert_part *alert_part_new(const struct env *env, const struct config *config)
{
    struct alert_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (struct alert_part){.env = env, .config = config, .notify = notify_part_new(env, config)};
    if (p->notify)
        return p;
    alert_part_free(p);
    return NULL;
}

void alert_part_start(struct alert_part *p, struct server *server, struct store_service *store)
{
    p->server = server;
    p->store = store;
}

void alert_part_reload(struct alert_part *p, const struct config *config)
{
    p->config = config;
    notify_part_reload(p->notify, config);
}

void alert_part_free(struct alert_part *p)
{
    if (p)
        notify_part_free(p->notify);
    free(p);
}

void alert_part_sampled(struct alert_part *p, const struct snapshot *s, struct alert_facts *facts)
{
    (void)p;
    alert_facts_from_snapshot(facts, s);
}

int alert_part_request(struct alert_part *p, const struct part_request *r, struct buf *out)
{
    return notify_part_request(p->notify, r, out);
}

void alert_part_metrics(struct alert_part *p, const struct snapshot *s, struct buf *out)
{
    (void)s;
    notify_part_metrics(p->notify, out);
}
