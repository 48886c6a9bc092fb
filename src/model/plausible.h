/* SPDX-License-Identifier: Apache-2.0
 * Removes impossible readings, whatever a driver says: out of range, or more than the whole. They become absent before anything is
 * computed from them. Pure functions.
 */
#pragma once

#include "model/gpu.h"
#include "model/host.h"

/* Returns the number removed, including processes and instances. */
unsigned gpu_drop_implausible(struct gpu *gpu);
unsigned process_drop_implausible(struct process *process);
unsigned host_drop_implausible(struct host *host);
