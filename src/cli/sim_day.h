/* SPDX-License-Identifier: Apache-2.0
 * A day of a simulated host as a history in a file.
 */
#pragma once

#include "ask/cli.h"

/* Returns the exit status. */
int sim_day(struct cli *cli, const char *path);
