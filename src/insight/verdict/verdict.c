/* SPDX-License-Identifier: Apache-2.0
 * Asks every detector about every GPU; what they find becomes one ranked list.
 */
#include "insight/verdict/verdict.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/area/job.h"
#include "insight/verdict/gather.h"
#include "insight/verdict/graph.h"
#include "insight/verdict/presence.h"

/* One GPU after the other, where only the list is wanted. */
struct scratch {
    struct facts facts;
    struct why_part part;
};

static void judge_gpu(const struct snapshot *now, const struct gpu *gpu, const struct judge_basis *basis, struct facts *f,
                      struct why_part *part)
{
    part->gpu_index = gpu->index;
    baselines_judge(basis->usual, now, gpu, &part->usual);
    if (gpu->state == GPU_OK) {
        facts_collect(f, now, gpu, basis->past);
        f->over = basis->over;
        f->serving = basis->usual ? &basis->usual->serving : NULL;
        part->activity = f->activity;
        rules_work(f, part);
        rules_idle(f, part);
        rules_heat(f, part);
        rules_limit(f, part);
        rules_usual(f, part);
        if (part->usual.too_hot)
            f->activity.symptoms |= 1u << SYMPTOM_UNUSUAL;
        part->activity = f->activity;
        rules_calm(f, part);
    } else {
        *f = (struct facts){
            .now = now, .gpu = gpu, .recent = basis->past, .over = basis->over, .activity = activity_judge(now, gpu, basis->past)};
        part->activity = f->activity;
        rules_state(f, part);
    }
}

static void gather_gpu(struct collection *c, size_t position, const struct facts *f, const struct why_part *part, bool log_unread)
{
    detect_symptoms(f, c); /* first: their headlines are the shortest */
    gather_causes(c, f, part);
    gather_looked(c, position, f->gpu, log_unread);
    detect_job(f, c);
    if (f->gpu->state != GPU_OK)
        return;
    detect_clocks(f, c);
    detect_fan(f, c);
    detect_link(f, c);
    detect_siblings(f, c);
    detect_memory(f, c);
    detect_serving(f, c);
    detect_trust(f, c);
    detect_lease(f, c);
}

static bool has_trouble(const struct collection *c, int gpu_index)
{
    for (size_t i = 0; i < c->verdict->count; i++)
        if (c->verdict->findings[i].gpu_index == gpu_index && c->verdict->findings[i].severity > SEVERITY_INFO)
            return true;
    return false;
}

/* Ranked, and without what another finding says better. The caller's. */
static struct verdict *collection_finish(struct collection *c)
{
    struct verdict *v = c->verdict;
    size_t kept = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->findings[i].code != FINDING_NOTHING_UNUSUAL || !has_trouble(c, v->findings[i].gpu_index))
            v->findings[kept++] = v->findings[i];
    v->count = kept;
    for (size_t i = 0; i < v->count; i++) /* as precise as a hand-over to another program */
        v->findings[i].confidence = (double)(int)(v->findings[i].confidence * 1000 + 0.5) / 1000;
    graph_link(v, c->now);
    verdict_rank(v);
    struct finding *exact = realloc(v->findings, (v->count + 1) * sizeof *exact);
    v->findings = exact ? exact : v->findings;
    return TAKE(c->verdict);
}

struct verdict *verdict_make(const struct snapshot *now, const struct judge_basis *basis, const struct judge_parts *keep)
{
    struct collection c;
    AUTO_FREE struct scratch *scratch = keep ? NULL : malloc(sizeof *scratch);
    if ((!keep && !scratch) || collection_init(&c, now) < 0)
        return NULL;
    AUTO_JOB_WAITS struct job_waits own = {0};
    const struct job_waits *waits = basis->waits ? basis->waits : job_waits_find(&own, now) < 0 ? NULL : &own;
    struct why_part *host = keep ? keep->host : &scratch->part;
    *host = (struct why_part){.gpu_index = -1};
    rules_machine(now, host);
    rules_host(now, host);
    gather_causes(&c, NULL, host);
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct facts *f = keep ? &keep->facts[i] : &scratch->facts;
        struct why_part *part = keep ? &keep->gpus[i] : &scratch->part;
        *part = (struct why_part){0};
        judge_gpu(now, &now->gpus[i], basis, f, part);
        f->waits = waits;
        gather_gpu(&c, i, f, part, basis->log_unread);
    }
    gather_health(&c, basis->health);
    gather_forecast(&c, basis->forecast);
    if (basis->presence)
        presence_take(basis->presence, &c);
    struct verdict *fresh = collection_finish(&c);
    if (!now->verdict)
        return fresh;
    verdict_free(fresh);
    return verdict_copy(now->verdict);
}
