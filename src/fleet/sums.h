/* SPDX-License-Identifier: Apache-2.0
 * Hosts by the sums they export: enough for a table of hosts, plus the GPUs in trouble.
 */
#pragma once

#include "fleet/fleet.h"
#include "fleet/fleet_silence.h"
#include "fleet/vector.h"

int sums_take(struct fleet *f, const struct vector_row *row);        /* 0 or -ENOMEM */
void sums_read(struct fleet_sum *sum, const struct vector_row *row); /* one figure */
/* After the last row. -EAGAIN: a host exports none, or two hosts share a name; query all GPUs. */
int sums_settle(struct fleet *f, const struct fleet_silence *s);
