/* SPDX-License-Identifier: Apache-2.0
 * The idle audit as a part of the daemon: while an idle GPU draws more power than usual, a thread examines its surroundings once a
 * minute (/proc takes milliseconds, too long for the loop), and explanations name the cause.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/part.h"
#include "insight/baseline/baseline.h"
#include "serve/data/data.h"
#include "source/sysfs/sysfs_idle_audit.h"

enum { LOOK_EVERY_MS = 60000 };

/* One audit, in a thread of its own. */
struct idle_audit_look {
    pthread_t thread;
    _Atomic bool over;
    const struct env *env;
    const struct snapshot *snapshot;
    struct idle_facts *found; /* NULL: out of memory */
};

struct idle_audit_part {
    const struct part_host *host;
    const struct usual_part *usual;
    struct idle_audit_look *look; /* running; NULL: none */
    struct mono next;
    struct idle_facts *latest;
};

static void *idle_audit_part_run(void *arg)
{
    struct idle_audit_look *l = arg;
    l->found = calloc(l->snapshot->gpu_count + 1, sizeof *l->found);
    if (l->found)
        idle_facts_read(l->env, l->snapshot, l->found);
    atomic_store(&l->over, true);
    return NULL;
}

static void idle_audit_part_begin(struct idle_audit_part *p, const struct snapshot *s)
{
    struct idle_audit_look *l = calloc(1, sizeof *l);
    p->next = (struct mono){s->taken.ns + LOOK_EVERY_MS * (int64_t)NS_PER_MS};
    if (!l)
        return;
    *l = (struct idle_audit_look){.env = p->host->env, .snapshot = snapshot_ref(s)};
    if (pthread_create(&l->thread, NULL, idle_audit_part_run, l) == 0) {
        p->look = l;
        return;
    }
    snapshot_unref(l->snapshot);
    free(l);
}

/* Joins the thread; returns its result, or NULL. */
static struct idle_facts *idle_audit_part_finish(struct idle_audit_part *p)
{
    struct idle_audit_look *l = TAKE(p->look);
    pthread_join(l->thread, NULL);
    struct idle_facts *found = l->found;
    snapshot_unref(l->snapshot);
    free(l);
    return found;
}

static bool wanted(const struct idle_audit_part *p, const struct snapshot *s)
{
    const struct baselines *usual = usual_part_latest(p->usual);
    for (size_t i = 0; usual && i < s->gpu_count; i++) {
        struct usual u;
        baselines_judge(usual, s, &s->gpus[i], &u);
        if (u.idle_excess)
            return true;
    }
    return false;
}

static void idle_audit_part_sampled(void *part, const struct snapshot *s)
{
    struct idle_audit_part *p = part;
    if (p->look && atomic_load(&p->look->over)) {
        size_t count = p->look->snapshot->gpu_count;
        struct idle_facts *found = idle_audit_part_finish(p);
        if (found && p->host->server)
            data_set_idle_facts(server_data(p->host->server), found, count);
        if (found) {
            free(p->latest);
            p->latest = found;
        }
    }
    if (!p->look && s->taken.ns >= p->next.ns && wanted(p, s))
        idle_audit_part_begin(p, s);
}

static void *open_idle_audit(const struct part_host *host, struct error *err)
{
    (void)err;
    struct idle_audit_part *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct idle_audit_part){.host = host, .usual = part_find(host, &usual_part_ops)};
    return p;
}

static void close_idle_audit(void *part)
{
    struct idle_audit_part *p = part;
    if (!p)
        return;
    if (p->look)
        free(idle_audit_part_finish(p));
    free(p->latest);
    free(p);
}

const struct part_ops idle_audit_part_ops = {
    .name = "idle_audit", .open = open_idle_audit, .sampled = idle_audit_part_sampled, .close = close_idle_audit};
