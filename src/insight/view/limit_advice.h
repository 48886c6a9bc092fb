/* SPDX-License-Identifier: Apache-2.0
 * What to do about a limit.
 */
#pragma once

#include "insight/area/limit_words.h"

enum { LIMIT_ADVICE_MAX = 3 };

/* How many lines; each only where its evidence is. */
size_t limit_advice(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE]);
