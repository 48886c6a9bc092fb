/* SPDX-License-Identifier: Apache-2.0
 * Explains a snapshot: each GPU by itself, then the one that matters most for the machine.
 */
#include "insight/why/why.h"

#include <stdlib.h>

#include "insight/why/rules.h"

static const struct {
    const char *name, *meaning;
} codes[WHY_CODE_COUNT] = {
#define WHY_CODE(name, code, meaning) {code, meaning},
#include "insight/why/codes.def"
#undef WHY_CODE
};

const char *why_code_name(enum why_code code)
{
    return code < WHY_CODE_COUNT ? codes[code].name : "unknown";
}

const char *why_code_meaning(enum why_code code)
{
    return code < WHY_CODE_COUNT ? codes[code].meaning : "";
}

const char *why_likelihood(const struct why_cause *cause)
{
    double c = cause->confidence;
    if (cause->code == WHY_CANNOT_KNOW || c < CONFIDENCE_ANSWER)
        return "can't tell";
    return c >= 0.85 ? "very likely" : c >= 0.6 ? "likely" : "possible";
}

static void explain_gpu(const struct snapshot *now, const struct gpu *gpu, const struct recent *past, const struct baselines *usual,
                        bool over, struct why_part *part)
{
    struct facts f;
    part->gpu_index = gpu->index;
    baselines_judge(usual, gpu, now->taken_at, now->host.ambient_temp_mdegc, &part->usual);
    if (gpu->state == GPU_OK) {
        facts_collect(&f, now, gpu, past);
        f.over = over;
        part->activity = f.activity;
        rules_load(&f, part);
        rules_idle(&f, part);
        rules_heat(&f, part);
        rules_usual(&f, part);
        if (part->usual.too_hot)
            f.activity.symptoms |= 1u << SYMPTOM_UNUSUAL;
        part->activity = f.activity;
        rules_calm(&f, part);
    } else {
        f = (struct facts){.now = now, .gpu = gpu, .recent = past, .over = over, .activity = activity_judge(now, gpu, past)};
        part->activity = f.activity;
        rules_state(&f, part);
    }
    answer_gpu(&f, part);
    answer_usual(part, over);
    answer_resume(&f, part);
    suggest(&f, part);
}

static struct why *explain(const struct snapshot *now, const struct recent *past, const struct baselines *usual, bool over)
{
    struct why *why = calloc(1, sizeof *why + now->gpu_count * sizeof why->gpus[0]);
    if (!why)
        return NULL;
    why->gpu_count = now->gpu_count;
    why->machine.gpu_index = -1;
    rules_machine(now, &why->machine);
    suggest(NULL, &why->machine);
    for (size_t i = 0; i < now->gpu_count; i++)
        explain_gpu(now, &now->gpus[i], past, usual, over, &why->gpus[i]);
    answer_machine(now, why, over);
    return why;
}

struct why *why_explain(const struct snapshot *now, const struct recent *past)
{
    return explain(now, past, NULL, false);
}

struct why *why_explain_usual(const struct snapshot *now, const struct recent *past, const struct baselines *usual)
{
    return explain(now, past, usual, false);
}

struct why *why_explain_past(const struct snapshot *then, const struct recent *past, const struct baselines *usual)
{
    return explain(then, past, usual, true);
}

void why_free(struct why *why)
{
    free(why);
}
