/* SPDX-License-Identifier: Apache-2.0
 * What the accel source parses of NPUs and accelerators.
 */
#pragma once

#include "source/sysfs/sysfs_card.h"

/* Adds processes from a driver's list of PIDs, one per line. */
void accel_take_pids(struct str text, struct gpu *out);
