/* SPDX-License-Identifier: Apache-2.0
 * What a forecast can know without a daemon: the stored history, and the disk under it.
 */
#pragma once

#include "ask/cli.h"
#include "base/clock.h"
#include "config/config.h"
#include "insight/forecast/forecast.h"

/* Shows the last hours of the stored history to the memory, as they would have been seen; `now` ties the wall clock of the rows to
 * the monotonic one. Returns how many seconds back it reached without a gap up to now; 0: no history, or none that is fresh. One
 * that was named by --store and cannot be read is a problem. */
double forecast_see_past(const struct cli *cli, const struct snapshot *now, struct forecast_memory *memory, struct error *problem);
