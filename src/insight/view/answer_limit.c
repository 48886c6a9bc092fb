/* SPDX-License-Identifier: Apache-2.0
 * The answer about a GPU that waits for its program, or is busy with something that is no work.
 */
#include "insight/view/answer.h"
#include "insight/view/limit_advice.h"

static const char *state_of(const struct process *p)
{
    switch (p->limit.code) {
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT:
    case LIMIT_NUMA: return "copying, not computing";
    case LIMIT_KERNEL_WAIT: return "busy, but not at work";
    case LIMIT_NO_TENSOR: return "computing without tensor cores";
    case LIMIT_SPILL:
    case LIMIT_NVLINK: return "waiting for data";
    default: return "mostly waiting";
    }
}

/* A GPU with trouble of its own is spoken of first. */
bool answer_limit(struct text *s, const struct facts *f, struct why_part *part)
{
    const struct process *p = f->over || is_troubled(f) ? NULL : limit_waiting(f->gpu);
    char name[SHORT_WORDS], who[PROCESS_WORDS];
    struct why_brief *brief = &part->brief;
    if (!p)
        return false;
    struct text state = TEXT(brief->state), doing = TEXT(brief->doing);
    text_append(&state, "%s", state_of(p));
    text_append(&doing, "%s ", process_words(p, WITH_OWNER, who));
    limit_say(&doing, f->gpu, p);
    text_append(s, "%s is %s: %s.", words_gpu(f->gpu, true, name), brief->state, brief->doing);
    text_append(s, " ");
    struct text numbers = TEXT(brief->numbers);
    say_readings(&numbers, f, part, SAID_POWER | SAID_FAN, "");
    unsigned said = limit_say_work(s, f->gpu) ? SAID_LOAD : 0;
    say_readings(s, f, part, said, said ? ", " : "");
    return true;
}

void suggest_limits(const struct facts *f, struct why_part *part)
{
    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE];
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        enum finding_code code;
        if (p->limit.confidence < LIMIT_SAID || p->limit.share_permille < LIMIT_SAID_PERMILLE ||
            !limit_finding(p->limit.code, &code))
            continue;
        size_t count = limit_advice(f->now, f->gpu, p, lines);
        for (size_t k = 0; k < count; k++)
            suggest_add(part, "%s", lines[k]);
    }
}
