/* SPDX-License-Identifier: Apache-2.0
 * Where inside a text of a configuration file a mistake stands: the value's place is known, escapes and quotes move the rest.
 */
#pragma once

#include "base/env.h"
#include "config/config.h"

/* Moves the origin of a text to its character `column` (from 1). What is not in a file, or cannot be read again, stays. */
void place_inside_text(const struct env *env, struct config_origin *origin, int column);
