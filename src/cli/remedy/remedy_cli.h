/* SPDX-License-Identifier: Apache-2.0
 * The newest answer that this user was shown: `whirr do 1` means its first remedy.
 */
#pragma once

#include "cli/cli_show.h"
#include "insight/view/why.h"
#include "remedy/effect.h"

/* Remembers it, as far as that is possible. `only`: the position of its GPU, or ALL_GPUS. */
void shown_answer_keep(const struct cli *cli, const struct why *why, int only);
/* What earlier steps let expect, as this user measured them. */
void expect_remedies(const struct snapshot *now, struct why *why);

/* whirr why --idle --try: what settings bring on idle GPUs, for 20 s each. */
int remedy_try_idle(struct cli *cli);
