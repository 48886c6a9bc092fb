/* SPDX-License-Identifier: Apache-2.0
 * Where a system keeps things, and whom its environment can be believed of.
 */
#pragma once

#include <stdbool.h>

#include "base/env.h"

/* false: this program may have rights that its caller lacks, so that paths from the environment are not to be believed. */
bool place_is_trusted(void);
/* Names of libraries, this program, and how devices are asked, as far as the system has them. */
void place_fill(struct env *env);
