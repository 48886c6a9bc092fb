/* SPDX-License-Identifier: Apache-2.0
 * Explains a snapshot: each GPU by itself, then the one that matters most for the machine.
 */
#include "insight/view/why.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/area/job.h"
#include "insight/view/answer.h"

const char *why_calm(const struct snapshot *s, int only)
{
    bool calm = true, trouble = s->gpu_count == 0;
    for (size_t i = 0; s->verdict && i < s->verdict->count; i++) {
        const struct finding *f = &s->verdict->findings[i];
        trouble |= f->severity > SEVERITY_INFO && !f->muted && (only == ALL_GPUS || f->gpu_index == s->gpus[only].index);
    }
    for (size_t i = 0; i < s->gpu_count; i++)
        if ((only == ALL_GPUS || only == (int)i) && s->gpus[i].state == GPU_OK)
            calm &= verdict_is_calm(s->verdict, s->gpus[i].index);
    return trouble ? "" : calm_words(calm);
}

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

static void answer(const struct facts *f, struct why_part *part)
{
    part->severity = verdict_severity(f->verdict, part->gpu_index);
    answer_gpu(f, part);
    answer_usual(part, f->over);
    answer_resume(f, part);
    suggest(f, part);
    answer_findings(f, part);
    answer_job(f, part);
}

struct why *why_judge(const struct snapshot *now, const struct judge_basis *basis)
{
    struct why *why = calloc(1, sizeof *why + now->gpu_count * sizeof why->gpus[0]);
    AUTO_FREE struct facts *facts = calloc(now->gpu_count + 1, sizeof *facts);
    AUTO_JOB_WAITS struct job_waits waits = {0};
    if (!why || !facts || job_waits_find(&waits, now) < 0)
        goto fail;
    struct judge_basis whole = *basis;
    whole.waits = &waits;
    why->gpu_count = now->gpu_count;
    why->verdict = verdict_make(now, &whole, &(struct judge_parts){facts, &why->machine, why->gpus});
    if (!why->verdict)
        goto fail;
    suggest(NULL, &why->machine);
    for (size_t i = 0; i < now->gpu_count; i++) {
        facts[i].verdict = why->verdict;
        answer(&facts[i], &why->gpus[i]);
    }
    why->machine.severity = verdict_severity(why->verdict, -1);
    answer_host(now, why, basis->over);
    return why;
fail:
    why_free(why);
    return NULL;
}

struct why *why_explain(const struct snapshot *now, const struct recent *past)
{
    return why_judge(now, &(struct judge_basis){.past = past});
}

struct why *why_explain_usual(const struct snapshot *now, const struct recent *past, const struct baselines *usual)
{
    return why_judge(now, &(struct judge_basis){.past = past, .usual = usual});
}

struct why *why_explain_past(const struct snapshot *then, const struct recent *past, const struct baselines *usual)
{
    return why_judge(then, &(struct judge_basis){.past = past, .usual = usual, .over = true});
}

void why_free(struct why *why)
{
    if (!why)
        return;
    verdict_free(why->verdict);
    free(why);
}
