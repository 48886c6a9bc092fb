/* SPDX-License-Identifier: Apache-2.0
 * Asks every area about every GPU; what they find, what is remembered of the GPUs, and forecasts become one ranked list.
 */
#include "insight/verdict/verdict.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/area/ranks.h"
#include "insight/verdict/graph.h"
#include "insight/verdict/health_memory.h"
#include "model/finding_code.h"

static void gather_forecast(struct collection *c, const struct forecast *forecast)
{
    for (size_t i = 0; forecast && i < forecast->count; i++) {
        const struct gpu *gpu = snapshot_gpu(c->now, forecast->gpus[i].gpu_index);
        for (const struct area *const *area = all_areas; gpu && *area; area++)
            if ((*area)->foresee)
                (*area)->foresee(&forecast->gpus[i], gpu, c);
    }
}

/* ---- what could be read ---- */

static bool was_looked_at(struct reading r)
{
    return r.state == READING_OK || r.state == READING_UNSUPPORTED;
}

/* Graphics inside of a processor: no card, no slot, and often no sensor of its own. */
static bool has_no_link(const struct gpu *gpu)
{
    return cooling_is_shared(gpu) || gpu->id.pci_address[0] == '\0';
}

/* A clock says something beside what it could be: the highest one, or the state that the driver has put the GPU in. */
static bool can_judge_clocks(const struct gpu *gpu)
{
    bool compared = gpu->clock_graphics_max_khz.state == READING_OK || gpu->pstate.state == READING_OK;
    return was_looked_at(gpu->throttle_bits) && (gpu->clock_graphics_khz.state == READING_OK ? compared : has_no_link(gpu));
}

/* Words for what no area stands and falls with: counters tell of most errors, and throttle reasons of most limits. */
static void name_unread(struct text *missing, const struct gpu *gpu, bool log_unread)
{
    const char *comma = missing->len ? ", " : "";
    if (log_unread && !gpu->simulated) {
        text_append(missing, "%skernel log", comma);
        comma = ", ";
    }
    if (cooling_is_shared(gpu))
        text_append(missing, "%sbattery or mains", comma);
}

/* Areas of a GPU that could be examined. */
static void gather_looked(struct collection *c, size_t position, const struct gpu *gpu, bool log_unread)
{
    struct gpu_looked *l = &c->verdict->gpus[position];
    const struct {
        enum finding_area area;
        bool looked;
        const char *what;
    } looks[] = {
        {AREA_ERRORS, was_looked_at(gpu->ecc_uncorrected) && was_looked_at(gpu->recovery_action), "error counters"},
        {AREA_LINK,
         (gpu->pcie_width.state == READING_OK && was_looked_at(gpu->pcie_width_max)) ||
             (has_no_link(gpu) && was_looked_at(gpu->pcie_width)),
         "PCIe link"},
        {AREA_HEAT, was_looked_at(gpu->temp_mdegc), "temperature"},
        {AREA_FAN, was_looked_at(gpu->fan_permille) || was_looked_at(gpu->fan_rpm), "fan"},
        {AREA_POWER, gpu->power_mw.state == READING_OK || (has_no_link(gpu) && was_looked_at(gpu->power_mw)), "power"},
        {AREA_CLOCKS, can_judge_clocks(gpu), "clocks"},
        {AREA_MEMORY, was_looked_at(gpu->mem_used_bytes), "memory"},
        {AREA_WORK, was_looked_at(gpu->util_permille) && gpu->processes_state != READING_DENIED, "processes"},
    };
    l->gpu_index = gpu->index;
    struct text missing = TEXT(l->missing);
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        if (looks[i].looked)
            l->looked |= 1u << looks[i].area;
        else
            text_append(&missing, "%s%s", missing.len ? ", " : "", looks[i].what);
    }
    name_unread(&missing, gpu, log_unread);
}

/* ---- all of it ---- */

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
        f->changes = basis->usual ? &basis->usual->changes : NULL;
        part->activity = f->activity;
        for (const struct area *const *area = all_areas; *area; area++) {
            if (*area == &area_trust && part->usual.too_hot)
                f->activity.symptoms |= 1u << SYMPTOM_UNUSUAL;
            part->activity = f->activity;
            if ((*area)->weigh)
                (*area)->weigh(f, part);
        }
    } else {
        *f = (struct facts){
            .now = now, .gpu = gpu, .recent = basis->past, .over = basis->over, .activity = activity_judge(now, gpu, basis->past)};
        part->activity = f->activity;
        rules_state(f, part);
    }
}

static void gather_gpu(struct collection *c, size_t position, const struct facts *f, struct why_part *part, bool log_unread)
{
    bool ok = f->gpu->state == GPU_OK;
    collect_causes(c, f->gpu, part);
    gather_looked(c, position, f->gpu, log_unread);
    detect_job(f, c);
    for (const struct area *const *area = all_areas; ok && *area; area++)
        if ((*area)->find)
            (*area)->find(f, c);
    if (ok && !f->gpu->released)
        detect_cooling(f->gpu, &part->usual.drift, c);
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
    rules_host(now, host);
    collect_causes(&c, NULL, host);
    for (size_t i = 0; i < now->gpu_count; i++) {
        struct facts *f = keep ? &keep->facts[i] : &scratch->facts;
        struct why_part *part = keep ? &keep->gpus[i] : &scratch->part;
        *part = (struct why_part){0};
        judge_gpu(now, &now->gpus[i], basis, f, part);
        f->waits = waits;
        gather_gpu(&c, i, f, part, basis->log_unread);
    }
    if (basis->cards)
        card_memory_recall(basis->cards, &c);
    gather_forecast(&c, basis->forecast);
    if (basis->presence)
        presence_take(basis->presence, &c);
    if (basis->cards)
        card_memory_keep(basis->cards, &c);
    struct verdict *fresh = collection_finish(&c);
    if (!now->verdict)
        return fresh;
    verdict_free(fresh);
    return verdict_copy(now->verdict);
}
