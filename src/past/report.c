/* SPDX-License-Identifier: Apache-2.0
 * The GPUs' part of the report: energy by its origin, and gaps.
 */
#include "past/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "past/explain.h"
#include "past/report.h"

struct gpu_list {
    struct report *report;
    int64_t only;
};

static int report_note_gpu(void *user, const struct store_gpu *gpu)
{
    struct gpu_list *list = user;
    struct report *r = list->report;
    if ((list->only && list->only != gpu->id) || r->gpu_count == GPU_MAX || gpu->last_seen.ms < r->since.ms)
        return 0;
    r->gpus[r->gpu_count++] = (struct report_gpu){
        .id = gpu->id, .index = gpu->index, .identity = gpu->identity, .simulated = gpu->simulated, .first_seen = gpu->first_seen};
    return 0;
}

static int read_energy(struct store *s, struct report *r, struct error *err)
{
    struct store_energy energy[GPU_MAX];
    int64_t ids[GPU_MAX];
    for (size_t i = 0; i < r->gpu_count; i++)
        ids[i] = r->gpus[i].id;
    int rc = store_energy_of(s, ids, r->gpu_count, r->since.ms, r->until.ms, energy, err);
    for (size_t i = 0; rc == 0 && i < r->gpu_count; i++) {
        r->gpus[i].energy_mj = energy[i].energy_mj;
        r->gpus[i].attributed_mj = energy[i].attributed_mj;
        r->gpus[i].counter_mj = energy[i].counter_mj;
        r->gpus[i].integrated_mj = energy[i].energy_mj - energy[i].counter_mj;
    }
    return rc;
}

/* Drops GPUs without data in the span. */
static void drop_absent(struct report *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->gpu_count; i++)
        if (r->gpus[i].hours > 0 || r->gpus[i].energy_mj > 0)
            r->gpus[kept++] = r->gpus[i];
    r->gpu_count = kept;
}

static int read_gaps(struct store *s, const char *host, struct report *r, struct error *err)
{
    AUTO_FREE struct explained_span *span = calloc(1, sizeof *span);
    if (!span)
        return error_set(err, -ENOMEM, "out of memory");
    span->since = r->since;
    span->until = r->until;
    int rc = gaps_within(s, host, span, err);
    memcpy(r->gaps, span->gaps, sizeof r->gaps);
    r->gap_count = span->gap_count;
    r->missing_ms = span->missing_ms;
    return rc;
}

static int by_length(const void *a, const void *b)
{
    const struct report_hot *left = a, *right = b;
    int64_t l = left->until.ms - left->since.ms, r = right->until.ms - right->since.ms;
    return (l < r) - (l > r);
}

static int read_cards(struct store *s, void *report, struct error *err)
{
    return report_cards(s, report, err);
}

/* Reads GPUs and processes in parallel. */
static int read_parts(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err)
{
    struct parallel_query cards;
    struct error ignored;
    parallel_query_begin(&cards, s, read_cards, r);
    int rc = report_processes(s, host, gpu_id, r, &cards, err);
    int cards_rc = parallel_query_end(&cards, rc < 0 ? &ignored : err);
    return rc < 0 ? rc : cards_rc;
}

int report_make(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until, int64_t hot_mdegc,
                struct report *ret, struct error *err)
{
    *ret = (struct report){.since = since, .until = until, .hot_mdegc = hot_mdegc};
    struct gpu_list list = {ret, gpu_id};
    int rc = store_gpus(s, host, report_note_gpu, &list, err);
    if (rc == 0)
        rc = read_energy(s, ret, err);
    if (rc == 0)
        rc = read_parts(s, host, gpu_id, ret, err);
    drop_absent(ret);
    if (rc == 0)
        rc = read_gaps(s, host, ret, err);
    if (rc == 0)
        rc = report_findings(s, host, gpu_id, ret, err);
    if (rc == 0)
        rc = report_leases(s, host, gpu_id, ret, err);
    qsort(ret->hot, ret->hot_count, sizeof ret->hot[0], by_length);
    if (rc < 0)
        report_done(ret);
    return rc;
}

void report_done(struct report *r)
{
    for (int by = 0; by < REPORT_BY_COUNT; by++) {
        free(r->groups[by]);
        r->groups[by] = NULL;
        r->group_count[by] = 0;
    }
}
