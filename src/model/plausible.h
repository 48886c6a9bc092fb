/* SPDX-License-Identifier: Apache-2.0
 * Readings that cannot be true, whatever a driver says: outside of their range, or more than there is of it. They become absent
 * before anything is computed of them. Pure functions.
 */
#pragma once

#include "model/gpu.h"
#include "model/host.h"

/* Returns how many were taken out, of the GPU, its processes and its instances. */
unsigned gpu_drop_implausible(struct gpu *gpu);
unsigned process_drop_implausible(struct process *process);
unsigned host_drop_implausible(struct host *host);
