/* SPDX-License-Identifier: Apache-2.0
 * Rules about findings: which finding belongs to which rule, and whether a missing one was looked for.
 */
#include "alert/rule.h"
#include "model/finding_code.h"

const struct alert_rule *alert_rules_of_finding(const struct alert_rules *rules, finding_code code)
{
    for (size_t i = 0; i < rules->count; i++)
        if (rule_is_finding(&rules->list[i]) && rules->list[i].finding == code)
            return &rules->list[i];
    return NULL;
}

bool rule_takes(const struct alert_rule *rule, const struct finding *f)
{
    return !f->muted && f->tense != TENSE_WAS && (f->severity > SEVERITY_INFO || rule->severity == SEVERITY_INFO);
}

/* A finding is only known to be absent if its inputs were read. */
static bool was_looked_for(finding_code code, const struct subject *s)
{
    enum finding_area area = finding_kind(code)->area;
    if (!s->gpu)
        return true;
    if (code == FINDING_LOST || code == FINDING_ERROR)
        return s->gpu->state == GPU_OK || s->gpu->state == GPU_ASLEEP;
    const struct gpu_looked *l = verdict_looked(s->snapshot->verdict, s->gpu->index);
    bool counted = area != AREA_IDLE && area != AREA_TRUST && area != AREA_HOST; /* these follow from other findings */
    return s->gpu->state == GPU_OK && l && (!counted || l->looked & 1u << area);
}

enum truth rule_holds(const struct alert_rule *rule, const struct subject *s)
{
    if (!rule_is_finding(rule))
        return expr_eval(rule->when, s);
    const struct verdict *v = s->snapshot->verdict;
    const struct finding *f = verdict_find(v, s->gpu ? s->gpu->index : -1, rule->finding);
    if (f && rule_takes(rule, f))
        return TRUTH_TRUE;
    return v && was_looked_for(rule->finding, s) ? TRUTH_FALSE : TRUTH_UNKNOWN;
}
