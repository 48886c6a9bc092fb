/* SPDX-License-Identifier: Apache-2.0
 * The helper that changes settings for others.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"

/* Serves until stopped or, unless it `stays`, until idle for half a minute. Restores everything before returning. */
int helper_run(const struct env *env, const struct config *config, int listener, bool stays, struct error *err);

/* Its watchdog, in a separate process (control/watchdog.c) with the same confinement. */
int helper_watch(const struct env *env, const struct config *config, struct error *err);
