/* SPDX-License-Identifier: Apache-2.0
 * A line of expectation (tests/golden/why/README.md) held against an explanation.
 */
#pragma once

#include "insight/view/why.h"
#include "why_scenario.h"

/* `key value`; part NULL: there is no such GPU. */
bool expectation_holds(const struct scenario_machine *m, const struct why *why, const struct why_part *part, struct str key,
                       struct str value);
/* Goes through the expectations of a block: `key value` about that part. */
struct expectation {
    const struct scenario_block *block;
    const struct why *why;
    size_t next;
    const struct why_part *part; /* that `gpu N` or `machine` named last; NULL: there is no such GPU */
    struct str line, key, value;
};
struct expectation expectation_first(const struct scenario_block *block, const struct why *why);
bool expectation_next(struct expectation *e);
void expectation_print(const struct why *why);
