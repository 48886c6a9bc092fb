/* SPDX-License-Identifier: Apache-2.0
 * Stories of tests/golden/verdict: several a file, told with the lines of why_scenario.h, and played sample by sample into a judge.
 */
#pragma once

#include "../view/why_scenario.h"
#include "insight/view/why.h"

struct story {
    char name[64];
    struct scenario scenario;
};

struct stories {
    size_t count, capacity;
    struct story *list;
};

struct told {
    struct scenario_machine machine;
    const struct snapshot *last; /* with its verdict */
    struct recent recent;
    struct why *why; /* as a command or the API explains it */
};

/* Both print what is wrong to stderr and return false. */
bool stories_read(struct stories *s, const char *folder, const char *file);
bool story_play(const struct story *s, struct told *ret);
void told_done(struct told *t);
void stories_done(struct stories *s);
