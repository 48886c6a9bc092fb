/* SPDX-License-Identifier: Apache-2.0
 * What happens to sources and GPUs, told in the log: each change once, whatever the number of samples (contract, section F).
 */
#pragma once

#include "model/snapshot.h"

struct story {
    const struct snapshot *last; /* NULL before the first sample */
    bool told_nothing;           /* that there is no source */
};

void story_follow(struct story *story, const struct snapshot *s);
void story_done(struct story *story);
