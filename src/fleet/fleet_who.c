/* SPDX-License-Identifier: Apache-2.0
 * Who uses how much: processes, and their sums by user, container, pod, job or host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet.h"

static void who_add(struct reading *to, struct reading from)
{
    if (from.state == READING_OK)
        *to = reading_ok(reading_or(*to, 0) + from.value);
}

const struct fleet_by_words fleet_by_words[FLEET_BY_COUNT] = {
    [FLEET_BY_NONE] = {"host", "host", "hosts", "HOST"},
    [FLEET_BY_USER] = {"user", "user", "users", "USER"},
    [FLEET_BY_CONTAINER] = {"container", "container", "containers", "CONTAINER"},
    [FLEET_BY_POD] = {"namespace, pod", "pod", "pods", "POD"},
    [FLEET_BY_JOB] = {"hpc_job", "job", "jobs", "JOB"},
    [FLEET_BY_HOST] = {"host", "host", "hosts", "HOST"},
};

const char *fleet_key(const struct fleet_process *p, enum fleet_by by)
{
    switch (by) {
    case FLEET_BY_USER: return p->user;
    case FLEET_BY_CONTAINER: return p->container;
    case FLEET_BY_POD: return p->pod;
    case FLEET_BY_JOB: return p->job;
    default: return p->host;
    }
}

static int by_key(const void *a, const void *b, void *by)
{
    enum fleet_by what = *(const enum fleet_by *)by;
    int order = strcmp(fleet_key(a, what), fleet_key(b, what));
    return order ? order : strcmp(((const struct fleet_process *)a)->host, ((const struct fleet_process *)b)->host);
}

static int most_memory_first(const void *a, const void *b)
{
    const struct fleet_process *x = a, *y = b;
    int64_t v = reading_or(x->mem_bytes, -1), w = reading_or(y->mem_bytes, -1);
    if (v != w)
        return v < w ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    return order ? order : strcmp(x->process, y->process);
}

/* One entry per key, in place; `gpu` counts hosts, `process` counts groups. The hosts of a key are adjacent. */
static size_t add_up_groups(struct fleet_process *list, size_t count, enum fleet_by by)
{
    size_t kept = 0;
    qsort_r(list, count, sizeof *list, by_key, &by);
    for (size_t i = 0, end; i < count; i = end) {
        struct fleet_process sum = list[i];
        size_t hosts = 1;
        for (end = i + 1; end < count && strcmp(fleet_key(&list[end], by), fleet_key(&list[i], by)) == 0; end++) {
            who_add(&sum.mem_bytes, list[end].mem_bytes);
            who_add(&sum.util_permille, list[end].util_permille);
            who_add(&sum.power_mw, list[end].power_mw);
            hosts += strcmp(list[end - 1].host, list[end].host) != 0;
        }
        snprintf(sum.process, sizeof sum.process, "%zu", end - i);
        snprintf(sum.gpu, sizeof sum.gpu, "%zu", hosts);
        list[kept++] = sum;
    }
    return kept;
}

struct fleet_process *fleet_processes(const struct fleet *f, const struct fleet_view *v, size_t *count)
{
    struct fleet_process *list = calloc(f->process_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->process_count; i++)
        if (!v->user || strcmp(v->user, f->processes[i].user) == 0)
            list[(*count)++] = f->processes[i];
    if (list && v->by && *count)
        *count = add_up_groups(list, *count, v->by);
    if (list && *count)
        qsort(list, *count, sizeof *list, most_memory_first);
    return list;
}
