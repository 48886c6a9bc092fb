/* SPDX-License-Identifier: Apache-2.0
 * whirr why --prove CODE
 */
#pragma once

#include "cli/command.h"

/* Exit status: 0 it is said, 1 it is not, or it failed; 2 there is no such code. */
int why_prove(struct cli *cli, const char *code);
