/* SPDX-License-Identifier: Apache-2.0
 * A line of expectation (tests/golden/why/README.md) held against an explanation.
 */
#pragma once

#include "insight/why/why.h"
#include "why_scenario.h"

/* `key value`; part NULL: there is no such GPU. */
bool expectation_holds(const struct scenario_machine *m, const struct why *why, const struct why_part *part, struct str key,
                       struct str value);
/* The part that `gpu N` or `machine` names; NULL none. */
const struct why_part *expectation_part(const struct why *why, struct str key, struct str value);
void expectation_print(const struct why *why);
