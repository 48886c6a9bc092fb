/* SPDX-License-Identifier: Apache-2.0
 * The fleet from the PostgreSQL database that holds its hosts' history.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet.h"
#include "store/fleet_queries.h"
#include "store/query.h"

bool fleet_is_sql(const struct fleet_place *place)
{
    return str_starts(str_from(place->url), "postgresql://") || str_starts(str_from(place->url), "postgres://");
}

static void copy(char *to, size_t size, const char *text)
{
    str_copy_clean(to, size, str_from(text));
}

static void write_index(char gpu[16], int index)
{
    if (index >= 0)
        snprintf(gpu, 16, "%d", index);
}

static int take_gpu(void *user, const struct host_gpu *from)
{
    struct fleet *f = user;
    struct fleet_gpu *g = ONE_MORE(f->gpus, f->gpu_count);
    if (!g)
        return -ENOMEM;
    *g = (struct fleet_gpu){.up = from->up,
                            .util_permille = from->util_permille,
                            .used_bytes = from->used_bytes,
                            .total_bytes = from->total_bytes,
                            .free_bytes = from->free_bytes,
                            .divided = from->instance_max_bytes.state == READING_OK,
                            .instance_max_bytes = from->instance_max_bytes,
                            .temp_mdegc = from->temp_mdegc,
                            .power_mw = from->power_mw};
    copy(g->host, sizeof g->host, from->host);
    write_index(g->gpu, from->index);
    copy(g->uuid, sizeof g->uuid, from->uuid);
    copy(g->name, sizeof g->name, from->name);
    if (from->calm) /* what the host says of it ranks before this */
        fleet_findings_add(&g->findings, &(struct fleet_finding){.code = "nothing_unusual", .process = "", .headline = ""});
    return 0;
}

static int take_finding(void *user, const struct host_finding *from)
{
    struct fleet *f = user;
    finding_code code;
    struct fleet_finding finding = {.code = from->code,
                                    .process = from->process,
                                    .headline = from->headline,
                                    .severity = from->severity,
                                    .confidence = from->confidence};
    finding.held = finding_code_from_name(from->code, &code) && from->since_ms >= finding_kind(code)->hold_ms;
    if (from->gpu_index < 0 && !from->uuid[0]) {
        struct fleet_note *n = fleet_note_of(f, from->host);
        if (n)
            fleet_findings_add(&n->findings, &finding);
        return n ? 0 : -ENOMEM;
    }
    char gpu[16] = "";
    write_index(gpu, from->gpu_index);
    struct fleet_gpu *g = fleet_find(f, from->host, gpu, from->uuid);
    if (g)
        fleet_findings_add(&g->findings, &finding);
    return 0;
}

static int take_silent(void *user, const struct silent_host *from)
{
    struct fleet_note *n = fleet_note_of(user, from->host);
    if (!n)
        return -ENOMEM;
    n->silent = true;
    n->silent_ms = from->silent_ms;
    n->back_ms = from->waited_ms < HOST_GRACE_MS ? from->waited_ms : 0;
    n->last = (struct fleet_sum){.gpus = from->gpus,
                                 .judged = from->gpus,
                                 .util_permille = from->util_permille,
                                 .used_bytes = from->used_bytes,
                                 .total_bytes = from->total_bytes,
                                 .temp_mdegc = from->temp_mdegc,
                                 .power_mw = from->power_mw};
    return 0;
}

static int take_forgotten(void *user, const char *host, const char *by, int64_t ago_ms)
{
    fleet_take_forgotten(user, host, "", by, ago_ms, false);
    return 0;
}

static int take_clock(void *user, const char *host, int64_t ahead_ms)
{
    return fleet_compare_clock(user, host, ahead_ms);
}

static int take_process(void *user, const struct host_process *from)
{
    struct fleet *f = user;
    struct fleet_process *p = ONE_MORE(f->processes, f->process_count);
    if (!p)
        return -ENOMEM;
    *p = (struct fleet_process){.mem_bytes = from->mem_bytes, .util_permille = from->util_permille, .power_mw = from->power_mw};
    /* A minute has one limit: the longest one. */
    p->limit = from->limit;
    p->limit_permille = from->limit == LIMIT_UNJUDGED ? 0 : 1000;
    copy(p->host, sizeof p->host, from->host);
    write_index(p->gpu, from->gpu_index);
    copy(p->process, sizeof p->process, from->who.name);
    copy(p->user, sizeof p->user, from->who.user);
    copy(p->container, sizeof p->container, process_container(&from->who));
    process_pod(&from->who, p->pod, sizeof p->pod);
    copy(p->job, sizeof p->job, from->who.job);
    return 0;
}

static void close_store(struct store **s)
{
    store_close(*s);
}

static int open_place(const struct fleet_place *place, struct store **ret, struct error *err)
{
    if (place->cancel && *place->cancel)
        return error_set(err, -ECANCELED, "canceled");
    int rc = store_open_read_only(place->env, place->url, ret, err);
    if (rc == 0)
        store_set_cancel(*ret, place->cancel, (struct mono){0});
    return rc;
}

static int add_message(int rc, struct error *err)
{
    return rc == -ENOMEM && !err->text[0] ? error_set(err, rc, "out of memory") : rc;
}

