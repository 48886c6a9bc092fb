/* SPDX-License-Identifier: Apache-2.0
 * Turns the health of the GPUs and the findings into one answer for a scheduler. Knows no scheduler, threshold or clock.
 */
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/words.h"
#include "cli/node/node.h"
#include "insight/verdict/health.h"
#include "model/finding.h"
#include "model/snapshot.h"

/* A finding that forbids placing work, as for `whirr fit`, after its hold time: don't drain a node for a brief problem. */
static const struct finding *forbidding(const struct snapshot *s, int gpu_index, const struct finding_settings *settings)
{
    const struct verdict *v = s->verdict;
    for (size_t i = 0; v && i < v->count; i++) {
        const struct finding *f = &v->findings[i];
        if (f->gpu_index == gpu_index && finding_forbids(f) &&
            finding_held_ms(f, s->taken_at) >= finding_hold_ms(settings, f->code))
            return f;
    }
    return NULL;
}

static void say_unfit(struct node_verdict *ret, const char *code, size_t bad, size_t all, const char *format, ...)
    __attribute__((format(gnu_printf, 5, 6)));
static void say_unfit(struct node_verdict *ret, const char *code, size_t bad, size_t all, const char *format, ...)
{
    char text[NODE_MESSAGE_SIZE - 64], clean[sizeof text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    str_copy_clean(clean, sizeof clean, str_trim(str_from(text)));
    size_t len = strlen(clean);
    if (len && clean[len - 1] == '.')
        clean[len - 1] = '\0';
    ret->fitness = NODE_UNFIT;
    str_copy(ret->code, sizeof ret->code, str_from(code));
    if (bad > 1)
        snprintf(ret->message, sizeof ret->message, "%zu of %zu GPUs: %s", bad, all, clean);
    else
        snprintf(ret->message, sizeof ret->message, "%s", clean);
}

/* The problem that makes this GPU bad enough, once it has lasted for the hold time of the finding of that name, or NULL. */
static const struct health_finding *bad_finding(const struct health_verdict *v, const struct snapshot *s,
                                                const struct node_rules *rules)
{
    bool gone = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        gone |= s->gpus[i].index == v->gpu_index && s->gpus[i].state == GPU_ERROR && !snapshot_source_started(s, &s->gpus[i]);
    for (size_t i = 0; i < v->finding_count; i++) {
        const struct health_finding *f = &v->findings[i];
        finding_code code;
        bool named = finding_code_from_name(health_check_name(f->check), &code);
        /* A driver that did not start is not a brief problem: don't wait. */
        bool lasts = !named || gone || s->taken_at.ms - f->since.ms >= finding_hold_ms(rules->settings, code);
        if (f->state >= rules->least && lasts)
            return f;
    }
    return NULL;
}

/* The worst GPU provides the reason. */
static void judge_gpus(const struct health *health, const struct snapshot *s, const struct node_rules *rules,
                       struct node_verdict *ret)
{
    const struct health_verdict *worst = NULL;
    const struct health_finding *worst_finding = NULL;
    const struct finding *forbids = NULL;
    size_t bad = 0;
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        const struct health_finding *h = bad_finding(v, s, rules);
        const struct finding *f = forbidding(s, v->gpu_index, rules->settings);
        bad += f || h;
        if (h && (!worst || h->state > worst_finding->state)) {
            worst = v;
            worst_finding = h;
        }
        if (f && (!forbids || finding_compare(f, forbids) < 0))
            forbids = f;
    }
    if (worst)
        say_unfit(ret, health_check_name(worst_finding->check), bad, health->count, "GPU %d is %s: %s", worst->gpu_index,
                  health_state_name(worst_finding->state), worst_finding->reason);
    else if (forbids)
        say_unfit(ret, finding_code_name(forbids->code), bad, health->count, "%s", forbids->headline);
}

static int64_t well_for(const struct health *health, struct wall now)
{
    int64_t least = -1;
    for (size_t i = 0; i < health->count; i++) {
        int64_t since = health->verdicts[i].since.ms;
        if (!since)
            return -1;
        int64_t span = MAX_OF(now.ms - since, (int64_t)0);
        least = least < 0 ? span : MIN_OF(least, span);
    }
    return least;
}

void node_judge(const struct health *health, const struct snapshot *s, const struct node_rules *rules, struct node_verdict *ret)
{
    size_t judged = 0;
    *ret = (struct node_verdict){.well_for_ms = -1};
    for (size_t i = 0; i < health->count; i++)
        judged += health->verdicts[i].state != HEALTH_UNKNOWN;
    judge_gpus(health, s, rules, ret);
    if (ret->fitness != NODE_UNFIT && rules->gpus > (int64_t)s->gpu_count)
        say_unfit(ret, "gpus_missing", 0, 0, "%zu of %lld GPUs are present", s->gpu_count, (long long)rules->gpus);
    if (ret->fitness == NODE_UNFIT)
        return;
    if (!judged) {
        snprintf(ret->message, sizeof ret->message, health->count ? "the health of no GPU could be judged" : "no GPU was found");
        return;
    }
    ret->fitness = NODE_FIT;
    ret->well_for_ms = well_for(health, s->taken_at);
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        for (size_t k = 0; k < v->finding_count; k++)
            if (v->findings[k].state >= rules->least) {
                snprintf(ret->message, sizeof ret->message, "GPU %d is %s, but not for long enough to keep work from it",
                         v->gpu_index, health_state_name(v->findings[k].state));
                return;
            }
    }
    snprintf(ret->message, sizeof ret->message, "%zu GPU%s, all fit for work", health->count, health->count == 1 ? "" : "s");
}

void node_step(struct node_steps *steps, const char *format, ...)
{
    if (steps->count == NODE_STEPS_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(steps->list[steps->count++], NODE_STEP_SIZE, format, args);
    va_end(args);
}

bool node_settled(const struct node_telling *t, struct node_steps *steps)
{
    char left[WORDS_SIZE];
    if (t->settling_ms <= 0)
        return true;
    snprintf(steps->held, sizeof steps->held, "this version is new here, and drains nothing for another %s",
             words_duration(t->settling_ms, left));
    return false;
}

bool node_may_drain(const struct node_telling *t, const struct node_count *count, struct node_steps *steps)
{
    size_t most = MAX_OF(count->nodes * (size_t)t->max_percent / 100, (size_t)1);
    if (t->max_percent >= 100 || count->drained < most)
        return true;
    snprintf(steps->held, sizeof steps->held, "whirr has drained %zu of %zu nodes already, and --max-drained %d%% allows %zu",
             count->drained, count->nodes, t->max_percent, most);
    return false;
}
