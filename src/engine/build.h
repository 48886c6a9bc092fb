/* SPDX-License-Identifier: Apache-2.0
 * From the results of the sources to one snapshot.
 */
#pragma once

#include "engine/roster.h"
#include "engine/slot.h"

/* Takes the GPUs out of the slots' results. NULL when memory is out. `first`: the indices are given now. */
struct snapshot *build_snapshot(struct slot *slots, size_t slot_count, struct roster *roster, bool first, struct wall at);
