/* SPDX-License-Identifier: Apache-2.0
 * What the last `whirr check` of a GPU found: it holds until a clean check ends it. And that one is running, which explains the
 * load.
 */
#include "insight/area/area.h"
#include "insight/check/judge.h"
#include "model/finding_code.h"

static void rule_running(const struct facts *f, struct why_part *part)
{
    struct cause_draft d;
    if (!f->gpu->check.running)
        return;
    cause_begin(&d, part, FINDING_CHECK_RUNNING);
    support(&d, 0.98, "whirr check (pid %d)", f->gpu->check.running);
    cause_end(&d, ": a check (whirr check) %s running", is(f));
}

static void detect_check(const struct facts *f, struct collection *c)
{
    const struct gpu_check *check = &f->gpu->check;
    char ago[SHORT_WORDS];
    if (!check->at.ms || check->at.ms > f->now->taken_at.ms)
        return;
    words_duration(f->now->taken_at.ms - check->at.ms, ago);
    if (check->verdict == CHECK_IS_FAILING)
        collect(c, f->gpu, FINDING_CHECK_FAILED, SEVERITY_CRITICAL, 0.97, 0, " failed a check %s ago: %s", ago, check->words);
    else if (check->verdict == CHECK_IS_DEGRADED)
        collect(c, f->gpu, FINDING_CHECK_SLOW, SEVERITY_WARNING, 0.95, 0, ": a check %s ago found that %s", ago, check->words);
}

const struct area area_check = {.weigh = rule_running, .find = detect_check};
