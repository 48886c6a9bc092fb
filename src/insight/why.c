/* SPDX-License-Identifier: Apache-2.0
 * Explains a snapshot: each GPU by itself, then the one that matters most for the machine.
 */
#include "insight/why.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name, *meaning;
} codes[WHY_CODE_COUNT] = {
#define WHY_CODE(name, code, meaning) {code, meaning},
#include "insight/why_codes.def"
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

static struct why_cause *add(struct why_part *part, enum why_code code, double confidence)
{
    struct why_cause *cause = &part->causes[part->cause_count++];
    *cause = (struct why_cause){.code = code, .confidence = confidence};
    return cause;
}

static void explain_gpu(const struct gpu *gpu, struct why_part *part)
{
    const char *subject = gpu->simulated ? "Simulated GPU" : "GPU";
    part->gpu_index = gpu->index;
    const struct process *top = gpu_top_process(gpu);
    int64_t util, temp;
    struct why_cause *cause;
    if (gpu->state != GPU_OK) {
        static const enum why_code of_state[] = {
            [GPU_ASLEEP] = WHY_ASLEEP,
            [GPU_ERROR] = WHY_ERROR,
            [GPU_LOST] = WHY_LOST,
        };
        cause = add(part, of_state[gpu->state], 0.95);
        snprintf(cause->text, sizeof cause->text, "%s.", why_code_meaning(cause->code));
        snprintf(part->answer, sizeof part->answer, "%s %d: %s", subject, gpu->index, cause->text);
    } else if (!reading_get(gpu->util_permille, &util) || !reading_get(gpu->temp_mdegc, &temp)) {
        cause = add(part, WHY_CANNOT_KNOW, 0.5);
        snprintf(cause->text, sizeof cause->text, "%s.", why_code_meaning(cause->code));
        snprintf(part->answer, sizeof part->answer, "%s %d: %s", subject, gpu->index, cause->text);
    } else if (util < 100) {
        cause = add(part, WHY_NOTHING_UNUSUAL, 0.8);
        snprintf(cause->text, sizeof cause->text, "%s.", why_code_meaning(cause->code));
        snprintf(part->answer, sizeof part->answer, "Nothing unusual: %s %d is idle at %lld C.", subject, gpu->index,
                 (long long)temp / 1000);
    } else {
        cause = add(part, top ? WHY_COMPUTE_LOAD : WHY_HIDDEN_LOAD, 0.7);
        snprintf(cause->text, sizeof cause->text, "%s.", why_code_meaning(cause->code));
        if (top) {
            cause->pid = top->pid;
            snprintf(cause->process, sizeof cause->process, "%s", top->name);
        }
        snprintf(part->answer, sizeof part->answer, "%s %d runs at %lld %% and %lld C%s%.40s.", subject, gpu->index,
                 (long long)util / 10, (long long)temp / 1000, top ? " because of " : "", top ? top->name : "");
    }
}

struct why *why_explain(const struct snapshot *now, const struct recent *past)
{
    (void)past;
    struct why *why = calloc(1, sizeof *why + now->gpu_count * sizeof why->gpus[0]);
    if (!why)
        return NULL;
    why->gpu_count = now->gpu_count;
    why->machine.gpu_index = -1;
    for (size_t i = 0; i < now->gpu_count; i++)
        explain_gpu(&now->gpus[i], &why->gpus[i]);
    snprintf(why->answer, sizeof why->answer, "%s", now->gpu_count ? why->gpus[0].answer : "No GPU was found on this machine.");
    return why;
}

void why_free(struct why *why)
{
    free(why);
}
