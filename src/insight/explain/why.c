/* SPDX-License-Identifier: Apache-2.0
 * Explains a snapshot: each GPU by itself, then the one that matters most for the machine.
 */
#include "insight/explain/why.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/detect/detect.h"
#include "insight/finding/cause.h"

const char *why_likelihood(const struct why_cause *cause)
{
    double c = cause->confidence;
    if (cause->code == FINDING_CANNOT_KNOW || c < CONFIDENCE_ANSWER)
        return "can't tell";
    return c >= 0.85 ? "very likely" : c >= 0.6 ? "likely" : "possible";
}

enum severity why_severity(const struct why *why)
{
    const struct finding *first = verdict_main(why->verdict);
    return first ? first->severity : SEVERITY_INFO;
}

/* ---- what is found ---- */

static void judge_gpu(const struct snapshot *now, const struct gpu *gpu, const struct why_basis *basis, struct facts *f,
                      struct why_part *part)
{
    part->gpu_index = gpu->index;
    baselines_judge(basis->usual, gpu, now->taken_at, now->host.ambient_temp_mdegc, &part->usual);
    if (gpu->state == GPU_OK) {
        facts_collect(f, now, gpu, basis->past);
        f->over = basis->over;
        part->activity = f->activity;
        rules_load(f, part);
        rules_idle(f, part);
        rules_heat(f, part);
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

static void collect_gpu(struct collection *c, size_t position, const struct facts *f, const struct why_part *part)
{
    collect_symptoms(c, f); /* first: their headlines are the shortest */
    collect_causes(c, f, part);
    collect_looked(c, position, f->gpu);
    if (f->gpu->state != GPU_OK)
        return;
    detect_clocks(f, c);
    detect_fan(f, c);
    detect_link(f, c);
    detect_memory(f, c);
    detect_trust(f, c);
}

static struct verdict *find_all(const struct snapshot *now, const struct why_basis *basis, const struct facts *facts,
                                const struct why *why)
{
    struct collection c;
    if (now->verdict)
        return verdict_copy(now->verdict);
    if (collection_init(&c, now) < 0)
        return NULL;
    collect_causes(&c, NULL, &why->machine);
    for (size_t i = 0; i < now->gpu_count; i++)
        collect_gpu(&c, i, &facts[i], &why->gpus[i]);
    collect_health(&c, basis->health);
    collect_forecast(&c, basis->forecast);
    return collection_finish(&c);
}

/* ---- how it is said ---- */

static void answer(const struct facts *f, struct why_part *part)
{
    part->severity = verdict_severity(f->verdict, part->gpu_index);
    answer_gpu(f, part);
    answer_usual(part, f->over);
    answer_resume(f, part);
    suggest(f, part);
    answer_findings(f, part);
}

struct why *why_judge(const struct snapshot *now, const struct why_basis *basis)
{
    struct why *why = calloc(1, sizeof *why + now->gpu_count * sizeof why->gpus[0]);
    AUTO_FREE struct facts *facts = calloc(now->gpu_count + 1, sizeof *facts);
    if (!why || !facts)
        goto fail;
    why->gpu_count = now->gpu_count;
    why->machine.gpu_index = -1;
    rules_machine(now, &why->machine);
    suggest(NULL, &why->machine);
    for (size_t i = 0; i < now->gpu_count; i++)
        judge_gpu(now, &now->gpus[i], basis, &facts[i], &why->gpus[i]);
    why->verdict = find_all(now, basis, facts, why);
    if (!why->verdict)
        goto fail;
    for (size_t i = 0; i < now->gpu_count; i++) {
        facts[i].verdict = why->verdict;
        answer(&facts[i], &why->gpus[i]);
    }
    why->machine.severity = verdict_severity(why->verdict, -1);
    answer_machine(now, why, basis->over);
    return why;
fail:
    why_free(why);
    return NULL;
}

struct why *why_explain(const struct snapshot *now, const struct recent *past)
{
    return why_judge(now, &(struct why_basis){.past = past});
}

struct why *why_explain_usual(const struct snapshot *now, const struct recent *past, const struct baselines *usual)
{
    return why_judge(now, &(struct why_basis){.past = past, .usual = usual});
}

struct why *why_explain_past(const struct snapshot *then, const struct recent *past, const struct baselines *usual)
{
    return why_judge(then, &(struct why_basis){.past = past, .usual = usual, .over = true});
}

void why_free(struct why *why)
{
    if (!why)
        return;
    verdict_free(why->verdict);
    free(why);
}
