/* SPDX-License-Identifier: Apache-2.0
 * `whirr guard probe`.
 */
#pragma once

#include "cli/command.h"

int guard_probe_command(struct cli *cli, const char *what);
