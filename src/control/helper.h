/* SPDX-License-Identifier: Apache-2.0
 * The helper that changes settings for others: its loop, its confinement, its quiet hours.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"

/* Serves until it is stopped or, unless it `stays`, had nothing to do for half a minute. Puts everything back before it returns. */
int helper_run(const struct env *env, const struct config *config, int listener, bool stays, struct error *err);

/* Its watchdog, in a process of its own (control/watchdog.h), confined like it. */
int helper_watch(const struct env *env, const struct config *config, struct error *err);

/* From now on: no network, no other program, and writes only to device files of the kernel, to the journal and to what it shows.
 * What the kernel does not have is left out. */
struct lease_dir;
int helper_confine(const struct lease_dir *journal, struct error *err);

/* "22:00" to "08:00" of the host's clock: whether they are on now, and until when. */
bool quiet_hours_until(const char *from, const char *until, struct wall now, struct wall *ret);
