/* SPDX-License-Identifier: Apache-2.0
 * GameMode's client count, over the session bus; no signal without libsystemd or a bus.
 */
#pragma once

#include <stdbool.h>

#include "base/env.h"

struct gamemode;

struct gamemode *gamemode_open(const struct env *env); /* NULL without a session bus */
void gamemode_close(struct gamemode *g);
/* Whether GameMode has clients. */
bool gamemode_active(struct gamemode *g);
