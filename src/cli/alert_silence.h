/* SPDX-License-Identifier: Apache-2.0
 * whirr alert silence.
 */
#pragma once

#include "cli/command.h"

/* The words behind `silence`. Returns the exit status. */
int alert_silence(struct cli *cli, const char *const *words, size_t count);
