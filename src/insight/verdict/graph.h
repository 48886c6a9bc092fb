/* SPDX-License-Identifier: Apache-2.0
 * Roots and effects: what was found on a GPU, linked by causes.def.
 *
 *   found      fan_failing  heat_limit  clocks_low  pcie_link
 *   linked     fan_failing ◀─ heat_limit ◀─ clocks_low      pcie_link      two roots
 */
#pragma once

#include "model/finding.h"
#include "model/snapshot.h"

/* Marks effects with their root, leaves out those that their root says already, and lends a root the severity of the worst that it
 * explains. */
void graph_link(struct verdict *v, const struct snapshot *now);

/* How well the one can explain the other on this GPU, 0 to 1; 0: not at all. `gpu` may be NULL: any. */
double graph_weight(const struct gpu *gpu, finding_code cause, finding_code effect);
