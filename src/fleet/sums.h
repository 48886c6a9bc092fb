/* SPDX-License-Identifier: Apache-2.0
 * Hosts by the sums that they export of themselves: enough for a table of hosts, with the GPUs that are in trouble alone.
 */
#pragma once

#include "fleet/fleet.h"
#include "fleet/silence.h"
#include "fleet/vector.h"

int sums_take(struct fleet *f, const struct vector_row *row); /* 0 or -ENOMEM */
/* After the last row. -EAGAIN: a host has none, or two hosts share a name; all GPUs have to be asked for. */
int sums_settle(struct fleet *f, const struct fleet_silence *s);
