/* SPDX-License-Identifier: Apache-2.0
 * What rules say about the machine as it is.
 */
#pragma once

#include "alert/rule.h"
#include "cli/command.h"

int alert_now(struct cli *cli, const struct alert_rules *rules);
