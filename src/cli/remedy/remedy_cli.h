/* SPDX-License-Identifier: Apache-2.0
 * The newest answer that this user was shown: `whirr do 1` means its first remedy.
 */
#pragma once

#include "cli/cli_show.h"
#include "insight/view/why.h"
#include "remedy/effect.h"

enum { ANSWER_REMEDIES_MAX = WHY_SUGGESTIONS_MAX };

struct shown_answer {
    char source[256]; /* --source of it; "": none */
    int gpu_index;
    size_t count;
    enum remedy_code codes[ANSWER_REMEDIES_MAX];
};
/* Remembers it, as far as that is possible. `only`: the position of its GPU, or ALL_GPUS. */
void shown_answer_keep(const struct cli *cli, const struct why *why, int only);
bool shown_answer_find(struct shown_answer *ret);
/* What earlier steps let expect, as this user measured them. */
void expect_remedies(const struct snapshot *now, struct why *why);

/* whirr why --idle --try: what settings bring on idle GPUs, for 20 s each. */
int remedy_try_idle(struct cli *cli);

/* whirr report --remedies */
int report_remedies(struct cli *cli);
