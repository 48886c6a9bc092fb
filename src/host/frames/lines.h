/* SPDX-License-Identifier: Apache-2.0
 * Looks at a program and its children for some seconds, because a person asks: which line of which function it spends its time in.
 * Nothing is stopped, traced or written; only its owner and root may look.
 */
#pragma once

#include "base/env.h"
#include "host/frames/looks.h"

enum { LINES_MS = 2000, LINES_LOOKS_PER_S = 100 };

struct lines_request {
    int32_t pid;
    int64_t ms;                 /* how long; 0: until it ends, or `cancel` is set */
    int looks_per_s;            /* at most LINES_LOOKS_PER_S */
    const _Atomic bool *cancel; /* may be NULL */
    bool for_others;            /* the caller has made sure that a person may look at programs of other users */
};

/* 0 and what was seen, which the caller ends with looks_done(); or -errno and why not: another user's program, not Python, ... */
int lines_take(const struct env *env, const struct lines_request *request, struct looks *ret, struct error *err);
