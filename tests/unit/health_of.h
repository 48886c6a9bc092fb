/* SPDX-License-Identifier: Apache-2.0
 * The health of a machine at one moment, as the judge sees it.
 */
#pragma once

#include "insight/verdict/health.h"
#include "insight/verdict/judge.h"

/* The caller's. `s` stays as it is: it can be changed and judged again. */
static inline struct health *health_of(struct judge *j, const struct snapshot *s)
{
    struct snapshot *own = snapshot_copy(s);
    judge_take(j, own);
    snapshot_unref(own);
    return judge_copy_health(j);
}
