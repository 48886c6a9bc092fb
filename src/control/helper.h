/* SPDX-License-Identifier: Apache-2.0
 * The helper that changes settings for others: its loop, confinement, and quiet hours.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"

/* Serves until stopped or, unless it `stays`, until idle for half a minute. Restores everything before returning. */
int helper_run(const struct env *env, const struct config *config, int listener, bool stays, struct error *err);

/* Its watchdog, in a separate process (control/watchdog.c) with the same confinement. */
int helper_watch(const struct env *env, const struct config *config, struct error *err);

/* From now on: no network, no other programs, and writes only to the kernel's device files, the journals (NULL: not this one) and
 * their public copies. Skips what the kernel doesn't support. */
struct lease_dir;
int helper_confine(const struct lease_dir *settings, const struct lease_dir *gpus, struct error *err);

/* "22:00" to "08:00" by the host's clock: whether it is that time now, and until when. */
bool quiet_hours_until(const char *from, const char *until, struct wall now, struct wall *ret);