/* Two connections answer at the same time: one about hosts, with findings, which are of GPUs that the other lists. */
struct questions {
    struct fleet *fleet;
    bool rooms, brief; /* brief: a table of hosts shows no calm findings */
    struct host_finding *findings;
    size_t count;
};

static void free_findings(struct questions *q)
{
    free(q->findings);
}

static int keep_finding(void *user, const struct host_finding *from)
{
    struct questions *q = user;
    struct host_finding *to = ONE_MORE(q->findings, q->count);
    if (!to)
        return -ENOMEM;
    *to = *from;
    return 0;
}

static int ask_hosts(struct store *s, void *user, struct error *err)
{
    struct questions *q = user;
    int rc = all_hosts_silent(s, take_silent, q->fleet, err);
    if (rc == 0 && fleet_any_silent(q->fleet))
        rc = all_hosts_forgotten(s, take_forgotten, q->fleet, err);
    return rc == 0 ? all_hosts_findings(s, q->brief, keep_finding, q, err) : rc;
}

static int ask_gpus(struct store *s, void *user, struct error *err)
{
    struct questions *q = user;
    return all_hosts_gpus(s, q->rooms, take_gpu, q->fleet, err);
}

static bool is_silent(const struct fleet *f, const char *host)
{
    for (size_t i = 0; i < f->note_count; i++)
        if (f->notes[i].silent && strcmp(f->notes[i].host, host) == 0)
            return true;
    return false;
}

static int fetch_gpus(struct store *s, unsigned wants, struct fleet *f, struct error *err)
{
    CLEANUP(free_findings)
    struct questions q = {.fleet = f, .rooms = wants & FLEET_WANT_ROOM, .brief = wants == FLEET_WANT_HOSTS};
    size_t kept = 0;
    int rc = parallel_query_both(s, ask_gpus, &q, ask_hosts, &q, err); /* the longer one first: the other has yet to connect */
    for (size_t i = 0; i < f->gpu_count; i++)
        if (!is_silent(f, f->gpus[i].host))
            f->gpus[kept++] = f->gpus[i];
    f->gpu_count = kept;
    if (rc == 0)
        rc = fleet_index(f);
    for (size_t i = 0; rc == 0 && i < q.count; i++)
        rc = take_finding(f, &q.findings[i]);
    return rc;
}

int fleet_fetch_sql(const struct fleet_place *place, unsigned wants, struct fleet *ret, struct error *err)
{
    CLEANUP(close_store) struct store *s = NULL;
    int rc = open_place(place, &s, err);
    if (rc == 0)
        rc = wants & FLEET_WANT_GPUS ? fetch_gpus(s, wants, ret, err) : fleet_index(ret);
    if (rc == 0 && wants & FLEET_WANT_HOSTS)
        rc = all_hosts_clocks(s, take_clock, ret, err);
    if (rc == 0 && wants & FLEET_WANT_PROCESSES)
        rc = all_hosts_processes(s, take_process, ret, err);
    if (rc == 0)
        fleet_join_processes(ret);
    return add_message(rc, err);
}

static void name_energy(enum fleet_by by, const char *host, const struct process *who, struct fleet_energy *e)
{
    switch (by) {
    case FLEET_BY_USER: copy(e->name, sizeof e->name, who->user); break;
    case FLEET_BY_CONTAINER: copy(e->name, sizeof e->name, process_container(who)); break;
    case FLEET_BY_POD: process_pod(who, e->name, sizeof e->name); break;
    case FLEET_BY_JOB: copy(e->name, sizeof e->name, who->job); break;
    case FLEET_BY_NONE:
    case FLEET_BY_HOST:
    case FLEET_BY_COUNT: copy(e->name, sizeof e->name, host); break;
    }
}

static int take_energy(void *user, const char *host, const struct process *who, int64_t energy_mj)
{
    struct fleet_bill *bill = user;
    struct fleet_energy *e = ONE_MORE(bill->list, bill->count);
    if (!e)
        return -ENOMEM;
    *e = (struct fleet_energy){.joules = (double)energy_mj / 1000};
    name_energy(bill->by, host, who, e);
    return 0;
}

static int from_sql_by_name(const void *a, const void *b)
{
    return strcmp(((const struct fleet_energy *)a)->name, ((const struct fleet_energy *)b)->name);
}

/* Merges rows of the same name. */
static void join_energy(struct fleet_bill *bill)
{
    size_t kept = 0;
    if (bill->count)
        qsort(bill->list, bill->count, sizeof *bill->list, from_sql_by_name);
    for (size_t i = 0; i < bill->count; i++) {
        if (kept && strcmp(bill->list[kept - 1].name, bill->list[i].name) == 0)
            bill->list[kept - 1].joules += bill->list[i].joules;
        else
            bill->list[kept++] = bill->list[i];
    }
    bill->count = kept;
}

int fleet_bill_fetch_sql(const struct fleet_place *place, struct fleet_bill *bill, struct error *err)
{
    CLEANUP(close_store) struct store *s = NULL;
    bool processes = bill->by != FLEET_BY_NONE && bill->by != FLEET_BY_HOST;
    int rc = open_place(place, &s, err);
    if (rc == 0)
        rc = all_hosts_energy(s, processes, bill->span_ms, take_energy, bill, err);
    if (rc < 0) {
        fleet_bill_done(bill);
        return add_message(rc, err);
    }
    join_energy(bill);
    fleet_bill_sort(bill);
    return 0;
}
