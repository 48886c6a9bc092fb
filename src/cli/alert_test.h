/* SPDX-License-Identifier: Apache-2.0
 * whirr alert test: what rules say now, or would have said.
 */
#pragma once

#include "cli/command.h"

/* `what`: a rule, a condition, or NULL for all rules. Returns the exit status. */
int alert_test(struct cli *cli, const char *what);
